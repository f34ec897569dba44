"""Training memory of a source: by the rule that its front end can follow, at one batch size or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.graph import Graph
from weighbridge.sources import Loaded

if TYPE_CHECKING:
    from weighbridge.devices.device import Device
    from weighbridge.estimates import TrainingFit
    from weighbridge.memory.training.records import TrainingPlan
    from weighbridge.memory.training.request import Training
    from weighbridge.memory.training.trained import Wanted

__all__ = ["fits", "planned", "with_batches"]

PlanAt = Callable[[int], "TrainingPlan"]
"""The plan at another batch size: the source is read anew."""


def planned(loaded: Loaded, held: Graph, request: Training, *, has_widths: bool) -> TrainingPlan:
    """The plan by ``request``'s rule: by default ``autograd`` where there is a module to run as it is, else ``paper``.

    ``held`` is the graph at the widths asked for, as it is written.  Raises ``BadSpec`` where ``autograd`` is asked for and cannot
    say: without a module, at other widths than its own, for a share of channels.
    """
    from weighbridge.memory.training.plan import plan_of_run, plan_training
    from weighbridge.memory.training.request import AUTOGRAD, PAPER
    from weighbridge.memory.training.trained import wanted

    cannot = _cannot_run(loaded, request, has_widths)
    if request.rule == PAPER or (cannot and request.rule != AUTOGRAD and not request.attention):
        return plan_training(held, request)
    if cannot:
        hint = "leave the rule out, or take paper" if request.rule else "leave the kernel of attention out"
        raise BadSpec(f"the rule autograd cannot say: {cannot}", where="the rule of training memory", hint=hint)
    assert loaded.run is not None
    asked = wanted(loaded.graph, request)
    return plan_of_run(asked, loaded.run(_how(asked, request)), request)


def _cannot_run(loaded: Loaded, request: Training, has_widths: bool) -> str:
    if loaded.run is None:
        return "there is no PyTorch module whose operations it could follow"
    if has_widths:
        return "it follows the module at its own widths"
    if any(share != 1 for _, share in request.updates):
        return "PyTorch has no gradient of a share of the channels"
    return ""


def _how(asked: Wanted, request: Training) -> Mapping[str, Any]:
    """What the front end runs the module with."""
    is_plain = not (request.updates or request.frozen or request.adapters)
    return {
        "trained": None if is_plain else frozenset(asked.parts) - asked.adapters,
        "lora": dict(request.adapters),
        "checkpoint": request.checkpoints,
        "attention": request.attention,
        "mixed": request.mixed_precision,
    }


def with_batches(plan: TrainingPlan, batches: Sequence[int], plan_at: PlanAt) -> TrainingPlan:
    """``plan`` with what training needs at these batch sizes."""
    from weighbridge.memory.training.records import TrainingPoint

    def points() -> Iterator[TrainingPoint]:
        for batch in batches:
            at = plan_at(batch)
            yield TrainingPoint(batch, at.saved_bytes, at.peak_activation_bytes, at.total_bytes, at.exact)

    return plan._replace(by_batch=tuple(points()))


def fits(plan: TrainingPlan, devices: Sequence[Device], plan_at: PlanAt) -> Iterator[TrainingFit]:
    """For each device whether training fits, and the largest batch that does, where other batch sizes can be had."""
    from weighbridge.estimates import training_fit

    for device in devices:
        yield _with_largest(training_fit(plan, device), device, plan_at)


def _with_largest(found: TrainingFit, device: Device, plan_at: PlanAt) -> TrainingFit:
    from weighbridge.estimates import largest_batch, written_bytes

    if found.available_bytes is None or found.needed_bytes is None:
        return found

    available, refused = found.available_bytes, dict[int, str]()

    def needed(batch: int) -> int:
        """Of a batch that the source cannot have, more than there is: what it can have may end below what has room."""
        try:
            size = written_bytes(plan_at(batch), device)
        except WeighbridgeError as error:
            if batch == 1:
                raise
            refused[batch] = error.details[0] if error.details else error.what
            return available + 1
        assert size is not None, "what is known at one batch size is known at all"
        return size

    try:
        largest = largest_batch(needed, available)
    except WeighbridgeError as error:
        reason = error.details[0] if error.details else error.what
        note = f"the largest batch is not known, as other batch sizes cannot be had: {reason}"
        return found._replace(notes=(*found.notes, note))
    if largest is None:
        return found._replace(notes=(*found.notes, "no batch is too large: nothing that training holds grows with it"))
    if largest and not found.exact:
        note = f"the largest batch is not known, as what training needs is a lower bound: it is {largest:,} at most"
        return found._replace(notes=(*found.notes, note))
    if largest and largest + 1 in refused:
        note = f"there is room for more than the largest batch, which is the source's: {refused[largest + 1]}"
        return found._replace(largest_batch=largest, notes=(*found.notes, note))
    return found._replace(largest_batch=largest)

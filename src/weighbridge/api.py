"""The Python interface: a source becomes a graph, a graph becomes a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from weighbridge.choices import (
    Choices,
    Reserve,
    WeightBits,
    conventions_of,
    costs_of,
    devices_of,
    reserve_of,
    scratch_of,
    training_asked,
    unreserved,
    widths_of,
)
from weighbridge.counts.batch import batch_of
from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.graph import Graph
from weighbridge.sources import Given, Loaded, Source, check, quietly, read

if TYPE_CHECKING:
    from weighbridge.counts import ConventionFacts, NetworkFacts
    from weighbridge.devices.device import Device, EnergyTable
    from weighbridge.estimates import Bill, Demand
    from weighbridge.estimates.class_work import NodeWork
    from weighbridge.estimates.patched_fit import PatchSearch
    from weighbridge.memory import MemoryPlan
    from weighbridge.memory.training.records import TrainingPlan
    from weighbridge.memory.training.request import Training
    from weighbridge.passes import BitRules
    from weighbridge.report import OnDevice, Report

__all__ = ["demand_of", "deployed_of", "load", "node_works_of", "report_of", "weigh"]

Module = Any
"""A ``torch.nn.Module``, whose type is not known here."""
Inputs = Any
"""Shapes by the names of a file's inputs, or what a module's ``forward`` gets."""


def load(
    source: Source | Module,
    *,
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
) -> Graph:
    """The graph of a PyTorch module, an ONNX or TensorFlow Lite file, an exported PyTorch program, a network file (TOML), a
    textbook network such as ``"alexnet:resolution=256"``, or a model by name: ``"torchvision:resnet50"``, ``"timm:vit_base_patch16_224"``,
    ``"transformers:path/to/config.json"``.  Behind the path of a TensorFlow Lite file a signature may stand: ``"model.tflite:decode"``.

    What a file leaves open is given here: ``batch``, ``sequence`` (dimensions named like a sequence: seq, sequence_length), ``dims`` by
    name, whole shapes by input in ``inputs``.  In a network of TOML they are its parameters of these names.  For a module
    ``inputs`` are what its ``forward`` gets: a tensor, a ``TensorSpec`` or a shape (whole numbers, float32), several of these
    by position, or a mapping of these by name; ``kwargs`` are more by name.  A model by name has inputs of its own, of
    ``batch`` and ``sequence``, unless they are given.  A module and the tensors are left as they are.

    Raises ``BadSpec`` for a source that does not exist and for sizes that do not fit it, ``UnsupportedFormat`` for a file
    that no front end reads, ``NeedsShape`` for a dimension or an input that nobody gave, ``BadModel`` for a damaged file and
    a module that fails, and ``MissingExtra`` where the library that reads a format is not installed.
    """
    return read(source, Given(batch, sequence, dims, inputs, kwargs), quietly).graph


def weigh(  # noqa: PLR0913 - the options are those of the command
    source: Source | Graph | Module,
    *,
    on: Source | Device | Iterable[Source | Device] = (),
    reserve: Reserve = (),
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
    weight_bits: WeightBits | None = None,
    activation_bits: int | None = None,
    precision: str | None = None,
    as_written: bool = False,
    scratch: str | None = None,
    convention: str | Iterable[str] = (),
    batches: Iterable[int] = (),
    fps: float | str | None = None,
    energy: Source | EnergyTable | None = None,
    battery: str | None = None,
    train: str | Mapping[str, Any] | Training | None = None,
    patches: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Everything that is known about a network, and a verdict for each device in ``on``: names, groups (``"mcu"``), device
    files, ``Device``.  ``reserve`` sets bytes of their memories aside, by region: ``{"sram": "64KiB"}`` or a list such as
    ``["sram=64KiB"]``, on every device that has such a region, beside what its file reserves.

    ``source``, the sizes and the inputs are as in ``load``; a ``Graph`` has its sizes already.  ``weight_bits`` is one width
    for all weights, a mapping from targets (``first``, ``last``, ``rest``, a name, a pattern) to widths, or a list such as
    ``["first=8", "rest=4"]``; ``activation_bits`` that of activations.  ``precision`` ("int8", "fp16") is both, and the
    precision of the devices' peak rates; the bit options override it.  ``as_written`` keeps every node instead of folding
    and fusing what a runtime does.  ``scratch`` ("im2col") adds the working memory of kernels to the memory policy
    ``arena_tflm``: the unrolled input of each convolution.  ``convention`` names other counters' conventions
    (``"fvcore"``, ``"st"``, ``"vela"``), whose figures then stand beside ours in ``facts.conventions``.

    ``train`` is an optimiser ("sgd", "momentum", "adam", "adamw", "adam8bit", "adafactor"): what a step of training takes is then
    in ``memory.training``, and whether devices have room for it, and for how large a batch, in ``on[].training``.  A mapping says
    more: ``{"optimiser": "adam", "update": ["biases"], "mixed_precision": True}``, with ``rule`` ("paper", "autograd"), ``freeze``,
    ``lora``, ``checkpoint`` and ``attention``.

    ``patches`` looks, for every microcontroller that has no room for the activations, for the patches that would make them fit with the
    least work: ``on[].patches``.

    ``batches`` are batch sizes to weigh the source at for ``on[].throughput`` and ``memory.training.by_batch``, beside its own;
    ``fps`` a frame rate, whose missed frames are then in ``on[].deadline``; ``energy`` a table of energies, by name (``"45nm"``), file or
    ``EnergyTable``, whose bill then is ``report.energy``; ``battery`` ("2000mAh@3.7V") adds the charge of an inference wherever there is
    an energy.  ``progress`` is called with the name of each stage as it begins.

    Raises what ``load`` does, and ``BadSpec`` for a device, region, precision, width, target, scratch, convention, table of
    energies or battery that does not exist, for more reserved than a region has, and for a batch that the source cannot have.
    """
    given = Given(batch, sequence, dims, inputs, kwargs)
    check(source, given)
    # whatever the user may have misspelt is looked at before the work begins
    devices, reserved = reserve_of(reserve, devices_of(on))
    rules, precision = widths_of(weight_bits, activation_bits, precision)
    training = training_asked(train)
    costs = costs_of(devices, batches, fps, energy, battery, trains=training is not None)
    conventions, kernels = conventions_of(convention), scratch_of(scratch)
    tell = progress or quietly
    loaded = read(source, given, tell)
    if costs.batches and isinstance(source, Graph):
        raise _has_one_batch()
    size = None if batch is None else int(batch)
    tell("counting and planning the memory")
    choices = Choices(
        devices, rules, precision, size, as_written, conventions, costs, reserved, kernels, training, patches
    )
    report = report_of(loaded, choices, partial(_demand_at, source, given, choices, tell))
    plan = report.memory.training
    if plan is None or training is None:
        return report
    return _with_training(report, plan, choices, partial(_plan_at, source, given, choices, training))


def _with_training(
    report: Report, plan: TrainingPlan, choices: Choices, plan_at: Callable[[int], TrainingPlan]
) -> Report:
    """The report with the plan at other batch sizes, and for each device whether it has room for that."""
    from weighbridge.training import fits, with_batches

    once = cache(lambda size: plan if size == choices.batch else plan_at(size))
    if choices.costs.batches:
        plan = with_batches(plan, choices.costs.batches, once)
    found = fits(plan, choices.devices, once)
    return replace(
        report,
        memory=report.memory._replace(training=plan),
        on=tuple(on._replace(training=fit) for on, fit in zip(report.on, found, strict=True)),
    )


def _plan_at(source: Source | Module, given: Given, choices: Choices, training: Training, batch: int) -> TrainingPlan:
    """The plan of the source at another batch size, read anew.  Raises ``BadSpec`` where it cannot have that."""
    from weighbridge.training import planned

    if isinstance(source, Graph):
        raise _has_one_batch()
    other = given._replace(batch=batch)
    check(source, other)
    loaded = read(source, other, quietly)
    return planned(loaded, _held(loaded.graph, choices), training, has_widths=choices.rules is not None)


def _held(graph: Graph, choices: Choices) -> Graph:
    """The graph at the widths that were asked for."""
    if choices.rules is None:
        return graph
    from weighbridge.passes import set_bits

    return set_bits(graph, choices.rules)


def _has_one_batch() -> BadSpec:
    return BadSpec("a graph has one batch size", where="batches", hint="load the source at each of them")


def _one_batch(batch: int) -> Demand:
    raise _has_one_batch()


def report_of(loaded: Loaded, choices: Choices, demand_at: Callable[[int], Demand] = _one_batch) -> Report:
    """The report of a graph that is there; ``demand_at`` gives what its source needs at another batch size.

    Raises ``BadSpec`` for a target of the widths or of training that is not in the graph, and what ``demand_at`` raises.
    """
    from weighbridge import __version__
    from weighbridge.report import Network, NetworkInput, Report

    graph = loaded.graph
    held, deployed, facts, memory = _weighed(graph, choices)
    facts = facts._replace(conventions=_by_conventions(held, choices.conventions))
    if choices.training is not None:
        from weighbridge.training import planned

        training = planned(loaded, held, choices.training, has_widths=choices.rules is not None)
        memory = memory._replace(training=training)
    on, bill = _estimates(held, deployed, facts, memory, choices, demand_at)
    inputs = [held.tensors[tensor] for tensor in held.inputs]
    notes = [*held.notes, *facts.notes, *memory.notes, *_width_notes(choices.rules), *unreserved(choices)]
    return Report(
        tool=f"weighbridge {__version__}",
        network=Network(
            name=graph.name,
            source=loaded.origin,
            format=loaded.format,
            inputs=tuple(NetworkInput(tensor.id, tensor.shape, tensor.dtype.name) for tensor in inputs),
            graph="as written" if choices.as_written else "deployed",
            capture=graph.capture or None,
        ),
        facts=facts._replace(notes=()),
        memory=memory._replace(notes=()),
        on=on,
        energy=bill,
        notes=tuple(dict.fromkeys(notes)),
    )


def demand_of(graph: Graph, precision: str | None = None) -> Demand:
    """What ``graph`` asks of any device at ``precision``, by default its own: what every estimate is made from.

    Raises ``BadSpec`` for a precision that does not exist.
    """
    from weighbridge.estimates import demand

    rules, precision = widths_of(None, None, precision)
    held, deployed, facts, memory = _weighed(graph, Choices((), rules, precision, None, False))
    return demand(deployed, facts, memory, written=held)


def deployed_of(
    graph: Graph,
    weight_bits: WeightBits | None = None,
    activation_bits: int | None = None,
    precision: str | None = None,
) -> Graph:
    """The graph that runs, at the widths that are asked for: what ``weigh`` plans the memory of and counts.

    Raises ``BadSpec`` for a width, a precision or a target that does not exist.
    """
    from weighbridge.passes import deploy

    rules, _ = widths_of(weight_bits, activation_bits, precision)
    return deploy(_held(graph, Choices((), rules, None, None, False)))


def node_works_of(graph: Graph, fuses: bool) -> tuple[NodeWork, ...]:
    """What a run of ``graph`` asks of kernels, by node: of the graph that runs, or where nothing ``fuses`` as it is written."""
    from weighbridge.counts import count
    from weighbridge.estimates.class_work import node_works
    from weighbridge.passes import deploy

    runs = deploy(graph) if fuses else graph
    return node_works(runs, count(graph, runs))


def _weighed(graph: Graph, choices: Choices) -> tuple[Graph, Graph, NetworkFacts, MemoryPlan]:
    """The graph at the widths asked for, the graph that runs, and what both are found to need."""
    from weighbridge.counts import count
    from weighbridge.memory import plan
    from weighbridge.passes import deploy

    held = _held(graph, choices)
    deployed = held if choices.as_written else deploy(held)
    memory = plan(deployed, scratch=choices.scratch)
    return held, deployed, count(held, deployed, peak_elements=memory.peak_elements), memory


def _demand_at(
    source: Source | Module, given: Given, choices: Choices, tell: Callable[[str], None], batch: int
) -> Demand:
    """What the source needs at another batch size, read anew: nothing is scaled."""
    from weighbridge.estimates import demand

    other = given._replace(batch=batch)
    tell(f"weighing batch {batch:,}")
    try:
        check(source, other)
        held, deployed, facts, memory = _weighed(read(source, other, quietly).graph, choices)
    except WeighbridgeError as error:
        raise error.at(f"batch {batch:,}") from None
    return demand(deployed, facts, memory, written=_written(held, choices), is_timed=_is_timed(choices))


def _is_timed(choices: Choices) -> bool:
    """Whether some device has a runtime whose times are expected by classes of operators."""
    return any(device.timed for device in choices.devices)


def _by_conventions(held: Graph, names: Sequence[str]) -> Mapping[str, ConventionFacts]:
    if not names:
        return {}
    from weighbridge.counts.conventions import CONVENTIONS, by_convention

    return {name: by_convention(held, CONVENTIONS[name]) for name in names}


def _width_notes(rules: BitRules | None) -> tuple[str, ...]:
    """What the widths that were asked for leave alone."""
    if rules is None or not rules.weights:
        return ()
    from weighbridge.report.record import WIDTHS_ASKED_FOR

    names_more = any(target not in ("first", "last", "rest") for target, _ in rules.weights)
    unless = " unless a rule names them" if names_more else ""
    return (f"{WIDTHS_ASKED_FOR}; biases and normalisation stay at their width{unless}",)


def _written(held: Graph, choices: Choices) -> Graph | None:
    """The graph that nothing is merged in, where a device has the times of a runtime that merges nothing."""
    return held if any(not one.fuses for device in choices.devices for one in device.timed) else None


def _estimates(
    held: Graph,
    deployed: Graph,
    facts: NetworkFacts,
    memory: MemoryPlan,
    choices: Choices,
    demand_at: Callable[[int], Demand],
) -> tuple[tuple[OnDevice, ...], Bill | None]:
    """The devices' entries, and the bill by the table of energies that was asked for."""
    costs = choices.costs
    if not choices.devices and costs.energy is None:
        return (), None
    from weighbridge.estimates import bill, demand

    needs = demand(deployed, facts, memory, written=_written(held, choices), is_timed=_is_timed(choices))
    batch = batch_of(deployed) if choices.batch is None else choices.batch
    at = {size: needs if size == choices.batch else demand_at(size) for size in costs.batches}
    if batch is not None and (choices.batch is not None or not at):
        at.setdefault(batch, needs)
    on = tuple(_on_device(device, needs, batch, at, choices) for device in choices.devices)
    if choices.patches:
        from weighbridge.estimates.patched_fit import search_of

        on = _with_patches(search_of(deployed, facts, memory), on, choices.devices)
    energy = costs.energy
    return on, None if energy is None else bill(needs, energy, choices.precision, costs.battery, batch)


def _with_patches(search: PatchSearch, on: Sequence[OnDevice], devices: Sequence[Device]) -> tuple[OnDevice, ...]:
    """The entries, each with the patches that would make the network fit."""
    from weighbridge.estimates.patched_fit import patched_fit

    return tuple(
        entry._replace(patches=patched_fit(search, entry.fit, device))
        for entry, device in zip(on, devices, strict=True)
    )


def _on_device(
    device: Device, needs: Demand, batch: int | None, at: Mapping[int, Demand], choices: Choices
) -> OnDevice:
    """The entry of ``device``; ``at`` has the needs at every batch size for the throughput."""
    from weighbridge.estimates import batch_point, estimate, throughput
    from weighbridge.report import OnDevice

    precision, costs = choices.precision, choices.costs
    found = estimate(needs, device, precision, batch, fps=costs.fps, battery=costs.battery)
    points = []
    for size, demanded in at.items():
        one = found if demanded is needs else estimate(demanded, device, precision, size)
        points.append(batch_point(size, one.latency, one.fit))
    return OnDevice(
        found.device,
        found.conditions,
        found.fit,
        found.latency,
        nodes=found.nodes,
        throughput=throughput(points),
        energy=found.energy,
        deadline=found.deadline,
        notes=found.notes,
        roofline=found.roofline,
        expected=found.expected,
    )

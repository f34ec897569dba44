"""Whether a device has the memory to train a network, and for how large a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device, Memory
from weighbridge.estimates.needs import DOES_NOT_FIT, FITS, UNKNOWN
from weighbridge.memory.training.records import TrainingPlan
from weighbridge.named_tuple import NamedTuple

__all__ = ["TrainingFit", "largest_batch", "training_fit", "written_bytes"]

_TRIES: Final = 40
_LARGEST: Final = 2**31 - 1


class TrainingFit(NamedTuple):
    """Training on one device: what has to be written lies in the ``region``, the largest of those that can hold activations.

    ``needed_bytes`` are all of the plan's but what is frozen, which stays in the memory of weights where the device has another
    one for them; a lower bound unless ``exact``.  ``short_bytes`` is None where the verdict is ``unknown``.  ``largest_batch`` is the
    largest that fits, 0 if not even one sample does, None where it is not known; ``notes`` say why.
    """

    verdict: str
    region: str | None
    needed_bytes: int | None
    available_bytes: int | None
    short_bytes: int | None
    exact: bool
    largest_batch: int | None = None
    notes: tuple[str, ...] = ()


def training_fit(plan: TrainingPlan, device: Device) -> TrainingFit:
    """Compare what a plan needs with the memories of a device."""
    memory = _memory(device)
    if memory is None:
        return TrainingFit(
            UNKNOWN, None, None, None, None, exact=False, notes=("no memory is known to hold activations",)
        )
    needed, available = written_bytes(plan, device), memory.block_bytes
    if needed is None:
        return TrainingFit(UNKNOWN, memory.name, None, available, None, exact=False, notes=("a size is unknown",))
    short = max(0, needed - available)
    verdict = DOES_NOT_FIT if short else FITS if plan.exact else UNKNOWN
    return TrainingFit(verdict, memory.name, needed, available, None if verdict == UNKNOWN else short, plan.exact)


def written_bytes(plan: TrainingPlan, device: Device) -> int | None:
    """What of a plan lies in the memory that training writes to."""
    if plan.total_bytes is None:
        return None
    memory = _memory(device)
    elsewhere = any(one is not memory and ACTIVATIONS not in one.holds for one in device.memories_for(WEIGHTS))
    if not elsewhere or plan.frozen_bytes is None:
        return plan.total_bytes
    return max(0, plan.total_bytes - plan.frozen_bytes)


def _memory(device: Device) -> Memory | None:
    return max(device.memories_for(ACTIVATIONS), key=lambda memory: memory.block_bytes, default=None)


def largest_batch(needed: Callable[[int], int], available: int) -> int | None:
    """The largest batch of which ``needed`` is no more than ``available``, 0 if there is none; None beyond 2^31 - 1.

    ``needed`` grows with the batch, and nearly by the same for each sample, so that few batches have to be looked at.
    """
    if needed(1) > available:
        return 0
    low, high = 1, 2
    for _ in range(_TRIES):
        if needed(high) > available:
            break
        low = high
        if low >= _LARGEST:
            return None
        each = (needed(low) - needed(1)) // (low - 1)
        high = min(_LARGEST, low + (available - needed(low)) // each + 1) if each else _LARGEST
    is_guess = True
    while high - low > 1:
        each = max(1, (needed(high) - needed(low)) // (high - low))
        guess = low + (available - needed(low)) // each
        # Every other time the middle, so that a need that jumps is found in time that its logarithm bounds.
        middle = min(high - 1, max(low + 1, guess)) if is_guess else (low + high) // 2
        is_guess = not is_guess
        if needed(middle) > available:
            high = middle
        elif middle + 1 < high and needed(middle + 1) > available:
            return middle
        else:
            low = middle
    return low

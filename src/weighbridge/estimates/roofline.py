"""What times are made of: an amount over a rate, through the memories that a device has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device

__all__ = ["COMPUTE", "MEMORY", "bound_of", "memory_time", "moved_by_memory", "quotient", "ratio"]

COMPUTE: Final = "compute"
MEMORY: Final = "memory"


def quotient(amount: int, rate: float) -> float | None:
    """An amount over a rate; None for a network so absurd that no float holds it."""
    try:
        return amount / rate
    except OverflowError:
        return None


def ratio(ops: int, moved_bytes: int) -> float | None:
    """Operations per byte; None where nothing moves."""
    return quotient(ops, moved_bytes) if moved_bytes else None


def bound_of(compute_s: float | None, memory_s: float | None) -> str | None:
    """The larger of the two times, None where one is unknown."""
    if compute_s is None or memory_s is None:
        return None
    return COMPUTE if compute_s >= memory_s else MEMORY


def moved_by_memory(device: Device, stored_bytes: int, running_bytes: int) -> Mapping[str, int]:
    """The bytes that go through each memory: what is stored where weights lie, what runs where activations do."""
    moved: dict[str, int] = {}
    for what, size in ((WEIGHTS, stored_bytes), (ACTIVATIONS, running_bytes)):
        memory = device.memory_for(what)
        if memory is not None:
            moved[memory.name] = moved.get(memory.name, 0) + size
    return moved


def memory_time(device: Device, stored_bytes: int, running_bytes: int, exact: bool = True) -> float | None:
    """The time of the slowest memory whose bandwidth is known; None where none of the bytes has a time that is known.

    Bytes in one memory queue; memories beside each other work at the same time.  ``exact`` is False where the bytes are a
    lower bound: none of them then take a time that is not known.
    """
    moved = moved_by_memory(device, stored_bytes, running_bytes)
    times = [
        quotient(moved[memory.name], memory.bandwidth_bytes_per_s.value)
        for memory in device.memories
        if memory.name in moved and memory.bandwidth_bytes_per_s is not None
    ]
    if exact and not stored_bytes and not running_bytes:
        return 0.0
    return max((time for time in times if time), default=None)

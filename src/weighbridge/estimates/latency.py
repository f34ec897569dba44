"""The time that nothing can beat: all operations at the peak rate, or all compulsory bytes at the full bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device, Figure
from weighbridge.estimates.demand import Demand

__all__ = ["COMPUTE", "MEMORY", "NO_LATENCY", "Latency", "latency"]

COMPUTE: Final = "compute"
MEMORY: Final = "memory"
NO_LATENCY: Final = "no latency, as "
"""Begins the note that says why a floor is None."""


class Latency(NamedTuple):
    """Seconds of one inference.

    ``compute_s`` is operations / peak, ``memory_s`` compulsory bytes / bandwidth, ``floor_s`` the larger; each is None
    where the device states no figure for it.  ``bound`` names the larger one where both are known.  ``layerwise_s``, the
    sum over nodes, is not estimated: None.  ``exact`` is False where a count behind the floor is a lower bound (the floor
    still is a floor), ``verified`` where a figure of the device is not verified; ``notes`` say which.
    """

    floor_s: float | None
    layerwise_s: float | None
    compute_s: float | None
    memory_s: float | None
    bound: str | None
    peak_ops_per_s: int | None
    unit: str | None
    exact: bool
    verified: bool
    notes: tuple[str, ...] = ()


def latency(demand: Demand, device: Device, precision: str | None) -> Latency:
    """The roofline floor: T = max(2 x MACs / peak at ``precision``, compulsory bytes / bandwidth).

    Compulsory are the stored bytes that must be read (weights and constants) and the graph's inputs and outputs.  Bytes
    in one memory queue; memories beside each other work at the same time, so the slowest counts.  Only dense rates are
    used.  Without a peak at this precision there is no floor, and a note says so: a rate is never guessed.  Nor is there one
    where nothing counted takes time: no operation, and no byte at a bandwidth that is known.
    """
    peak = device.peak(precision) if precision else None
    notes = [] if peak or not demand.ops else [_no_peak(device, precision)]
    compute = _quotient(demand.ops, peak.ops_per_s.value) if peak else None
    if not demand.ops:
        compute = 0.0 if demand.ops_exact else None
    notes_on_memory: list[str] = []
    memory = _memory_s(demand, device, notes_on_memory)
    known = [time for time in (compute, memory) if time is not None]
    floor = max(known, default=0.0) if compute is not None or not demand.ops else None
    if floor:
        notes += notes_on_memory
    elif not notes:
        notes.append(_no_time(demand, memory))
    verified = True
    for what, figure in _figures(device, precision):
        if not figure.verified:
            verified = False
            notes.append(f"{what} is not verified ({figure.note or figure.source})")
    bound = None
    if compute is not None and memory is not None:
        bound = COMPUTE if compute >= memory else MEMORY
    return Latency(
        floor_s=floor or None,  # 0 s would say that something was counted
        layerwise_s=None,
        compute_s=compute,
        memory_s=memory,
        bound=bound,
        peak_ops_per_s=peak.ops_per_s.value if peak else None,
        unit=peak.unit if peak else None,
        exact=demand.ops_exact and demand.moved_exact,
        verified=verified,
        notes=tuple(notes),
    )


def _no_time(demand: Demand, memory: float | None) -> str:
    if demand.ops:
        return f"{NO_LATENCY}the time is beyond what a number can hold"
    return f"{NO_LATENCY}no MACs are counted and {'no bandwidth is known' if memory is None else 'no bytes are moved'}"


def _no_peak(device: Device, precision: str | None) -> str:
    if precision is None:
        return f"{NO_LATENCY}the network's number format has no name that a peak rate is stated for"
    others = dict.fromkeys(peak.precision for peak in device.peaks)
    stated = f"stated are {', '.join(others)}" if others else "none is stated"
    return f"{NO_LATENCY}the dense peak rate at {precision} is not known ({stated})"


def _memory_s(demand: Demand, device: Device, notes: list[str]) -> float | None:
    """The time of the slowest memory whose bandwidth is known, with a note on the others; None if there is none."""
    moved: dict[str, int] = {}
    for what, size in ((WEIGHTS, demand.stored_read_bytes), (ACTIVATIONS, demand.input_bytes + demand.output_bytes)):
        memory = device.memory_for(what)
        if memory is not None:
            moved[memory.name] = moved.get(memory.name, 0) + size
    rates = {memory.name: memory.bandwidth_bytes_per_s for memory in device.memories}
    known = [(size, rate.value) for name, size in moved.items() if (rate := rates[name]) is not None]
    unknown = {name: f"{size:,} B" for name, size in moved.items() if size and rates[name] is None}
    if unknown:
        names, sizes = " and ".join(unknown), " and ".join(unknown.values())
        notes.append(f"the bandwidth of {names} is not known: moving {sizes} counts as no time")
    times = [_quotient(size, rate) for size, rate in known]
    return max((time for time in times if time is not None), default=None)


def _figures(device: Device, precision: str | None) -> Iterator[tuple[str, Figure]]:
    """The figures that a floor rests on, with what they are."""
    peak = device.peak(precision) if precision else None
    if peak is not None:
        yield f"the peak of the {peak.unit} at {precision}", peak.ops_per_s
    for memory in device.memories:
        if memory.holds and memory.bandwidth_bytes_per_s is not None:
            yield f"the bandwidth of {memory.name}", memory.bandwidth_bytes_per_s


def _quotient(amount: int, rate: int) -> float | None:
    """Seconds; None for a network so absurd that no float holds its time."""
    try:
        return amount / rate
    except OverflowError:
        return None

"""The time that nothing can beat: all operations at the peak rate, or all compulsory bytes at the full bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device, Figure
from weighbridge.estimates.demand import Demand
from weighbridge.estimates.roofline import bound_of, memory_time, moved_by_memory, quotient, ratio
from weighbridge.named_tuple import NamedTuple

__all__ = ["BOTH", "DATA_SHEET", "MEASURED", "NO_LATENCY", "Latency", "latency", "utilisation"]

NO_LATENCY: Final = "no latency, as "
"""Begins the note that says why a floor is None."""
DATA_SHEET: Final = "data sheet"
MEASURED: Final = "measured"
BOTH: Final = "data sheet and measured"
"""Where the device's figures behind a floor come from: none, all or some of them were measured on the device itself."""


class Latency(NamedTuple):
    """Seconds of one inference.

    ``compute_s`` is operations / peak, ``memory_s`` compulsory bytes / bandwidth, ``floor_s`` the larger; each is None
    where the device states no figure for it.  ``bound`` names the larger one where both are known.  ``layerwise_s`` is the
    sum over nodes, None where a node has no rate; unless ``layerwise_exact`` a lower bound.  ``exact`` is False where a count
    behind the floor is a lower bound (the floor still is a floor), ``verified`` where a figure of the device is not
    verified; ``notes`` say which.  ``intensity_ops_per_byte`` is operations per compulsory byte, ``ridge_ops_per_byte`` the
    intensity at which computing and moving take equally long (None where a bandwidth is not known),
    ``attainable_ops_per_s`` the rate that the floor allows.  ``figures`` says where the device's figures behind all this come from:
    ``data sheet``, ``measured`` on the device itself, or both.
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
    layerwise_exact: bool = False
    intensity_ops_per_byte: float | None = None
    ridge_ops_per_byte: float | None = None
    attainable_ops_per_s: float | None = None
    figures: str = DATA_SHEET


def latency(demand: Demand, device: Device, precision: str | None, timed_ops: int | None = None) -> Latency:
    """The roofline floor: T = max(2 x MACs / peak at ``precision``, compulsory bytes / bandwidth).

    Compulsory are the stored bytes that must be read (weights and constants) and the graph's inputs and outputs.  Bytes
    in one memory queue; memories beside each other work at the same time, so the slowest counts.  Only dense rates are
    used.  Without a peak at this precision there is no floor, and a note says so: a rate is never guessed.  Nor is there one
    where nothing counted takes time: no operation, and no byte at a bandwidth that is known.  ``timed_ops`` are the operations
    that have a rate at all, by default all of them.
    """
    ops = demand.ops if timed_ops is None else timed_ops
    peak = device.peak(precision) if precision else None
    notes = [] if peak or not demand.ops else [_no_peak(device, precision)]
    compute = quotient(ops, peak.ops_per_s.value) if peak else None
    if not demand.ops:
        compute = 0.0 if demand.ops_exact else None
    running_bytes = demand.input_bytes + demand.output_bytes
    memory = memory_time(device, demand.stored_read_bytes, running_bytes, demand.moved_exact)
    moved = demand.stored_read_bytes + running_bytes
    untimed = _untimed(device, demand.stored_read_bytes, running_bytes)
    known = [time for time in (compute, memory) if time is not None]
    floor = max(known, default=0.0) if compute is not None or not demand.ops else None
    if floor:
        notes += untimed
    elif not notes:
        notes.append(_no_time(demand, memory))
    verified = True
    for what, figure in _figures(device, precision):
        if not figure.verified:
            verified = False
            notes.append(f"{what} is not verified ({figure.note or figure.source})")
    return Latency(
        floor_s=floor or None,  # 0 s would say that something was counted
        layerwise_s=None,
        compute_s=compute,
        memory_s=memory,
        bound=bound_of(compute, memory),
        peak_ops_per_s=peak.ops_per_s.value if peak else None,
        unit=peak.unit if peak else None,
        exact=demand.ops_exact and demand.moved_exact and ops == demand.ops,
        verified=verified,
        notes=tuple(notes),
        intensity_ops_per_byte=ratio(demand.ops, moved),
        ridge_ops_per_byte=_ridge(peak.ops_per_s.value, memory, moved) if peak and memory and not untimed else None,
        attainable_ops_per_s=quotient(ops, floor) if floor and ops else None,
        figures=_origin(device, precision),
    )


def utilisation(floor_s: float | None, measured_s: float) -> float | None:
    """The part of a measured time, in seconds and above zero, that the floor accounts for; None without a floor.

    Above 1 no device of these figures can have been: a count, a rate or a condition of the measurement is another.
    """
    return None if floor_s is None else floor_s / measured_s


def _origin(device: Device, precision: str | None) -> str:
    measured = {figure.measured for _, figure in _figures(device, precision)}
    return BOTH if len(measured) > 1 else MEASURED if True in measured else DATA_SHEET


def _ridge(ops_per_s: int, memory_s: float, moved: int) -> float:
    """Peak rate over bandwidth: that of the one memory, or of several together as this network uses them."""
    return ops_per_s * memory_s / moved


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


def _untimed(device: Device, stored_bytes: int, running_bytes: int) -> list[str]:
    """Notes on bytes that count as no time: their memory's bandwidth is not known, or no memory is."""
    notes = []
    moved = moved_by_memory(device, stored_bytes, running_bytes)
    rates = {memory.name: memory.bandwidth_bytes_per_s for memory in device.memories}
    unknown = {name: f"{size:,} B" for name, size in moved.items() if size and rates[name] is None}
    if unknown:
        names, sizes = " and ".join(unknown), " and ".join(unknown.values())
        notes.append(f"the bandwidth of {names} is not known: moving {sizes} counts as no time")
    for what, size in ((WEIGHTS, stored_bytes), (ACTIVATIONS, running_bytes)):
        if size and device.memory_for(what) is None:
            notes.append(f"no memory is known to hold {what}: moving {size:,} B of them counts as no time")
    return notes


def _figures(device: Device, precision: str | None) -> Iterator[tuple[str, Figure]]:
    """The figures that a floor rests on, with what they are."""
    peak = device.peak(precision) if precision else None
    if peak is not None:
        yield f"the peak of the {peak.unit} at {precision}", peak.ops_per_s
    for memory in device.memories:
        if memory.holds and memory.bandwidth_bytes_per_s is not None:
            yield f"the bandwidth of {memory.name}", memory.bandwidth_bytes_per_s

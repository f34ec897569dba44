"""The roofs that the layers of a network lie under on a device: what its memories deliver, and what its units compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from weighbridge.devices.device import Device, Peak
from weighbridge.estimates.demand import Demand
from weighbridge.estimates.latency import Latency
from weighbridge.estimates.layerwise import NodeTime
from weighbridge.estimates.roofline import moved_by_memory, quotient
from weighbridge.named_tuple import NamedTuple

__all__ = ["Roof", "RoofPoint", "Roofline", "roofs"]

_LAST_DECADE: Final = 300
"""No roof is drawn beyond 10 to this power, or below the inverse: floats end soon after."""


class RoofPoint(NamedTuple):
    """A corner or an end of a roof: a rate at an intensity, both above zero."""

    intensity_ops_per_byte: float
    ops_per_s: float


class Roof(NamedTuple):
    """The roof of one precision.

    ``ops_per_s`` is the dense peak of ``unit``; ``ridge_ops_per_byte`` = peak / bandwidth, where the slanted part meets the
    flat one, None where the bandwidth is not known and the roof is flat alone.  ``points`` lead along the roof from left to
    right, past every layer and a decade beyond every ridge, to powers of ten; none where a float does not hold them.
    """

    precision: str
    unit: str
    ops_per_s: int
    ridge_ops_per_byte: float | None
    points: tuple[RoofPoint, ...]


class Roofline(NamedTuple):
    """Rate <= min(peak, bandwidth x intensity), as the layers have it (Williams, Waterman and Patterson, "Roofline", 2009).

    ``memories`` are those that the bytes of the layers go through, ``bandwidth_bytes_per_s`` that of all of them at once: no
    layer is faster, and one whose bytes go through some of them only is slower.  It is None where that of one is not known.
    ``roofs`` are those of the precisions that layers compute at and the device has a rate for, the fastest first.
    """

    memories: tuple[str, ...]
    bandwidth_bytes_per_s: int | None
    roofs: tuple[Roof, ...]


def roofs(
    demand: Demand, device: Device, times: Sequence[NodeTime], floor: Latency, precision: str | None = None
) -> Roofline:
    """The roofs over ``times``, which are those of ``demand``'s nodes on ``device`` at their own precision or at ``precision``."""
    memories, bandwidth = _bandwidth(demand, device)
    used = dict.fromkeys(precision or node.precision for node in demand.nodes if node.ops)
    peaks = [peak for name in used if name and (peak := device.peak(name)) is not None]
    peaks.sort(key=lambda peak: -peak.ops_per_s.value)
    ridges = [None if bandwidth is None else quotient(peak.ops_per_s.value, bandwidth) for peak in peaks]
    intensities = [time.intensity_ops_per_byte for time in times]
    least, most = _around([*intensities, floor.intensity_ops_per_byte], ridges)
    found = [
        Roof(peak.precision, peak.unit, peak.ops_per_s.value, ridge, _points(peak, bandwidth, ridge, least, most))
        for peak, ridge in zip(peaks, ridges, strict=True)
    ]
    return Roofline(memories, bandwidth, tuple(found))


def _bandwidth(demand: Demand, device: Device) -> tuple[tuple[str, ...], int | None]:
    """The memories that bytes go through, and their bandwidths together; None unless all are known, and where nothing moves."""
    stored = sum(node.stored_bytes for node in demand.nodes)
    running = sum(node.running_bytes for node in demand.nodes)
    moved = moved_by_memory(device, stored, running)
    used = [memory for memory in device.memories if moved.get(memory.name)]
    known = [memory.bandwidth_bytes_per_s.value for memory in used if memory.bandwidth_bytes_per_s is not None]
    is_known = len(known) == len(used) and sum(moved.values()) == stored + running
    return tuple(memory.name for memory in used), sum(known) if known and is_known else None


def _around(intensities: Sequence[float | None], ridges: Sequence[float | None]) -> tuple[float, float]:
    """The powers of ten below and above all ``intensities``, and past a decade on both sides of the ``ridges``; of 1 where none is."""
    powers = [math.log10(intensity) for intensity in intensities if intensity]
    powers += (math.log10(ridge) + side for ridge in ridges if ridge for side in (-1, 1))
    least, most = math.ceil(min(powers, default=0.0)) - 1, math.floor(max(powers, default=0.0)) + 1
    return 10.0 ** max(-_LAST_DECADE, least), 10.0 ** min(_LAST_DECADE, most)


def _points(peak: Peak, bandwidth: int | None, ridge: float | None, least: float, most: float) -> tuple[RoofPoint, ...]:
    try:
        height = float(peak.ops_per_s.value)
        lowest = bandwidth * least if bandwidth is not None else height
    except OverflowError:
        return ()
    corner = (RoofPoint(ridge, height),) if ridge else ()
    return (RoofPoint(least, lowest), *corner, RoofPoint(most, height))

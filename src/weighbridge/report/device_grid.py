"""Devices side by side: what decides whether a network fits and how fast it can be, in a table for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, KINDS, PRECISIONS, WEIGHTS, Device, Figure, Memory
from weighbridge.devices.timed import names_of
from weighbridge.errors import printable
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.units import binary_bytes, decimal_bytes, short

__all__ = ["KIND_TITLES", "device_grid", "device_grids"]

KIND_TITLES: Final = {
    "mcu": "Microcontrollers",
    "npu": "Accelerators (NPU)",
    "board": "Boards",
    "server": "Servers",
    "other": "Others",
}
"""Of each kind, what a list of them is headed."""
_UNKNOWN: Final = "?"


def device_grids(devices: Iterable[Device]) -> Iterator[tuple[Grid, tuple[Device, ...]]]:
    """A table for each kind that there is one of, the smallest first, and the devices of its rows."""
    every = tuple(devices)
    for kind in KINDS:
        found = tuple(device for device in every if device.kind == kind)
        if found:
            yield device_grid(KIND_TITLES[kind], found), found


def device_grid(title: str, devices: Sequence[Device]) -> Grid:
    """The table of some devices: what a network can have of the memories, their bandwidths, the best rate at each precision that one
    of the devices states, and where there are any the kernels that were measured, with which a network has an expected time.
    """
    stated = {peak.precision for device in devices for peak in device.peaks}
    precisions = [precision for precision in PRECISIONS if precision in stated]
    memory = (Column("for weights"), Column("for activations"), Column("bandwidth"))
    rates = (Column(precision, is_number=True) for precision in precisions)
    measured = (Column("expected time with"),) if any(device.measured or device.timed for device in devices) else ()
    columns = (Column("device"), Column("full name"), *memory, *rates, *measured)
    rows = (GridRow((*_cells(device, precisions), *(_kernels(device) for _ in measured))) for device in devices)
    return Grid(title, columns, tuple(rows))


def _cells(device: Device, precisions: Iterable[str]) -> Iterator[str]:
    yield device.name
    yield printable(device.title)
    for what in (WEIGHTS, ACTIVATIONS):
        yield ", ".join(map(_room, device.memories_for(what))) or _UNKNOWN
    yield _bandwidths([one for one in device.memories if not {WEIGHTS, ACTIVATIONS}.isdisjoint(one.holds)])
    for precision in precisions:
        peak = device.peak(precision)
        yield _UNKNOWN if peak is None else f"{_doubt((peak.ops_per_s,))}{short(peak.ops_per_s.value)}OPS"


def _kernels(device: Device) -> str:
    """The libraries of kernels and the runtimes that were measured, and at which precision."""
    named = [(one.kernels, one.precision) for one in device.measured]
    named += zip(names_of(device.timed), (one.precision for one in device.timed), strict=True)
    return "; ".join(f"{printable(name, 60)}, {precision}" for name, precision in named) or _UNKNOWN


def _room(memory: Memory) -> str:
    """What a network can have of it."""
    return f"{printable(memory.name)} {_doubt(memory.size_figures)}{binary_bytes(memory.block_bytes)}"


def _bandwidths(memories: Sequence[Memory]) -> str:
    if all(memory.bandwidth_bytes_per_s is None for memory in memories):
        return _UNKNOWN
    return ", ".join(f"{printable(memory.name)} {_bandwidth(memory.bandwidth_bytes_per_s)}" for memory in memories)


def _bandwidth(figure: Figure | None) -> str:
    return _UNKNOWN if figure is None else f"{_doubt((figure,))}{decimal_bytes(figure.value)}/s"


def _doubt(figures: Iterable[Figure]) -> str:
    return "" if all(figure.verified for figure in figures) else "~"

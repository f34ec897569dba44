"""The page of one device: every number with its unit, its source and the doubt about it."""

from __future__ import annotations

from collections.abc import Iterator

from weighbridge.devices.device import PERSISTENT, Device, EnergyTable, Figure, Memory, Peak, Picojoules
from weighbridge.errors import printable
from weighbridge.report.spans import Line, Style, in_ascii, wrap
from weighbridge.report.terminal import Look
from weighbridge.units import binary_bytes, decimal_bytes, exact, in_full, short, stated

__all__ = ["device_lines"]

_CALLED = {PERSISTENT: "a runtime's own data"}


def device_lines(device: Device, look: Look) -> Iterator[Line]:
    """The page as lines of spans, as wide as ``look`` allows."""
    lines = _lines(device, look.measure)
    return lines if look.unicode else (in_ascii(line) for line in lines)


def _lines(device: Device, width: int) -> Iterator[Line]:
    yield from wrap(printable(device.title, 2000), width, Style.STRONG)
    yield from wrap(
        f"{device.name} · {device.kind} · {printable(f'{device.class_} · {device.core}', 2000)}", width, Style.QUIET
    )
    if device.peaks:
        yield Line()
        yield from wrap(
            "peak rates: dense operations a second; a multiply-accumulate is two", width, Style.STRONG, hanging=2
        )
        for peak in device.peaks:
            yield from _peak(peak, width)
    if device.memories:
        yield Line()
        yield from wrap("memory", width, Style.STRONG)
        for memory in device.memories:
            yield from _memory(memory, width)
    if device.kernel_library:
        yield Line()
        yield from wrap(f"kernels of TensorFlow Lite Micro: {device.kernel_library}", width, Style.PLAIN, hanging=2)
    if device.energy is not None:
        yield Line()
        yield from wrap(f"energy, {printable(device.energy.process, 2000)}", width, Style.STRONG, hanging=2)
        yield from _energies(device.energy, width)
    notes = [*device.notes, *_notes(device)]
    if notes:
        yield Line()
    for note in notes:
        yield from wrap(f"note: {printable(note, 2000)}", width, Style.QUIET, hanging=6)


def _peak(peak: Peak, width: int) -> Iterator[Line]:
    value = peak.ops_per_s.value
    text = f"{peak.precision}: {short(value)}OPS = {exact(value)} operations/s; {printable(peak.unit)}"
    yield from _figure(text, peak.ops_per_s, width)


def _memory(memory: Memory, width: int) -> Iterator[Line]:
    name = printable(memory.name)
    size = memory.bytes.value
    *others, last = (_CALLED.get(content, content) for content in memory.holds or ("nothing of a network",))
    holds = f"{', '.join(others)} and {last}" if others else last
    text = f"{name}: {exact(size)} B = {binary_bytes(size)}; holds {holds}"
    yield from _figure(text, memory.bytes, width)
    if memory.bandwidth_bytes_per_s is not None:
        rate = memory.bandwidth_bytes_per_s.value
        text = f"{name}, bandwidth: {decimal_bytes(rate)}/s = {exact(rate)} B/s"
        yield from _figure(text, memory.bandwidth_bytes_per_s, width)
    if memory.reserved_bytes is not None:
        reserved = memory.reserved_bytes.value
        text = f"{name}, reserved: {exact(reserved)} B = {binary_bytes(reserved)}; no network can have it"
        yield from _figure(text, memory.reserved_bytes, width)
    if memory.largest_block_bytes is not None:
        block = memory.largest_block_bytes.value
        text = f"{name}, largest block: {exact(block)} B = {binary_bytes(block)}; a network has to lie in one"
        yield from _figure(text, memory.largest_block_bytes, width)


def _energies(table: EnergyTable, width: int) -> Iterator[Line]:
    for one in table.operations:
        yield from _figure(f"{one.operation} {one.precision}: {_pj(one.energy_pj)}", one.energy_pj, width)
    for access in table.accesses:
        each = access.energy_pj_per_32_bit
        yield from _figure(f"32 bits from {printable(access.level)}: {_pj(each)}", each, width)


def _pj(each: Picojoules) -> str:
    return f"{in_full(stated(each.value))} pJ"


def _figure(text: str, figure: Figure | Picojoules, width: int) -> Iterator[Line]:
    yield from wrap(text, width, Style.FIGURE if figure.verified else Style.WARNING, indent=2, hanging=2)
    yield from wrap(f"source: {printable(figure.source, 2000)}", width, Style.PLAIN, indent=4, hanging=8)
    note = printable(figure.note, 2000)
    if not figure.verified:
        yield from wrap(f"not verified: {note}" if note else "not verified", width, Style.WARNING, indent=4, hanging=8)
    elif note:
        yield from wrap(f"note: {note}", width, Style.PLAIN, indent=4, hanging=8)


def _notes(device: Device) -> Iterator[str]:
    figures = device.figures
    doubtful = sum(not figure.verified for figure in figures)
    if doubtful:
        yield f"not verified: {doubtful} of {len(figures)} numbers; an estimate that rests on one says so"
    yield from device.gaps

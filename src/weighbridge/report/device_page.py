"""The page of one device on a terminal: every number with its unit, its source and the doubt about it."""

from __future__ import annotations

from collections.abc import Iterator

from weighbridge.devices.device import Device
from weighbridge.errors import printable
from weighbridge.report.device_facts import Fact, device_facts, device_notes, device_subtitle
from weighbridge.report.spans import Line, Style, in_ascii, wrap
from weighbridge.report.terminal import Look

__all__ = ["device_lines"]


def device_lines(device: Device, look: Look) -> Iterator[Line]:
    """The page as lines of spans, as wide as ``look`` allows."""
    lines = _lines(device, look.measure)
    return lines if look.unicode else (in_ascii(line) for line in lines)


def _lines(device: Device, width: int) -> Iterator[Line]:
    yield from wrap(printable(device.title, 2000), width, Style.STRONG)
    yield from wrap(device_subtitle(device), width, Style.QUIET)
    for facts in device_facts(device):
        yield Line()
        yield from wrap(facts.heading, width, Style.STRONG, hanging=2)
        for fact in facts.facts:
            yield from _fact(fact, width)
    if device.kernel_library:
        yield Line()
        yield from wrap(f"kernels of TensorFlow Lite Micro: {device.kernel_library}", width, Style.PLAIN, hanging=2)
    notes = list(device_notes(device))
    if notes:
        yield Line()
    for note in notes:
        yield from wrap(f"note: {note}", width, Style.QUIET, hanging=6)


def _fact(fact: Fact, width: int) -> Iterator[Line]:
    yield from wrap(fact.text, width, Style.FIGURE if fact.is_verified else Style.WARNING, indent=2, hanging=2)
    yield from wrap(f"source: {fact.source}", width, Style.PLAIN, indent=4, hanging=8)
    if fact.remark:
        style = Style.PLAIN if fact.is_verified else Style.WARNING
        yield from wrap(fact.remark, width, style, indent=4, hanging=8)

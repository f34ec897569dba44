"""Carries out ``weighbridge devices``, ``devices show`` and ``devices check``."""

from __future__ import annotations

import sys

from weighbridge.devices.catalogue import by_kind, find
from weighbridge.errors import printable

__all__ = ["check_device", "list_devices", "show_device"]


def list_devices() -> int:
    """Print a line for every device of the catalogue, by kind: the name that ``--on`` takes, the kind, the full name."""
    from weighbridge.cli.output import look_of, show_lines
    from weighbridge.report.spans import Line, Style, clip, in_ascii

    known = by_kind()
    name, kind = (max(len(text) for text in column) for column in zip(*((d.name, d.kind) for d in known), strict=True))
    look = look_of(sys.stdout)
    room = look.measure - name - kind - 4
    texts = (f"{device.name:{name}}  {device.kind:{kind}}  {clip(device.title, room)}" for device in known)
    lines = (Line.of((text, Style.PLAIN)) for text in texts)
    show_lines(lines if look.unicode else map(in_ascii, lines), look)
    return 0


def show_device(name_or_path: str) -> int:
    """Print every number of a device with its unit, its source and the doubt about it.  Raises ``BadSpec``."""
    from weighbridge.cli.output import look_of, show_lines
    from weighbridge.report.device_page import device_lines

    device = find(name_or_path)
    look = look_of(sys.stdout)
    show_lines(device_lines(device, look), look)
    return 0


def check_device(name_or_path: str) -> int:
    """Say that a device file is good, and what it leaves out.  Raises ``BadSpec`` with all its faults."""
    device = find(name_or_path)
    count = len(device.figures)
    doubtful = sum(not figure.verified for figure in device.figures)
    trust = f", {doubtful} not verified" if doubtful else ", all verified" if count else ""
    numbers = f"{count} {'number' if count == 1 else 'numbers'}{trust}"
    notes = "".join(f"note: {printable(gap)}\n" for gap in device.gaps)
    sys.stdout.write(f"{printable(name_or_path)}: good; {device.name}, {device.kind}: {numbers}\n{notes}")
    return 0

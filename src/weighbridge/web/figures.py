"""Readouts of the kinds that most simulators have: a count, bytes, words; what is unknown is ``?`` in each."""

from __future__ import annotations

from typing import Final

from weighbridge.devices.device import Figure
from weighbridge.units import binary_bytes, decimal_bytes, exact
from weighbridge.web.simulator import Readout

__all__ = ["UNKNOWN", "count", "doubt", "size", "sized", "words"]

UNKNOWN: Final = "?"


def count(name: str, label: str, value: int | None, group: str = "", meaning: str = "") -> Readout:
    """A whole number, in full."""
    return Readout(name, label, value, UNKNOWN if value is None else exact(value), meaning, group)


def size(name: str, label: str, value: int | None, group: str = "", meaning: str = "") -> Readout:
    """Bytes: in full, in decimal units and in binary ones."""
    return Readout(name, label, value, UNKNOWN if value is None else sized(value), meaning, group)


def sized(value: int) -> str:
    """``440,928 B = 440.9 kB = 430.6 KiB``."""
    whole = f"{exact(value)} B"
    return whole if abs(value) < 1000 else f"{whole} = {decimal_bytes(value)} = {binary_bytes(value)}"


def doubt(figure: Figure) -> str:
    """The tilde that stands before a device's figure that nobody has verified."""
    return "" if figure.verified else "~"


def words(name: str, label: str, value: str | None, group: str = "", meaning: str = "") -> Readout:
    """A name or a verdict."""
    return Readout(name, label, value, value or UNKNOWN, meaning, group)

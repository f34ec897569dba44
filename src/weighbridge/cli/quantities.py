"""Numbers as they are written on the command line: ``3``, ``1x7``, ``2TOPS``, ``25 GB/s``, ``17.4ms``; always exact."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.written import BANDWIDTH_UNITS, OPS_UNITS, quantity

__all__ = ["latency", "rate", "sizes"]

_SIZE: Final = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS: Final = 30
_RATES: Final[Mapping[str, Mapping[str, int]]] = {
    "ops_per_s": OPS_UNITS,
    "bandwidth_bytes_per_s": BANDWIDTH_UNITS,
}
_SECONDS: Final = {"s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9)}
_EXAMPLES: Final = {"ops_per_s": "1e9, 864MOPS or 2TOPS", "bandwidth_bytes_per_s": "1e9, 900MB/s or 25GB/s"}


def sizes(name: str, text: str) -> int | tuple[int, ...]:
    """A whole number, or several with an x between them.  Raises ``BadSpec``, located at ``name``."""
    parts = text.strip().lower().split("x")
    if not all(_SIZE.fullmatch(part) for part in parts):
        raise BadSpec(f"must be a whole number, not {text!r}", where=name)
    if any(len(part) > _MOST_DIGITS for part in parts):
        raise BadSpec(f"must be a whole number of at most {_MOST_DIGITS} digits", where=name)
    numbers = tuple(int(part) for part in parts)
    return numbers[0] if len(numbers) == 1 else numbers


def rate(name: str, text: str) -> int:
    """``ops_per_s`` or ``bandwidth_bytes_per_s`` as a whole number a second.  Raises ``BadSpec``, located at ``name``."""
    found = quantity(text, _RATES[name])
    if found is None or found.denominator != 1:
        raise BadSpec(f"{text!r} is no such rate", where=name, hint=f"write {_EXAMPLES[name]}")
    return int(found)


def latency(text: str) -> Fraction | None:
    """A time in seconds; None if this is not a number with its unit."""
    return quantity(text.replace("µ", "u").replace("μ", "u"), _SECONDS)

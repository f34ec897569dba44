"""Numbers as they are written on the command line: ``3``, ``1x7``, ``2TOPS``, ``25 GB/s``, ``17.4ms``; always exact."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.written import DECIMAL

__all__ = ["latency", "rate", "sizes"]

_NUMBER: Final = re.compile(rf"({DECIMAL})\s*([^0-9\s.]\S*|)")
_SIZE: Final = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS: Final = 30
_DECIMAL: Final = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_UNITS: Final[Mapping[str, Mapping[str, Fraction]]] = {
    "ops_per_s": {
        f"{prefix}{unit}": Fraction(size) for unit in ("", "OPS", "FLOPS") for prefix, size in _DECIMAL.items()
    },
    # A small b is a bit, and a millisecond is no megasecond: units are taken as they are written.
    "bandwidth_bytes_per_s": {
        "": Fraction(1),
        **{f"{prefix}B/s": Fraction(size) for prefix, size in {**_DECIMAL, **_BINARY}.items()},
    },
    "latency_s": {"s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9)},
}
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
    found = _quantity(name, text)
    if found is None or found.denominator != 1:
        raise BadSpec(f"{text!r} is no such rate", where=name, hint=f"write {_EXAMPLES[name]}")
    return int(found)


def latency(text: str) -> Fraction | None:
    """A time in seconds; None if this is not a number with its unit."""
    return _quantity("latency_s", text.replace("µ", "u").replace("μ", "u"))


def _quantity(name: str, text: str) -> Fraction | None:
    found = _NUMBER.fullmatch(text.strip())
    size = _UNITS[name].get(found[2]) if found else None
    return None if found is None or size is None else Fraction(found[1]) * size

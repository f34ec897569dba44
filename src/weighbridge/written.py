"""Numbers as people write them, on a command line or in Python: taken exactly, whole ones of any library, ASCII digits only.

Text is bounded before it is a number: ``1e99999999`` is short to write and would take all memory to hold.
"""

from __future__ import annotations

import operator
import re
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

__all__ = ["BANDWIDTH_UNITS", "BYTE_UNITS", "DECIMAL", "OPS_UNITS", "byte_size", "number", "quantity", "shown", "whole"]

DECIMAL: Final = r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?"
"""A pattern for a decimal number of sensible length: ``30``, ``29.97``, ``1.5e-3``."""
BYTE_UNITS: Final = {
    "B": 1,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("kMGT", 1)},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", 1)},
}
"""Bytes by unit, as they are written: kB is 1,000 and KiB 1,024, and there is no KB."""
_DECIMAL_PREFIXES: Final = {"": 1, **{prefix: 1000**power for power, prefix in enumerate("kMGTP", 1)}, "K": 1000}
_BINARY_PREFIXES: Final = {f"{prefix}i": 1024**power for power, prefix in enumerate("KMGT", 1)}
OPS_UNITS: Final = {
    f"{prefix}{unit}": size for unit in ("", "OPS", "FLOPS") for prefix, size in _DECIMAL_PREFIXES.items()
}
"""Operations a second by unit, as they are written: ``864MOPS``, ``2TOPS``, ``5.3 TFLOPS``, or a number of them."""
BANDWIDTH_UNITS: Final = {
    "": 1,
    **{f"{prefix}B/s": size for prefix, size in {**_DECIMAL_PREFIXES, **_BINARY_PREFIXES}.items()},
}
"""Bytes a second by unit, as they are written: ``900 MB/s``, ``1.5GiB/s``, or a number of them."""
_QUANTITY: Final = re.compile(rf"({DECIMAL})\s*([^0-9\s.]\S*|)")
_SIZE: Final = re.compile(rf"({DECIMAL})\s*([A-Za-z]*)")
_NUMBER: Final = re.compile(rf"{DECIMAL}|[0-9]{{1,30}}/0*[1-9][0-9]{{0,29}}")


def number(value: object) -> Fraction | None:
    """``value`` exactly: text such as ``29.97`` or ``30000/1001``, or a number, a float as it is written; None for what is neither.

    None also where it has more than 30 digits before or behind the point, or an exponent of more than two.
    """
    if isinstance(value, bool):
        return None
    from fractions import Fraction

    if isinstance(value, Fraction):
        return value
    try:
        text = str(value).strip()
    except ValueError:  # Python's own limit of 4,300 digits
        return None
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def byte_size(value: object) -> int | None:
    """``value`` in bytes: ``64KiB``, ``0.5 MB``, or a number of them; a part of a byte takes a whole one.

    None for what is no size, also for one below zero and for a unit that ``BYTE_UNITS`` does not have.
    """
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    unit = 1 if found is None or not found[2] else BYTE_UNITS.get(found[2])
    size = number(found[1] if found else value)
    return None if unit is None or size is None or size < 0 else ceil(size * unit)


def quantity(text: str, units: Mapping[str, int | Fraction]) -> Fraction | None:
    """A number with one of ``units`` behind it, exactly; a small b is a bit, a millisecond no megasecond, so a unit is taken as it is
    written.

    None for what is no number, and for a unit that is none of them.
    """
    from fractions import Fraction

    found = _QUANTITY.fullmatch(text.strip())
    size = units.get(found[2]) if found else None
    return None if found is None or size is None else Fraction(found[1]) * size


def whole(value: Any) -> int | None:
    """``value`` if it is a whole number, of Python, NumPy or any other library; None for all else, and for truth values."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def shown(value: object) -> str:
    """``value`` for a message, as Python writes it, a fraction as people do, cut short."""
    from fractions import Fraction

    try:
        return printable(str(value) if isinstance(value, Fraction) else repr(value), 60)
    except ValueError:
        return "a number of thousands of digits"
    except RecursionError:
        return "what is nested too deep"

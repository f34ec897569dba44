"""What a cell of a page says, held to the number of the JSON that it stands for."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["says"]

_PREFIXES: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "µ": 1e-6, "n": 1e-9, "p": 1e-12}
_BINARY: Final = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}
_ROUNDED: Final = 1e-3
"""A number of four digits, cut off or rounded, is off by no more than this part of it."""
_NUMBER: Final = re.compile(
    r"(?P<digits>\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?: ?(?P<prefix>[KMG]i|[kMGTmµnp]?)(?P<unit>[a-zA-Z/%]*))?"
)


def says(cell: str, value: float | None, unit: str = "", rounded: float = _ROUNDED) -> bool:
    """Whether the number at the start of ``cell`` is ``value``: to the digit if it has no prefix, else to four digits.

    ``>=`` and ``~`` may stand before it; what is unknown is ``?`` or ``unknown``, and nothing else is.  A share in per cent has
    one decimal place.  ``rounded`` is how far a rounded number may be off, relative.
    """
    text = cell.strip().removeprefix(">=").strip().removeprefix("~")
    if value is None:
        return text.startswith(("?", "unknown"))
    if unit == "%":
        return text.startswith(f"{value:.1%}" if value >= 0.0005 or not value else "<0.1%")
    found = _NUMBER.match(text)
    if not found or (found["unit"] or "") != unit:
        return False
    prefix, digits = found["prefix"] or "", found["digits"].replace(",", "")
    if not prefix and isinstance(value, int):
        return digits == str(value)
    shown = float(digits) * (_BINARY.get(prefix) or _PREFIXES[prefix])
    return abs(shown - value) <= rounded * abs(value)

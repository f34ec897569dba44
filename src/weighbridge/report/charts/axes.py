"""Axes with amounts: labels with a prefix and a unit, which stand apart from their number."""

from __future__ import annotations

from typing import Any, Final

import altair

__all__ = ["amounts", "logarithmic"]

_DECADES: Final = 6
"""Over fewer powers of ten than these there are ticks between them."""


def amounts(unit: str = "", ticks: int = 5, *, is_whole: bool = True) -> Any:
    """An axis of numbers, whole ones or not, with decimal prefixes: ``20 M``, or ``20 MB`` with the unit ``B``."""
    whole: dict[str, Any] = {"tickMinStep": 1} if is_whole else {}
    return altair.Axis(labelExpr=_prefixed(unit), tickCount=ticks, **whole)


def logarithmic(unit: str | None = "") -> Any:
    """A logarithmic axis, labelled at 1, 2 and 5 of each power of ten, with prefixes, or with the plain number for None."""
    label = "format(datum.value, ',~g')" if unit is None else _prefixed(unit)
    is_labelled = "indexof('125', slice(format(datum.value, '.0e'), 0, 1)) >= 0"
    return altair.Axis(labelExpr=f"{is_labelled} ? {label} : ''", tickCount=_DECADES)


def _prefixed(unit: str) -> str:
    """A label with a prefix; numbers below 1 have none without a unit, as ``500 m`` would be read as metres."""
    prefix = "[a-zA-Zµ]?" if unit else "[a-zA-Zµ]"
    label = f"replace(format(datum.value, '~s'), regexp('({prefix})$'), ' $1') + '{unit}'"
    return label if unit else f"(datum.value < 1 ? format(datum.value, ',~g') : {label})"

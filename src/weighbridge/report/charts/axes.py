"""Axes with amounts: labels with a prefix and a unit, which stand apart from their number."""

from __future__ import annotations

from typing import Any

import altair

__all__ = ["amounts"]


def amounts(unit: str = "", ticks: int = 5, *, is_whole: bool = True) -> Any:
    """An axis of numbers, whole ones or not, with decimal prefixes: ``20 M``, or ``20 MB`` with the unit ``B``."""
    prefix = "[a-zA-Z]?" if unit else "[a-zA-Z]"
    label = f"replace(format(datum.value, '~s'), regexp('({prefix})$'), ' $1') + '{unit}'"
    return altair.Axis(labelExpr=label, tickCount=ticks, **({"tickMinStep": 1} if is_whole else {}))

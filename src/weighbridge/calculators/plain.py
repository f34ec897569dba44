"""The records of the calculators as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from weighbridge.units import as_number

__all__ = ["plain"]


def plain(record: Any) -> dict[str, Any]:
    """A record as dicts, lists, numbers and strings under its own names; a fraction that is not whole is the nearest float."""
    return {name: _plain(value) for name, value in zip(record._fields, record, strict=True)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return plain(value) if hasattr(value, "_fields") else [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, Fraction):
        return as_number(value)
    return value

"""A table as a data frame, where pandas is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from weighbridge.errors import MissingExtra
from weighbridge.report.page import Table

__all__ = ["data_frame"]


def data_frame(table: Table) -> Any:
    """A ``pandas.DataFrame`` of whole numbers, numbers, texts and truth values that can be missing.

    Raises ``MissingExtra`` where pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise MissingExtra("pandas is not installed", hint="pip install pandas; report.to_dict() needs none") from None
    # Of type object first: a column of numbers with one missing would become floating point, and large counts inexact.
    return pandas.DataFrame(list(table.rows), columns=list(table.columns), dtype=object).convert_dtypes()

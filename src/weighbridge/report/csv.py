"""One row a node as CSV: for spreadsheets and data frames.

A text that a spreadsheet would take for a formula (one that begins with = + - @, also in their full-width forms, a tab or
a carriage return) gets a ' in front, as OWASP advises; unknown is an empty cell.  Control characters are escaped: CSV is written to
terminals, too.
"""

from __future__ import annotations

import csv
from io import StringIO

from weighbridge.errors import printable
from weighbridge.report.page import Table

__all__ = ["render"]

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r")

_LONGEST = 10
"""Characters that one is escaped to at most, so that no text is cut."""


def render(table: Table) -> str:
    """The table with its column names in the first line; lines end in CR LF (RFC 4180)."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(table.columns)
    writer.writerows([_cell(value) for value in row] for row in table.rows)
    return text.getvalue()


def _cell(value: str | int | float | None) -> str | int | float | None:
    if isinstance(value, str):
        text = f"'{value}" if value.startswith(_FORMULA) else value
        return printable(text, _LONGEST * len(text))
    if isinstance(value, bool):
        return "true" if value else "false"
    return value

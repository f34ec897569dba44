"""Several networks side by side for people: what it comes to, every metric in a table, and the layers that differ."""

from __future__ import annotations

from weighbridge.report.comparison import Comparison
from weighbridge.report.terminal import Look

__all__ = ["text"]


def text(found: Comparison, look: Look, *, all_rows: bool = False) -> str:
    """The page as plain text."""
    raise NotImplementedError

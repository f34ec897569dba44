"""Several networks side by side: every figure with its ratio to the first, the layers that differ, and which no other beats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.record import Report

if TYPE_CHECKING:
    from weighbridge.published import Published

__all__ = ["Model"]


class Model(NamedTuple):
    """A side of a comparison: its name there, no two alike, the source as it was written ("" of an object), and either a report or
    what somebody published.
    """

    name: str
    source: str
    report: Report | None
    published: Published | None = None

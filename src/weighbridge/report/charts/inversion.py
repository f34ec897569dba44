"""Parameters and MACs side by side: where a network is heavy is seldom where it works."""

from __future__ import annotations

from typing import Final

from weighbridge.report.charts.bars import Series, rows_of_bars
from weighbridge.report.charts.panel import NoPanel, Panel, Subject
from weighbridge.report.charts.theme import PALETTE

__all__ = ["inversion"]

_SERIES: Final = (Series("parameters", "parameters", "", PALETTE[0]), Series("macs", "MACs", "", PALETTE[1]))


def inversion(subject: Subject) -> Panel | NoPanel:
    """Two rows of bars over the layers: parameters, MACs."""
    return rows_of_bars(subject, _SERIES, "no layer is known to have parameters or MACs")

"""Bytes that come out of each layer and bytes of its weights: the one is heavy at the front, the other at the end."""

from __future__ import annotations

from typing import Final

from weighbridge.report.charts.bars import Series, rows_of_bars
from weighbridge.report.charts.panel import NoPanel, Panel, Subject
from weighbridge.report.charts.theme import PALETTE

__all__ = ["activations_weights"]

_SERIES: Final = (
    Series("output_bytes", "bytes of activations", "B", PALETTE[0]),
    Series("weight_bytes", "bytes of weights", "B", PALETTE[1]),
)


def activations_weights(subject: Subject) -> Panel | NoPanel:
    """Two rows of bars over the layers: bytes of what comes out of it, bytes of its weights."""
    return rows_of_bars(subject, _SERIES, "of no layer is it known that it has activations or weights")

"""The charts that there are, by the names that `weighbridge plot` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.report.charts.inversion import inversion
from weighbridge.report.charts.panel import Kind

__all__ = ["KINDS"]

KINDS: Final[Mapping[str, Kind]] = {
    "inversion": Kind(
        "Parameters and MACs by layer",
        "Above what each layer stores, below what it computes: where a network is heavy is seldom where it works.",
        inversion,
    ),
}

"""The charts that there are, by the names that `weighbridge plot` takes.

The modules that draw them are imported where one is drawn: help and completion name all of them and wait for no library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from weighbridge.report.charts.panel import Kind, NoPanel, Panel, Subject

__all__ = ["KINDS"]


def _drawn_by(name: str) -> Callable[[Subject], Panel | NoPanel]:
    """The function ``name`` of the module of that name in this package."""

    def panel(subject: Subject) -> Panel | NoPanel:
        drawn: Panel | NoPanel = getattr(import_module(f"weighbridge.report.charts.{name}"), name)(subject)
        return drawn

    return panel


KINDS: Final[Mapping[str, Kind]] = {
    "inversion": Kind(
        "Parameters and MACs by layer",
        "Above what each layer stores, below what it computes: where a network is heavy is seldom where it works.",
        _drawn_by("inversion"),
    ),
}

"""Published figures as a table of their own, each column with the conditions under which its times hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.errors import printable
from weighbridge.report.figures import label
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.published_figures import PUBLISHED
from weighbridge.units import in_full, significant, stated

if TYPE_CHECKING:
    from weighbridge.published import Published
    from weighbridge.report.comparison import Comparison, Metric

__all__ = ["published_grid"]

_UNKNOWN: Final = "?"
_CONDITIONS: Final = ("input", "hardware", "runtime", "precision", "batch")


def published_grid(found: Comparison, called: Mapping[str, str]) -> Grid:
    """A column for each published network, and the ratio of each later one to the first."""
    shown = [at for at, model in enumerate(found.models) if model.published is not None]
    rows = [model.published for model in found.models if model.published is not None]
    names = [called[found.models[at].name] for at in shown]
    metrics = [one for one in found.metrics if one.name.startswith(PUBLISHED)]
    made = [_figures(one, shown) for one in metrics]
    made += [_words(what, [_said(row, what) for row in rows]) for what in _CONDITIONS]
    columns = [Column("figure"), Column(names[0], is_number=True)]
    for name in names[1:]:
        columns += (Column(name, is_number=True), Column("ratio", is_number=True, rank=1))
    heading = f"as published, with the ratio to {names[0]}" if len(names) > 1 else "as published"
    return Grid(heading, tuple(columns), tuple(made))


def _figures(metric: Metric, shown: Sequence[int]) -> GridRow:
    unit = f", {printable(metric.unit, 40)}" if metric.name == f"{PUBLISHED}quality" and metric.unit else ""
    cells = [_cell(metric.values[at], metric.unit) for at in shown]
    ratios = ["" if metric.ratios[at] is None else significant(metric.ratios[at] or 0) for at in shown]
    return _row(f"{label(metric.name)}{unit}", cells, ratios)


def _cell(value: float | str | None, unit: str) -> str:
    """A figure with the digits that it was published with; a time in ms."""
    if value is None or isinstance(value, str):
        return _UNKNOWN
    return f"{in_full(stated(value) * 1000)} ms" if unit == "s" else in_full(stated(value))


def _words(what: str, cells: Sequence[str]) -> GridRow:
    return _row(what, cells, [""] * len(cells))


def _row(what: str, cells: Sequence[str], ratios: Sequence[str]) -> GridRow:
    later = [text for pair in zip(cells[1:], ratios[1:], strict=True) for text in pair]
    return GridRow((what, cells[0], *later))


def _said(row: Published, what: str) -> str:
    """The input, or a condition of the times; ``?`` where the source does not say."""
    value = row.input if what == "input" else getattr(row.conditions, what, None)
    return f"{value:,}" if isinstance(value, int) else printable(value or _UNKNOWN, 40)

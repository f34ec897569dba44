"""Published figures as tables of their own, with the conditions under which the times hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.errors import printable
from weighbridge.published import Conditions, Published
from weighbridge.report.figures import label
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.published_figures import PUBLISHED
from weighbridge.units import exact, in_full, significant, stated

if TYPE_CHECKING:
    from weighbridge.report.comparison import Comparison, Metric

__all__ = ["published_grids"]

_UNKNOWN: Final = "?"
_CONDITIONS: Final = (
    Column("model"),
    Column("hardware"),
    Column("runtime"),
    Column("precision"),
    Column("batch", is_number=True),
    Column("input"),
)


def published_grids(found: Comparison, called: Mapping[str, str]) -> Iterator[Grid]:
    """A column for each published network with the ratio of each later one to the first, and what its times were measured under."""
    shown = [at for at, model in enumerate(found.models) if model.published is not None]
    rows = [(called[model.name], model.published) for model in found.models if model.published is not None]
    if not rows:
        return
    columns = [Column("figure"), Column(rows[0][0], is_number=True)]
    for name, _ in rows[1:]:
        columns += (Column(name, is_number=True), Column("ratio", is_number=True, rank=1))
    heading = f"as published, with the ratio to {rows[0][0]}" if len(rows) > 1 else "as published"
    metrics = (one for one in found.metrics if one.name.startswith(PUBLISHED))
    yield Grid(heading, tuple(columns), tuple(_figures(one, shown) for one in metrics))
    yield Grid("measured under", _CONDITIONS, tuple(_conditions(name, row) for name, row in rows))


def _conditions(name: str, row: Published) -> GridRow:
    """The conditions of the times, ``?`` where the source does not say."""
    under = row.conditions or Conditions()
    batch = _UNKNOWN if under.batch is None else exact(under.batch)
    words = (printable(word or _UNKNOWN, 60) for word in (under.hardware, under.runtime, under.precision))
    return GridRow((name, *words, batch, printable(row.input or _UNKNOWN, 60)))


def _figures(metric: Metric, shown: Sequence[int]) -> GridRow:
    unit = f", {printable(metric.unit, 40)}" if metric.name == f"{PUBLISHED}quality" and metric.unit else ""
    figures = [_cell(metric.values[at], metric.unit) for at in shown]
    ratios = ["" if metric.ratios[at] is None else significant(metric.ratios[at] or 0) for at in shown]
    later = [text for pair in zip(figures[1:], ratios[1:], strict=True) for text in pair]
    return GridRow((f"{label(metric.name)}{unit}", figures[0], *later))


def _cell(value: float | str | None, unit: str) -> str:
    """A figure with the digits that it was published with; a time in ms."""
    if value is None or isinstance(value, str):
        return _UNKNOWN
    return f"{in_full(stated(value) * 1000)} ms" if unit == "s" else in_full(stated(value))

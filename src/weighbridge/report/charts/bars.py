"""Bars over the layers, and the rows behind them, which the charts of one model have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import altair

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.charts.axes import amounts
from weighbridge.report.charts.layers import layer_axis, layer_width, picked_opacity, rows, thinned, unknown_bars
from weighbridge.report.charts.panel import Datum, NoPanel, Panel, Subject
from weighbridge.report.charts.theme import HEIGHT, WIDTH
from weighbridge.report.headlines import lower_bound
from weighbridge.report.peaks import place_of_peak
from weighbridge.units import decimal_bytes, exact

__all__ = ["Layers", "Series", "bars", "layers", "rows_of_bars", "sized"]

_GAP: Final = 12
"""Between two rows of bars, in pixels."""


class Series(NamedTuple):
    """A figure that every layer has: its field in the rows, what it is called, its unit, the colour of its bars."""

    field: str
    title: str
    unit: str
    colour: str


class Layers(NamedTuple):
    """The rows of a model's layers under the ``name`` of their dataset, as far as there is room; ``columns`` have all layers, by
    field; ``bounds`` are the places at which one has a lower bound; ``note`` says which have no row.
    """

    name: str
    rows: tuple[Datum, ...]
    columns: Mapping[str, Sequence[int | None]]
    bounds: Mapping[str, Collection[int]]
    note: str | None

    def notes(self, series: Sequence[Series]) -> tuple[str, ...]:
        """What the bars of ``series`` do not show."""
        unknown = [(one.title, self.columns[one.field].count(None), len(self.columns[one.field])) for one in series]
        said = [
            f"grey: the {title} of {count:,} of {all_:,} layers are not known"
            for title, count, all_ in unknown
            if count
        ]
        said += (
            f"the {one.title} of {len(bounds):,} of {len(self.columns[one.field]):,} layers are lower bounds"
            for one in series
            if (bounds := self.bounds.get(one.field))
        )
        return (*said, self.note) if self.note else tuple(said)


def layers(subject: Subject) -> Layers:
    """The figures of each layer under their names in the JSON, and the bytes alive while it runs: the same for every chart."""
    report = subject.report
    profile = report.memory.profile.get(subject.policy, ())
    columns: dict[str, list[int | None]] = {
        "parameters": [node.parameters for node in report.nodes],
        "macs": [node.macs for node in report.nodes],
        "output_bytes": [node.output_bytes for node in report.nodes],
        "weight_bytes": [node.weight_bytes for node in report.nodes],
        "alive_bytes": [profile[place] if place < len(profile) else None for place in range(len(report.nodes))],
    }
    peak = place_of_peak(report, subject.policy)
    places, note = thinned(list(columns.values()), () if peak is None else (peak,))
    drawn = rows(subject, lambda place, _: {field: column[place] for field, column in columns.items()}, places)
    known_in_part = {place for place, node in enumerate(report.nodes) if node.macs is not None and not node.macs_exact}
    return Layers(f"layers_{subject.place}", drawn, columns, {"macs": known_in_part}, note)


def rows_of_bars(subject: Subject, series: Sequence[Series], nothing: str) -> Panel | NoPanel:
    """Bars of each of ``series`` under each other, their common axis below the last; ``nothing`` is the reason where all is 0."""
    data = layers(subject)
    if not any(any(data.columns[one.field]) for one in series):
        return NoPanel(nothing)
    height = HEIGHT // len(series)
    parts = [bars(subject, data, one, series, height=height, is_labelled=one is series[-1]) for one in series]
    description = "; ".join(_largest(subject, data, one) for one in series)
    return Panel(altair.vconcat(*parts, spacing=_GAP), {data.name: data.rows}, description, data.notes(series))


def _largest(subject: Subject, data: Layers, series: Series) -> str:
    column = data.columns[series.field]
    size, place = max(((size, -place) for place, size in enumerate(column) if size), default=(0, 0))
    is_known = None not in column
    if not size:
        return f"no {series.title}" if is_known else f"the {series.title} are not known"
    name = next(row["name"] for row in data.rows if row["layer"] == 1 - place)
    known = "" if is_known else " that are known"
    figure = sized(size) if series.unit else exact(size)
    return (
        f"most {series.title}{known} at {name}: {lower_bound(figure, -place not in data.bounds.get(series.field, ()))}"
    )


def sized(size: int) -> str:
    """``1,505,280 B (1.505 MB)``."""
    return f"{exact(size)} B" if size < 1000 else f"{exact(size)} B ({decimal_bytes(size)})"


def bars(
    subject: Subject,
    data: Layers,
    series: Series,
    tooltips: Sequence[Series],
    *,
    height: int = HEIGHT,
    is_labelled: bool = True,
    accent: tuple[int, str] | None = None,
) -> Any:
    """A bar a layer, and a grey one as high as the panel where the figure is not known.

    ``tooltips`` are the figures shown on hover; ``accent`` is a layer, from 1 on, and the colour of its bar.
    """
    shared: dict[str, Any] = {"opacity": picked_opacity(), "x": layer_axis(subject, is_labelled=is_labelled)}
    of_layer = [altair.Tooltip("layer:Q", format=",d"), altair.Tooltip("name:N"), altair.Tooltip("operator:N")]
    colour: Any = altair.value(series.colour)
    if accent is not None:
        colour = altair.condition(f"datum.layer == {accent[0]}", altair.value(accent[1]), colour)
    # Of figures that are all 0 or unknown Vega would make a scale with its 0 in the middle.
    scale = altair.Undefined if any(data.columns[series.field]) else altair.Scale(domain=[0, 1])
    drawn: Any = (
        altair.Chart(altair.NamedData(data.name))
        .mark_bar(aria=False, orient="vertical", size=layer_width(subject))
        .encode(
            y=altair.Y(f"{series.field}:Q", title=series.title, axis=amounts(series.unit), scale=scale),
            y2=altair.datum(0),
            color=colour,
            tooltip=[*of_layer, *(_tooltip(one) for one in tooltips)],
            **shared,
        )
    )
    if None in data.columns[series.field]:
        drawn += unknown_bars(subject, data.name, series.field, height, tooltip=of_layer, **shared)
    return drawn.properties(width=WIDTH, height=height)


def _tooltip(series: Series) -> Any:
    title = f"{series.title} ({series.unit})" if series.unit else series.title
    return altair.Tooltip(f"{series.field}:Q", title=title, format=",")

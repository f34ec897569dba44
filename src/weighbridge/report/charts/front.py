"""What the models on a front cost against the first of them: one that stands left of another in every figure beats it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import altair

from weighbridge.errors import printable
from weighbridge.report.charts.axes import logarithmic
from weighbridge.report.charts.on_device import is_above_zero
from weighbridge.report.charts.panel import PICKED, Chart, Datum, title_line
from weighbridge.report.charts.theme import PALETTE, WIDTH
from weighbridge.report.comparison import Comparison, Metric
from weighbridge.report.figures import cell, label, quotient
from weighbridge.report.fronts import Front

__all__ = ["front_charts"]

_SHAPES: Final = ("circle", "square", "diamond", "triangle-up")
_MOST_MODELS: Final = 40
_EDGE: Final = 24
"""Between the outermost dots and the frame, in pixels."""
_ROW: Final = 26
"""The height of a model, in pixels."""
_LEAST_HEIGHT: Final = 80
"""Below it there is no room for the axis's title."""
_MEANING: Final = (
    "Each figure as a multiple of the first model's. Less is better, and of quality more: one beats another where none of its dots is "
    "worse and one is better."
)


def front_charts(found: Comparison, called: Mapping[str, str]) -> tuple[Chart, ...]:
    """A chart of each front on which two models or more are placed."""
    charts = (_chart(place, front, found, called) for place, front in enumerate(found.fronts))
    return tuple(one for one in charts if one is not None)


def _chart(place: int, front: Front, found: Comparison, called: Mapping[str, str]) -> Chart | None:
    placed = {*front.best, *(one.model for one in front.beaten)}
    at = [place for place, model in enumerate(found.models) if model.name in placed]
    if len(at) < 2:
        return None
    metrics = [_metric(found, name, front.on) for name in front.metrics]
    rows = tuple(row for metric in metrics for row in _rows(metric, at, front, found, called))
    if not rows:
        return None
    name = f"front_{place}"
    spec: dict[str, Any] = _drawing(name, front.metrics, min(len(at), _MOST_MODELS)).to_dict()
    spec.pop("config", None)
    return Chart(
        name="front",
        title="Which none beats",
        meaning=_MEANING,
        device=None if front.on is None else printable(front.on, 80),
        spec=spec,
        datasets={name: rows},
        description=_description(front, called),
        notes=(f"drawn are the first {_MOST_MODELS} of {len(at):,} models",) * (len(at) > _MOST_MODELS),
        reasons=(),
    )


def _metric(found: Comparison, name: str, on: str | None) -> Metric:
    """The figure of a front: of the network or, where it has none of that name, of the device."""
    return next(one for one in found.metrics if one.name == name and one.device in (None, on))


def _rows(
    metric: Metric, at: Sequence[int], front: Front, found: Comparison, called: Mapping[str, str]
) -> Iterator[Datum]:
    first = metric.values[at[0]]
    for place in at[:_MOST_MODELS]:
        value, name = metric.values[place], found.models[place].name
        ratio = quotient(value, first)
        if is_above_zero(ratio):
            yield {
                "model": title_line(called[name]),
                "figure": label(metric.name),
                "ratio": ratio,
                "value": _value(value, metric.unit),
                "placed": "not beaten" if name in front.best else "beaten",
            }


def _value(value: float | str | None, unit: str) -> str:
    return cell(value, unit, True) if unit in ("", "B", "s") else str(value)


def _drawing(name: str, metrics: Sequence[str], models: int) -> Any:
    names = [label(metric) for metric in metrics]
    legend = altair.Legend(title=None, orient="bottom")
    return (
        altair.Chart(altair.NamedData(name), width=WIDTH, height=max(_LEAST_HEIGHT, _ROW * models))
        .mark_point(aria=False, filled=True, size=110, opacity=1)
        .encode(
            x=altair.X(
                "ratio:Q",
                title="times the first model's",
                scale=altair.Scale(type="log", nice=False, padding=_EDGE),
                axis=logarithmic(None),
            ),
            y=altair.Y("model:N", sort=None, title="model", axis=altair.Axis(grid=True)),
            color=altair.Color(
                "figure:N", scale=altair.Scale(range=list(PALETTE[: len(names)]), domain=names), legend=legend
            ),
            shape=altair.Shape(
                "figure:N", scale=altair.Scale(range=list(_SHAPES[: len(names)]), domain=names), legend=legend
            ),
            tooltip=[
                altair.Tooltip("model:N"),
                altair.Tooltip("figure:N"),
                altair.Tooltip("value:N"),
                altair.Tooltip("ratio:Q", format=".4~r"),
                altair.Tooltip("placed:N", title="is"),
            ],
        )
        .add_params(altair.param(name=PICKED, value=[]))
    )


def _description(front: Front, called: Mapping[str, str]) -> str:
    """Who is beaten by whom."""
    figures = "; ".join(label(metric) for metric in front.metrics)
    beaten = [f"{called[one.model]} is beaten by {', '.join(called[name] for name in one.by)}" for one in front.beaten]
    said = "; ".join(beaten) if beaten else "none is beaten"
    return printable(f"in {figures}: {said}", 600)

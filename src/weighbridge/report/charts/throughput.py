"""Inferences a second against the batch: weights that are read once serve all of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import altair

from weighbridge.report.asking import BATCHES
from weighbridge.report.charts.axes import amounts
from weighbridge.report.charts.on_device import dataset, doubts, is_above_zero, many, time, under
from weighbridge.report.charts.panel import Datum, NoPanel, Panel, Subject
from weighbridge.report.charts.theme import ACCENT, HEIGHT, MUTED, PALETTE, WIDTH
from weighbridge.report.record import OnDevice
from weighbridge.units import exact, significant

if TYPE_CHECKING:
    from weighbridge.estimates import BatchPoint

__all__ = ["throughput"]

_FLOOR, _LAYERWISE = "floor: at most", "layer by layer"
_LINES: Final = {_FLOOR: PALETTE[0], _LAYERWISE: ACCENT}
_FITS, _DOES_NOT_FIT, _UNKNOWN = "batch fits", "batch does not fit", "unknown whether it fits"
_VERDICTS: Final = {"fits": _FITS, "does not fit": _DOES_NOT_FIT}
_SHAPES: Final = {_FITS: "circle", _DOES_NOT_FIT: "cross", _UNKNOWN: "triangle-up"}
"""Whether a batch fits, and the shape of its points."""
_MOST_TICKS: Final = 24
_NAMED: Final = 6
_EXACT: Final = 2**53
_MOST: Final = 10**300
"""Floats end soon after."""
_EDGE: Final = 12
"""Between the outermost points and the frame, in pixels."""


def throughput(subject: Subject) -> Panel | NoPanel:
    """Two lines over the batch, of the floor and of the sum over layers; the shape of a point says whether the batch fits."""
    on = subject.on
    assert on is not None
    every = on.throughput.by_batch if on.throughput else ()
    points = [point for point in every if is_above_zero(point.batch) and point.batch < _MOST]
    if len({point.batch for point in points}) < 2:
        one = f"only batch {exact(points[0].batch)} was weighed" if points else "no batch was weighed"
        return NoPanel(f"{one}; weigh it with {BATCHES}")
    drawn = tuple(row for point in points for row in _rows(point))
    if not drawn:
        return NoPanel("of no batch is a time known")
    name = dataset("throughput", subject)
    best = tuple(_best(points))
    return Panel(
        _drawing(name, points).properties(title=under(on, *best, has_batch=False), width=WIDTH, height=HEIGHT),
        {name: drawn},
        "; ".join((*best, *_misfits(points))),
        (*_notes(on, points), *_beyond(len(every) - len(points))),
    )


def _rows(point: BatchPoint) -> Iterator[Datum]:
    for line, rate, seconds, is_exact in (
        (_FLOOR, point.per_s, point.latency_s, point.exact),
        (_LAYERWISE, point.layerwise_per_s, point.layerwise_s, point.layerwise_exact),
    ):
        if is_above_zero(rate):
            yield {
                "line": line,
                "batch": point.batch,
                "per_s": rate,
                "verdict": _verdict(point),
                "rate": significant(rate),
                "latency": time(seconds, is_exact),
            }


def _verdict(point: BatchPoint) -> str:
    return _VERDICTS.get(point.verdict, _UNKNOWN)


def _best(points: Sequence[BatchPoint]) -> Iterator[str]:
    """The most inferences a second by each line, and at which batch."""
    for what, rates in (
        ("floor", [(point.per_s, point.batch) for point in points]),
        ("layer by layer", [(point.layerwise_per_s, point.batch) for point in points]),
    ):
        known = [(rate, batch) for rate, batch in rates if is_above_zero(rate)]
        if known:
            rate, batch = max(known, key=lambda one: one[0])
            yield f"{what} at most {significant(rate)} inferences/s, at batch {exact(batch)}"


def _misfits(points: Sequence[BatchPoint]) -> Iterator[str]:
    for verdict, one, several in (
        (_DOES_NOT_FIT, "does not fit", "do not fit"),
        (_UNKNOWN, "may not fit", "may not fit"),
    ):
        found = [exact(point.batch) for point in points if _verdict(point) == verdict]
        if len(found) == 1:
            yield f"batch {found[0]} {one}"
        elif found:
            yield f"batches {', '.join(found[:_NAMED])}{' and more' if len(found) > _NAMED else ''} {several}"


def _drawing(name: str, points: Sequence[BatchPoint]) -> Any:
    batches = sorted({point.batch for point in points})
    ticks: dict[str, Any] = {"values": batches} if len(batches) <= _MOST_TICKS and batches[-1] <= _EXACT else {}
    shared: dict[str, Any] = {
        "x": altair.X(
            "batch:Q",
            title="batch (inputs)",
            scale=altair.Scale(type="log", base=2, nice=False, padding=_EDGE),
            axis=altair.Axis(format=",d", grid=False, labelSeparation=8, **ticks),
        ),
        "y": altair.Y("per_s:Q", title="inferences/s", axis=amounts(is_whole=False), scale=altair.Scale(zero=True)),
        "color": altair.Color(
            "line:N",
            scale=altair.Scale(domain=list(_LINES), range=list(_LINES.values())),
            legend=altair.Legend(title=None, orient="bottom", symbolType="stroke"),
        ),
    }
    lines: Any = altair.Chart(altair.NamedData(name)).mark_line(aria=False).encode(**shared)
    marks = (
        altair.Chart(altair.NamedData(name))
        .mark_point(aria=False, filled=True, size=110, opacity=1)
        .encode(
            **shared,
            shape=altair.Shape(
                "verdict:N",
                scale=altair.Scale(domain=list(_SHAPES), range=list(_SHAPES.values())),
                legend=altair.Legend(title=None, orient="bottom", symbolFillColor=MUTED, symbolStrokeColor=MUTED),
            ),
            tooltip=[
                altair.Tooltip("batch:Q", format=",d"),
                altair.Tooltip("line:N", title="by"),
                altair.Tooltip("rate:N", title="inferences/s, at most"),
                altair.Tooltip("latency:N"),
                altair.Tooltip("verdict:N"),
            ],
        )
    )
    return lines + marks


def _notes(on: OnDevice, points: Sequence[BatchPoint]) -> Iterator[str]:
    for what, count in (
        ("floor", sum(not is_above_zero(point.per_s) for point in points)),
        ("sum over the layers", sum(not is_above_zero(point.layerwise_per_s) for point in points)),
    ):
        if count:
            yield f"the {what} is not known at {count:,} of {len(points):,} batches"
    if any(not point.exact or not point.layerwise_exact for point in points):
        yield "the rates are upper bounds twice over, as counts behind them are lower bounds"
    yield from doubts(on)


def _beyond(count: int) -> Iterator[str]:
    if count:
        yield f"not drawn: {many(count, 'batch size')} that a logarithmic axis has no place for"

"""The samples of measurements in the order in which they were taken, and latency and throughput over the batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import altair

from weighbridge.measure.record import Measurement
from weighbridge.report.charts.axes import amounts
from weighbridge.report.charts.drawn import alone
from weighbridge.report.charts.panel import Chart, Datum, Panel, title_line
from weighbridge.report.charts.theme import ACCENT, HEIGHT, PALETTE, WIDTH
from weighbridge.report.measured import Curve
from weighbridge.report.measured_words import time
from weighbridge.units import exact, significant

__all__ = ["curve_chart", "samples_chart"]

_MOST: Final = 1_500
"""Points of one measurement: more are more than there are pixels."""
_INSIDE, _OUTSIDE = "sample", "outlier"
_EDGE: Final = 12


def samples_chart(names: Sequence[str], measurements: Sequence[Measurement]) -> Chart:
    """A strip a measurement, a point a sample; outliers are marked, the median is ruled, and its interval is a band."""
    datasets: dict[str, tuple[Datum, ...]] = {}
    panels, notes, told = [], [], []
    for place, (name, one) in enumerate(zip(names, measurements, strict=True)):
        rows = tuple(_samples(one))
        datasets[f"samples_{place}"] = rows
        datasets[f"median_{place}"] = (_middle(one),)
        panels.append(_strip(name, place))
        counted = one.summary
        told.append(
            f"{name}: {exact(counted.samples)} samples from {time(counted.least_s)} to {time(counted.most_s)}, "
            f"the median {time(counted.median_s)}, {exact(counted.outliers)} far out"
        )
        if len(rows) < counted.samples:
            notes.append(
                f"{name}: {exact(len(rows))} of {exact(counted.samples)} samples are drawn, all outliers among them"
            )
    panel = Panel(altair.vconcat(*panels).resolve_scale(color="shared"), datasets, "; ".join(told), tuple(notes))
    meaning = "Each run in its order; line and band: the median and what holds it; outliers are in every figure. A logarithmic scale."
    return alone("samples", "The samples", meaning, panel)


def _samples(one: Measurement) -> Iterator[Datum]:
    step = max(1, -(-len(one.samples_s) // _MOST))
    for number, sample in enumerate(one.samples_s):
        late = sample > one.summary.fence_s
        if late or number % step == 0:
            yield {"sample": number + 1, "seconds": sample, "kind": _OUTSIDE if late else _INSIDE, "time": time(sample)}


def _middle(one: Measurement) -> Datum:
    interval = one.interval
    low, high = (one.latency_s, one.latency_s) if interval is None else interval
    return {"median": one.latency_s, "low": low, "high": high}


def _strip(name: str, place: int) -> Any:
    size = altair.Y(
        "seconds:Q",
        title="seconds",
        axis=amounts("s", is_whole=False),
        scale=altair.Scale(type="log", padding=_EDGE, nice=False),
    )
    colours = altair.Scale(domain=[_INSIDE, _OUTSIDE], range=[PALETTE[0], ACCENT])
    points: Any = (
        altair.Chart(altair.NamedData(f"samples_{place}"))
        .mark_point(aria=False, filled=True, size=12, opacity=0.7)
        .encode(
            x=altair.X("sample:Q", title="sample", axis=altair.Axis(format=",d", grid=False)),
            y=size,
            color=altair.Color("kind:N", scale=colours, legend=altair.Legend(title=None, orient="bottom")),
            tooltip=[altair.Tooltip("sample:Q", format=",d"), altair.Tooltip("time:N"), altair.Tooltip("kind:N")],
        )
    )
    data = altair.NamedData(f"median_{place}")
    band = (
        altair.Chart(data).mark_rect(aria=False, color=PALETTE[1], opacity=0.3).encode(y=altair.Y("low:Q"), y2="high:Q")
    )
    rule = altair.Chart(data).mark_rule(aria=False, color=PALETTE[1], strokeWidth=1.5).encode(y="median:Q")
    title = altair.TitleParams(title_line(name), limit=WIDTH)
    return altair.layer(band, points, rule).properties(width=WIDTH, height=HEIGHT, title=title)


def curve_chart(curve: Curve) -> Chart:
    """Inferences a second above, the time of a run below, over the batch; the knee is marked."""
    rows: tuple[Datum, ...] = tuple(
        {
            "batch": one.batch,
            "per_s": one.per_s,
            "seconds": one.latency_s,
            "kind": "knee" if one.batch == curve.knee else "batch",
            "time": time(one.latency_s),
            "rate": significant(one.per_s),
        }
        for one in curve.points
    )
    batches = [one.batch for one in curve.points]
    drawing = altair.vconcat(
        _over_batch("per_s", "inferences/s", amounts(is_whole=False), batches),
        _over_batch("seconds", "seconds of a run", amounts("s", is_whole=False), batches),
    ).resolve_scale(color="shared")
    said = "; ".join(
        f"batch {exact(one.batch)}: {time(one.latency_s)}, {significant(one.per_s)} inferences/s"
        for one in curve.points
    )
    meaning = "Above inferences a second, below how long a run takes: each inference of a batch waits for all of it."
    return alone("batches", "Latency and throughput over the batch", meaning, Panel(drawing, {"batches": rows}, said))


def _over_batch(field: str, title: str, axis: Any, batches: Sequence[int]) -> Any:
    colours = altair.Scale(domain=["batch", "knee"], range=[PALETTE[0], ACCENT])
    shared: dict[str, Any] = {
        "x": altair.X(
            "batch:Q",
            title="batch (inputs)",
            scale=altair.Scale(type="log", base=2, nice=False, padding=_EDGE),
            axis=altair.Axis(format=",d", grid=False, labelSeparation=8, values=list(batches)),
        ),
        "y": altair.Y(f"{field}:Q", title=title, axis=axis, scale=altair.Scale(zero=True)),
    }
    data = altair.NamedData("batches")
    line: Any = altair.Chart(data).mark_line(aria=False, color=PALETTE[0]).encode(**shared)
    points = (
        altair.Chart(data)
        .mark_point(aria=False, filled=True, size=90, opacity=1)
        .encode(
            **shared,
            color=altair.Color("kind:N", scale=colours, legend=altair.Legend(title=None, orient="bottom")),
            tooltip=[
                altair.Tooltip("batch:Q", format=",d"),
                altair.Tooltip("rate:N", title="inferences/s"),
                altair.Tooltip("time:N"),
            ],
        )
    )
    return (line + points).properties(width=WIDTH, height=HEIGHT)

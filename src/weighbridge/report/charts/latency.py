"""The time of each layer on a device, by what the layer waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import altair

from weighbridge.errors import printable
from weighbridge.report.charts.axes import amounts
from weighbridge.report.charts.layers import layer_axis, layer_width, picked_opacity, rows, thinned, unknown_bars
from weighbridge.report.charts.on_device import bound, bound_colours, dataset, doubts, is_time, many, time, under
from weighbridge.report.charts.panel import Datum, NoPanel, Panel, Subject
from weighbridge.report.charts.theme import HEIGHT, WIDTH
from weighbridge.report.expectations import expected_lines, timed
from weighbridge.report.record import OnDevice

if TYPE_CHECKING:
    from weighbridge.estimates import NodeTime

__all__ = ["latency"]


def latency(subject: Subject) -> Panel | NoPanel:
    """A bar a layer as high as its time, and a grey one from the bottom to the top where that is not known."""
    on = subject.on
    assert on is not None
    times = on.nodes or ()
    if on.nodes is None:
        return NoPanel("the report has no times of single layers; weigh the network again")
    if not any(is_time(one.time_s) and one.time_s for one in times):
        return NoPanel("of no layer is a time known: the device has no rate at its precision, and no bandwidth")
    places, note = thinned([[one.time_s if is_time(one.time_s) else None for one in times]])
    drawn = rows(subject, lambda place, _: _row(times[place]), places)
    summed = time(on.latency.layerwise_s, on.latency.layerwise_exact)
    figures = f"layer by layer {summed}, floor {time(on.latency.floor_s, on.latency.exact)}"
    name = dataset("latency", subject)
    return Panel(
        _bars(subject, name, drawn).properties(title=under(on, figures), width=WIDTH, height=HEIGHT),
        {name: drawn},
        f"{_slowest(times)}; {', '.join(_counts(times))}; {figures}",
        (*_notes(on, times), *((note,) if note else ())),
    )


def _row(one: NodeTime) -> Datum:
    return {
        "time_s": one.time_s if is_time(one.time_s) else None,
        "bound": bound(one.bound),
        "time": time(one.time_s, one.exact),
        "compute": time(one.compute_s, one.exact),
        "memory": time(one.memory_s, one.exact),
    }


def _bars(subject: Subject, name: str, drawn: Sequence[Datum]) -> Any:
    shared: dict[str, Any] = {
        "x": layer_axis(subject),
        "opacity": picked_opacity(),
        "tooltip": [
            altair.Tooltip("layer:Q", format=",d"),
            *(altair.Tooltip(f"{field}:N") for field in ("name", "operator", "time", "compute", "memory", "bound")),
        ],
    }
    legend = altair.Legend(title=None, orient="bottom", symbolType="square")
    known: Any = (
        altair.Chart(altair.NamedData(name))
        .mark_bar(aria=False, orient="vertical", size=layer_width(subject))
        .encode(
            y=altair.Y("time_s:Q", title="time (s)", axis=amounts("s", is_whole=False)),
            y2=altair.datum(0),
            color=altair.Color("bound:N", scale=bound_colours(), legend=legend),
            **shared,
        )
    )
    if all(row["time_s"] is not None for row in drawn):
        return known
    return known + unknown_bars(subject, name, "time_s", HEIGHT, **shared)


def _slowest(times: Sequence[NodeTime]) -> str:
    slowest = max((one for one in times if is_time(one.time_s)), key=lambda one: one.time_s or 0)
    return f"slowest: {printable(slowest.name, 80)} with {time(slowest.time_s, slowest.exact)}, {bound(slowest.bound)}"


def _counts(times: Sequence[NodeTime]) -> Iterator[str]:
    found = Counter(bound(one.bound) for one in times if one.time_s)
    yield from (f"{many(count)} {name}" for name, count in sorted(found.items()))


def _notes(on: OnDevice, times: Sequence[NodeTime]) -> Iterator[str]:
    unknown = sum(not is_time(one.time_s) for one in times)
    if unknown:
        yield f"pale from the bottom to the top: {unknown:,} of {many(len(times))}, of which no time is known"
    least = sum(is_time(one.time_s) and not one.exact for one in times)
    if least:
        yield f"the time of {many(least)} is a lower bound, as a count behind it is one"
    yield from doubts(on)
    if timed(on):
        yield "the bars are floors; what is expected has none, as it is of whole networks"
    yield from expected_lines(on)

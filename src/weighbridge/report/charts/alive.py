"""What is alive while each layer runs, in several ways of running one network, under each other on one scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import altair

from weighbridge.report.alive_map import AliveMap, Curve
from weighbridge.report.charts.axes import amounts
from weighbridge.report.charts.bars import sized
from weighbridge.report.charts.drawn import alone
from weighbridge.report.charts.layers import NAMED, name_axis, number_axis, thinned, width_of
from weighbridge.report.charts.panel import Chart, Datum, Panel
from weighbridge.report.charts.theme import ACCENT, HEIGHT, MUTED, PALETTE, WIDTH
from weighbridge.report.record import told_apart

__all__ = ["alive_chart"]

_OTHERS: Final = "other layers"
_LEVELS: Final = "alive_levels"


def alive_chart(drawn: AliveMap) -> Chart:
    """A bar a layer for each way of running; the peak and the levels are ruled, and marked layers have a colour of their own."""
    sizes = [list(one.sizes) for one in drawn.curves]
    kept = {one.peak for one in drawn.curves if one.peak is not None}
    places, note = thinned(sizes, kept)
    datasets: dict[str, tuple[Datum, ...]] = {}
    panels = []
    for place, curve in enumerate(drawn.curves):
        datasets[f"alive_{place}"] = tuple(_rows(curve, places, drawn.means))
        datasets[f"alive_peak_{place}"] = ({"peak_bytes": curve.peak_bytes},)
        panels.append(_panel(drawn, curve, place))
    levels, top = drawn.levels_by_size, drawn.top_bytes
    datasets[_LEVELS] = tuple({"level": name, "level_bytes": size} for size, name in levels.items() if size <= top)
    panel = Panel(
        altair.vconcat(*panels).resolve_scale(color="shared"),
        datasets,
        "; ".join(one.said for one in drawn.curves),
        (
            *(
                f"{'grey line' if size <= top else 'beyond the drawing'}: {sized(size)}, {name}"
                for size, name in levels.items()
            ),
            *((note,) if note else ()),
        ),
    )
    meaning = f"{drawn.title[0].upper()}{drawn.title[1:]}; dashed: the peak."
    return alone("alive", "Memory over time", meaning, panel)


def _rows(curve: Curve, places: Sequence[int], means: str) -> Iterator[Datum]:
    names = list(told_apart(curve.names))
    for place in places:
        yield {
            "layer": place + 1,
            "name": names[place],
            "alive_bytes": curve.sizes[place],
            "kind": means if place in curve.marked else _OTHERS,
        }


def _panel(drawn: AliveMap, curve: Curve, place: int) -> Any:
    count = len(curve.sizes)
    axis = name_axis(list(told_apart(curve.names))) if count <= NAMED else number_axis(count)
    # Of figures that are all 0 or unknown Vega would make a scale with its 0 in the middle.
    scale = altair.Scale(domain=[0, max(1, drawn.top_bytes)], nice=False)
    size = altair.Y("alive_bytes:Q", title="bytes alive", axis=amounts("B"), scale=scale)
    kinds = [drawn.means, _OTHERS] if any(one.marked for one in drawn.curves) else [_OTHERS]
    legend: Any = altair.Legend(title=None, orient="bottom") if len(kinds) > 1 else None
    colours = altair.Scale(domain=kinds, range=[PALETTE[1], PALETTE[0]][-len(kinds) :])
    tips = [altair.Tooltip("layer:Q", format=",d"), altair.Tooltip("name:N")]
    bars = (
        altair.Chart(altair.NamedData(f"alive_{place}"))
        .mark_bar(aria=False, orient="vertical", size=width_of(count))
        .encode(
            x=axis,
            y=size,
            y2=altair.datum(0),
            color=altair.Color("kind:N", scale=colours, legend=legend),
            tooltip=[*tips, altair.Tooltip("alive_bytes:Q", title="bytes alive", format=","), altair.Tooltip("kind:N")],
        )
    )
    unknown = (
        altair.Chart(altair.NamedData(f"alive_{place}"))
        .transform_filter("datum.alive_bytes === null")
        .mark_bar(aria=False, orient="vertical", size=width_of(count), color=MUTED, fillOpacity=0.4)
        .encode(x=axis, y=altair.value(0), y2=altair.value(HEIGHT), tooltip=tips)
    )
    parts = [
        bars,
        *([unknown] if None in curve.sizes else []),
        _rule(f"alive_peak_{place}", "peak_bytes", ACCENT, "peak (B)"),
    ]
    if drawn.levels:
        parts.append(_rule(_LEVELS, "level_bytes", MUTED, "bytes", altair.Tooltip("level:N", title="of")))
    title = altair.TitleParams(curve.name, subtitle=curve.outcome, limit=WIDTH)
    return altair.layer(*parts).properties(width=WIDTH, height=HEIGHT, title=title)


def _rule(name: str, field: str, colour: str, title: str, *tips: Any) -> Any:
    return (
        altair.Chart(altair.NamedData(name))
        .mark_rule(aria=False, color=colour, strokeDash=[4, 3], strokeWidth=1.5)
        .encode(y=f"{field}:Q", tooltip=[altair.Tooltip(f"{field}:Q", title=title, format=","), *tips])
    )

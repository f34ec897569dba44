"""What is expected of networks over what they took, each without a part in what it is expected by; nothing lies below its floor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import altair

from weighbridge.errors import printable
from weighbridge.report.charts.axes import logarithmic
from weighbridge.report.charts.drawn import alone
from weighbridge.report.charts.panel import Chart, Datum, Panel, title_line
from weighbridge.report.charts.theme import PALETTE, WIDTH
from weighbridge.report.measured_words import time
from weighbridge.report.predicted import NetworkTime
from weighbridge.report.predicted_grids import off
from weighbridge.units import exact

__all__ = ["predicted_chart"]

_HEIGHT: Final = 360
_EDGE: Final = 18
_EXPECTED, _FLOOR = "expected", "floor"
_SHAPES: Final = ("circle", "square")


def predicted_chart(networks: Sequence[NetworkTime]) -> Chart | None:
    """A point a network at its measured time, at what is expected without it and at its floor; None where there is nothing to draw."""
    rows = tuple(_rows(networks))
    if not rows:
        return None
    times = [one.measured_s for one in networks]
    line: tuple[Datum, ...] = tuple({"measured": end, "seconds": end} for end in (min(times), max(times)))
    said = "; ".join(
        f"{one.name} in {one.runtime}: measured {time(one.measured_s)}, expected {time(one.left_out_s)}"
        for one in networks
    )
    panel = Panel(_drawing(), {"predicted": rows, "as_measured": line}, printable(said, 4000))
    meaning = (
        "On the line is what is expected to the point. Each network is expected by the others alone. A floor lies below the line, or "
        "something is wrong. Both scales are logarithmic."
    )
    return alone("predicted", f"Expected and measured, {exact(len(networks))} networks", meaning, panel)


def _rows(networks: Sequence[NetworkTime]) -> Iterator[Datum]:
    for one in networks:
        for kind, value in ((_EXPECTED, one.left_out_s), (_FLOOR, one.floor_s)):
            if value:
                yield {
                    "network": title_line(one.name),
                    "runtime": title_line(one.runtime),
                    "kind": kind,
                    "measured": one.measured_s,
                    "seconds": value,
                    "took": time(one.measured_s),
                    "said": time(value),
                    "off": off(value / one.measured_s - 1),
                }


def _drawing() -> Any:
    x = altair.X(
        "measured:Q",
        title="measured, seconds",
        scale=altair.Scale(type="log", nice=False, padding=_EDGE),
        axis=logarithmic("s"),
    )
    y = altair.Y(
        "seconds:Q",
        title="seconds",
        scale=altair.Scale(type="log", nice=False, padding=_EDGE),
        axis=logarithmic("s"),
    )
    line: Any = (
        altair.Chart(altair.NamedData("as_measured"))
        .mark_line(aria=False, color=PALETTE[2], strokeDash=[4, 4])
        .encode(x=x, y=y)
    )
    kinds = [_EXPECTED, _FLOOR]
    legend = altair.Legend(title=None, orient="bottom")
    points = (
        altair.Chart(altair.NamedData("predicted"))
        .mark_point(aria=False, filled=True, size=80, opacity=0.9)
        .encode(
            x=x,
            y=y,
            color=altair.Color("kind:N", scale=altair.Scale(domain=kinds, range=list(PALETTE[:2])), legend=legend),
            shape=altair.Shape("kind:N", scale=altair.Scale(domain=kinds, range=list(_SHAPES)), legend=legend),
            tooltip=[altair.Tooltip(f"{name}:N") for name in ("network", "runtime", "kind", "took", "said", "off")],
        )
    )
    return (line + points).properties(width=WIDTH, height=_HEIGHT)

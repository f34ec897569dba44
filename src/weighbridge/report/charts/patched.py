"""The patches of a stage as they lie on the inputs of a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import altair

from weighbridge.operators.halo import Span
from weighbridge.patches.plan import Patch
from weighbridge.report.charts.drawn import alone
from weighbridge.report.charts.layers import MOST
from weighbridge.report.charts.panel import Chart, Datum, Panel
from weighbridge.report.charts.theme import ACCENT, PALETTE, WIDTH
from weighbridge.report.patch_map import PatchMap, from_to, place_of

__all__ = ["patches_chart"]

_HIGHEST: Final = 460
_LOWEST: Final = 60
"""In pixels, whatever the shape of the input is."""
_FAINT: Final = 0.22
"""Two above each other are stronger, so that what is read more often stands out."""
_MEANING: Final = (
    "What each patch reads of the input of the network; where several overlap the colour is stronger. "
    "The patch in which most is alive has a strong edge."
)


def patches_chart(maps: Sequence[PatchMap], patches: Sequence[Patch], policy: str) -> Chart | None:
    """A rectangle a patch on each input; None where there is no map."""
    if not maps:
        return None
    datasets = {f"patches_{place}": tuple(_rows(one, patches, policy)) for place, one in enumerate(maps)}
    panels = [_panel(f"patches_{place}", one) for place, one in enumerate(maps)]
    count = len(patches)
    notes = (f"drawn are the first {MOST:,} of {count:,} patches, and the largest; the JSON has all",) * (count > MOST)
    description = "; ".join(f"{one.title}: {one.said}" for one in maps)
    panel = Panel(altair.vconcat(*panels), datasets, description, notes)
    return alone("patches", "The patches on the input", _MEANING, panel)


def _rows(drawn: PatchMap, patches: Sequence[Patch], policy: str) -> Iterator[Datum]:
    for place, (patch, (down, across)) in enumerate(zip(patches, drawn.boxes, strict=True)):
        if (place < MOST or place == drawn.largest) and down.size and across.size:
            yield {
                "patch": place_of(place, drawn.grid),
                "rows": from_to(down),
                "columns": from_to(across),
                "result": f"{from_to(patch.rows)}, {from_to(patch.columns)}",
                "macs": patch.macs,
                "alive_bytes": patch.peak_bytes[policy],
                "is_largest": place == drawn.largest,
                **_edges(down, across),
            }


def _edges(down: Span, across: Span) -> Datum:
    return {"top": down.start, "bottom": down.stop, "left": across.start, "right": across.stop}


def _panel(name: str, drawn: PatchMap) -> Any:
    wide = min(WIDTH, round(_HIGHEST * drawn.columns / drawn.rows))
    wide = max(_LOWEST, wide)
    high = max(_LOWEST, min(_HIGHEST, round(wide * drawn.rows / drawn.columns)))
    is_whole = altair.Axis(tickMinStep=1, format=",d", grid=False)
    x = altair.X("left:Q", title="column", axis=is_whole, scale=_scale(drawn.columns))
    y = altair.Y("top:Q", title="row", axis=is_whole, scale=_scale(drawn.rows, reverse=True))
    tips = [
        altair.Tooltip("patch:N", title="patch (row, column)"),
        altair.Tooltip("rows:N", title="rows read"),
        altair.Tooltip("columns:N", title="columns read"),
        altair.Tooltip("result:N", title="of the result, rows and columns"),
        altair.Tooltip("macs:Q", title="MACs", format=","),
        altair.Tooltip("alive_bytes:Q", title="bytes alive, without input and result", format=","),
    ]
    every = (
        altair.Chart(altair.NamedData(name))
        .mark_rect(aria=False, fill=PALETTE[0], fillOpacity=_FAINT, stroke=PALETTE[0], strokeWidth=1)
        .encode(x=x, x2="right:Q", y=y, y2="bottom:Q", tooltip=tips)
    )
    largest = (
        altair.Chart(altair.NamedData(name))
        .transform_filter("datum.is_largest")
        .mark_rect(aria=False, fillOpacity=0, stroke=ACCENT, strokeWidth=2.5)
        .encode(x=x, x2="right:Q", y=y, y2="bottom:Q", tooltip=tips)
    )
    title = altair.TitleParams(drawn.title, limit=WIDTH)
    return altair.layer(every, largest).properties(width=wide, height=high, title=title)


def _scale(size: int, **more: Any) -> Any:
    return altair.Scale(domain=[0, size], nice=False, zero=False, **more)

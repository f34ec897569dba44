"""What charts with a mark a layer share: the rows, the axis, and which layers there is room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import altair

from weighbridge.counts import NodeFacts
from weighbridge.errors import printable
from weighbridge.report.charts.panel import IS_PICKED, Datum, Subject, key

__all__ = ["MOST", "NAMED", "layer_axis", "most", "picked_opacity", "rows"]

MOST: Final = 2000
"""So many marks a panel has at most: a browser draws more, but nobody sees them."""
NAMED: Final = 30
"""Up to so many layers stand under their names, more under their numbers."""


def rows(
    subject: Subject, values: Callable[[int, NodeFacts], Datum], places: Sequence[int] | None = None
) -> tuple[Datum, ...]:
    """A row for each layer, or for those at ``places``: its key, its number from 1 on, its name, its operator, its ``values``."""
    nodes = subject.report.nodes
    return tuple(
        {
            "key": key(subject.place, place),
            "layer": place + 1,
            "name": printable(nodes[place].name, 80),
            "operator": printable(nodes[place].operator, 40),
            **values(place, nodes[place]),
        }
        for place in (range(len(nodes)) if places is None else places)
    )


def most(sizes: Sequence[float | None]) -> tuple[list[int], str | None]:
    """The places of the largest ``sizes`` in their order, and a note where that is not all of them."""
    if len(sizes) <= MOST:
        return list(range(len(sizes))), None
    ranked = sorted(range(len(sizes)), key=lambda place: -(sizes[place] or 0))[:MOST]
    return sorted(ranked), f"drawn are the {MOST:,} largest of {len(sizes):,} layers; the table has all"


def layer_axis(subject: Subject) -> altair.X:
    """The layers in the order in which they run: under their names where these have room, else by number."""
    if len(subject.report.nodes) <= NAMED:
        axis: Any = altair.Axis(labelAngle=-90, labelLimit=140, labelOverlap=False)
        return altair.X("name:N", sort=None, title="layer", axis=axis)
    return altair.X(
        "layer:Q", title="layer, in the order in which they run", scale=altair.Scale(zero=False, nice=False)
    )


def picked_opacity() -> Any:
    """Full where the layer is picked or none is, else faint."""
    return altair.condition(IS_PICKED, altair.value(1), altair.value(0.15))

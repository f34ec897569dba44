"""What charts with a mark a layer share: the rows, the axis, and which layers there is room for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import altair

from weighbridge.counts import NodeFacts
from weighbridge.errors import printable
from weighbridge.report.charts.panel import IS_PICKED, Datum, Subject, key
from weighbridge.report.charts.theme import MUTED, WIDTH
from weighbridge.report.record import told_apart

__all__ = [
    "MOST",
    "NAMED",
    "layer_axis",
    "layer_width",
    "most",
    "name_axis",
    "number_axis",
    "picked_opacity",
    "rows",
    "thinned",
    "unknown_bars",
    "width_of",
]

MOST: Final = 2000
"""So many marks a panel has at most: a browser draws more, but nobody sees them."""
NAMED: Final = 30
"""Up to so many layers stand under their names, more under their numbers."""
_SHOWN: Final = 24
"""Up to so many characters of a name stand below a layer."""
_ENDS: Final = f"length(datum.label) > {_SHOWN} ? '…' + slice(datum.label, {1 - _SHOWN}) : datum.label"
"""The end of a long name: names of one file begin alike, with the modules that they stand in."""
_STRETCHES: Final = 500
"""Into so many stretches the layers are divided where there are more than ``MOST``."""
_UNKNOWN: Final = 0.4
"""How strong a bar is that stands for an unknown figure."""
_BETWEEN: Final = 0.85
"""The part of its room that a bar takes."""


def rows(
    subject: Subject, values: Callable[[int, NodeFacts], Datum], places: Sequence[int] | None = None
) -> tuple[Datum, ...]:
    """A row for each layer, or for those at ``places``: its key, its number from 1 on, its name, its operator, its ``values``.

    Where layers stand under their names, two of one name are told apart.
    """
    nodes = subject.report.nodes
    places = range(len(nodes)) if places is None else places
    names = _axis_names(subject) if len(nodes) <= NAMED else [printable(node.name, 80) for node in nodes]
    return tuple(
        {
            "key": key(subject.place, place),
            "layer": place + 1,
            "name": names[place],
            "operator": printable(nodes[place].operator, 40),
            **values(place, nodes[place]),
        }
        for place in places
    )


def most(sizes: Sequence[float | None]) -> tuple[list[int], str | None]:
    """The places of the largest ``sizes`` in their order, and a note where that is not all of them."""
    if len(sizes) <= MOST:
        return list(range(len(sizes))), None
    ranked = sorted(range(len(sizes)), key=lambda place: -(sizes[place] or 0))[:MOST]
    return sorted(ranked), f"drawn are the {MOST:,} largest of {len(sizes):,} layers; the table has all"


def thinned(columns: Sequence[Sequence[float | None]], kept: Collection[int] = ()) -> tuple[list[int], str | None]:
    """The places that show the outline of ``columns``, which have an entry a layer, and a note where that is not all of them.

    Of each stretch of layers they are the largest in every column and the first that is unknown in it; those ``kept`` are
    there in any case.
    """
    length = len(columns[0])
    if length <= MOST:
        return list(range(length)), None
    found = {*kept, *(place for column in columns for place in _outline(column))}
    return sorted(found), (
        f"drawn are the largest of each stretch of {-(-length // _STRETCHES):,} among {length:,} layers; the table has all"
    )


def _outline(column: Sequence[float | None]) -> Iterator[int]:
    stretch = -(-len(column) // _STRETCHES)
    for start in range(0, len(column), stretch):
        places = range(start, min(start + stretch, len(column)))
        known = [(size, -place) for place in places if (size := column[place]) is not None]
        if known:
            yield -max(known)[1]
        if len(known) < len(places):
            yield next(place for place in places if column[place] is None)


def layer_axis(subject: Subject, *, is_labelled: bool = True) -> altair.X:
    """The layers in the order in which they run: under their names where these have room, else by number.

    Without labels it is that of a panel above another that has them.
    """
    count = len(subject.report.nodes)
    if count <= NAMED:
        return name_axis(_axis_names(subject), is_labelled=is_labelled)
    return number_axis(count, is_labelled=is_labelled)


def name_axis(names: Sequence[str], *, is_labelled: bool = True) -> altair.X:
    """Layers under their ``names``, which are different."""
    axis = altair.Axis(labelAngle=-90, labelExpr=_ENDS, labelLimit=140, labelOverlap=False, grid=False)
    shown: Any = axis if is_labelled else None
    return altair.X("name:N", sort=None, title="layer", axis=shown, scale=altair.Scale(domain=list(names)))


def number_axis(count: int, *, is_labelled: bool = True) -> altair.X:
    """So many layers by their number."""
    axis: Any = altair.Axis(tickMinStep=1, format=",d", grid=False) if is_labelled else None
    scale = altair.Scale(domain=[0.5, count + 0.5], nice=False, zero=False)
    return altair.X("layer:Q", title="layer, in the order in which they run", axis=axis, scale=scale)


def layer_width(subject: Subject) -> float:
    """The width of a bar, in pixels: the room of a layer, or of a stretch where there are many."""
    return width_of(len(subject.report.nodes))


def width_of(count: int) -> float:
    """That of a bar among so many layers."""
    room = WIDTH / (count if 0 < count <= MOST else _STRETCHES)
    return round(max(1.0, _BETWEEN * room), 2)


def unknown_bars(subject: Subject, name: str, field: str, height: int, **channels: Any) -> Any:
    """A grey bar as high as the panel, which is ``height``, for each layer of the dataset ``name`` whose ``field`` is not known.

    ``channels`` are those of the known bars that it lies beside, without ``y``.
    """
    return (
        altair.Chart(altair.NamedData(name))
        .transform_filter(f"datum.{field} === null")
        .mark_bar(aria=False, orient="vertical", size=layer_width(subject), color=MUTED, fillOpacity=_UNKNOWN)
        .encode(y=altair.value(0), y2=altair.value(height), **channels)
    )


def _axis_names(subject: Subject) -> list[str]:
    return list(told_apart(printable(node.name, 80) for node in subject.report.nodes))


def picked_opacity() -> Any:
    """Full where the layer is picked or none is, else faint."""
    return altair.condition(IS_PICKED, altair.value(1), altair.value(0.15))

"""The layers of a network under the roofs of a device: how often each uses a byte, and how fast that lets it compute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import altair

from weighbridge.errors import printable
from weighbridge.report.charts.axes import logarithmic
from weighbridge.report.charts.layers import most, picked_opacity, rows
from weighbridge.report.charts.on_device import BOUNDS, bound, dataset, doubts, is_above_zero, many, rate_of, under
from weighbridge.report.charts.panel import Datum, NoPanel, Panel, Subject
from weighbridge.report.charts.theme import MUTED, PALETTE, WIDTH
from weighbridge.report.record import OnDevice
from weighbridge.units import decimal_bytes, short, significant

if TYPE_CHECKING:
    from weighbridge.estimates import NodeTime, Roofline, RoofPoint

__all__ = ["roofline"]

_HEIGHT: Final = 380
_MOST_ROOFS: Final = 12
"""So many roofs are drawn: more than a device has precisions, but a report can name any."""
_EDGE: Final = 8
"""Between the outermost dots and the frame, in pixels."""
_NETWORK, _RIDGE = "whole network, at its floor", "ridge point"
_MARKS: Final = {
    **{f"layer, {name}": (colour, "circle") for name, colour in BOUNDS.items()},
    _NETWORK: (PALETTE[2], "diamond"),
    _RIDGE: (MUTED, "triangle-up"),
}
"""What a mark stands for, its colour and its shape."""


def roofline(subject: Subject) -> Panel | NoPanel:
    """A dot a layer over its operations per byte, the roofs with their ridges, and the network as a whole; both axes logarithmic."""
    on = subject.on
    assert on is not None
    if on.nodes is None or on.roofline is None:
        return NoPanel("the report has no roofs and no times of single layers; weigh the network again")
    places = [place for place, one in enumerate(on.nodes) if _is_under(one)]
    whole = _whole(on)
    if not places and not whole:
        return NoPanel("no layer has MACs and a time that is known")
    kept, note = most([on.nodes[place].attained_ops_per_s for place in places])
    data = {
        "roofs": tuple(_corners(on.roofline)),
        "layers": rows(subject, _layer(on.nodes), [places[place] for place in kept]),
        "points": (*whole, *_ridges(on.roofline)),
    }
    parts = {part: (dataset(f"roofline_{part}", subject), found) for part, found in data.items() if found}
    return Panel(
        _drawing(parts).properties(title=under(on, *_said(on)), width=WIDTH, height=_HEIGHT),
        dict(parts.values()),
        "; ".join((*_said(on), *_fastest(on.nodes, places))),
        (*_notes(on, on.nodes, on.roofline), *((note,) if note else ())),
    )


def _is_under(one: NodeTime) -> bool:
    return is_above_zero(one.attained_ops_per_s) and is_above_zero(one.intensity_ops_per_byte)


def _layer(times: Sequence[NodeTime]) -> Any:
    def values(place: int, _: object) -> Datum:
        one = times[place]
        return {
            "intensity": one.intensity_ops_per_byte,
            "rate": one.attained_ops_per_s,
            "mark": f"layer, {bound(one.bound)}",
            "precision": printable(one.precision or "unknown", 40),
        }

    return values


def _whole(on: OnDevice) -> tuple[Datum, ...]:
    intensity, rate = on.latency.intensity_ops_per_byte, on.latency.attainable_ops_per_s
    if not is_above_zero(intensity) or not is_above_zero(rate):
        return ()
    return ({"mark": _NETWORK, "intensity": intensity, "rate": rate, "of": bound(on.latency.bound)},)


def _ridges(found: Roofline) -> Iterator[Datum]:
    """The corners of the roofs, which are between their ends."""
    for roof in found.roofs[:_MOST_ROOFS]:
        for point in filter(_has_place, roof.points[1:-1]):
            of = printable(f"{roof.precision}, {roof.unit}", 80)
            yield {"mark": _RIDGE, "intensity": point.intensity_ops_per_byte, "rate": point.ops_per_s, "of": of}


def _corners(found: Roofline) -> Iterator[Datum]:
    for roof in found.roofs[:_MOST_ROOFS]:
        name = printable(f"roof at {roof.precision}, {roof.unit}", 80)
        for point in filter(_has_place, roof.points):
            yield {"roof": name, "intensity": point.intensity_ops_per_byte, "rate": point.ops_per_s}


def _has_place(point: RoofPoint) -> bool:
    return is_above_zero(point.intensity_ops_per_byte) and is_above_zero(point.ops_per_s)


def _drawing(parts: Mapping[str, tuple[str, tuple[Datum, ...]]]) -> Any:
    """Those of the ``roofs``, the ``layers`` over them and the ``points`` over these that have rows."""
    draw = {"roofs": _roofs, "layers": _dots, "points": _points}
    drawn = [draw[part](altair.Chart(altair.NamedData(name)), found) for part, (name, found) in parts.items()]
    return drawn[0] if len(drawn) == 1 else altair.layer(*drawn)


def _at() -> dict[str, Any]:
    """Where a mark stands."""
    x = altair.Scale(type="log", nice=False, padding=_EDGE)
    y = altair.Scale(type="log", nice=True, padding=_EDGE)
    return {
        "x": altair.X("intensity:Q", title="operational intensity (operations/byte)", scale=x, axis=logarithmic(None)),
        "y": altair.Y("rate:Q", title="rate (operations/s)", scale=y, axis=logarithmic()),
    }


def _looks() -> dict[str, Any]:
    """What a mark stands for, in one legend."""
    colours, shapes = ([look[place] for look in _MARKS.values()] for place in (0, 1))
    legend = altair.Legend(title=None, orient="bottom", columns=3)
    return {
        "color": altair.Color("mark:N", scale=altair.Scale(domain=list(_MARKS), range=colours), legend=legend),
        "shape": altair.Shape("mark:N", scale=altair.Scale(domain=list(_MARKS), range=shapes), legend=legend),
    }


def _figures() -> list[Any]:
    return [
        altair.Tooltip("intensity:Q", title="operations/byte", format=",.4~g"),
        altair.Tooltip("rate:Q", title="operations/s", format=".4~s"),
    ]


def _roofs(base: altair.Chart, found: Sequence[Datum]) -> Any:
    """Lines, which are told apart where there are several."""
    drawn: Any = base.mark_line(aria=False, color=MUTED, strokeWidth=2).encode(**_at(), detail="roof:N")
    if len({row["roof"] for row in found}) > 1:
        legend = altair.Legend(title=None, orient="bottom", symbolType="stroke")
        drawn = drawn.encode(strokeDash=altair.StrokeDash("roof:N", sort=None, legend=legend))
    return drawn


def _dots(base: altair.Chart, _: Sequence[Datum]) -> Any:
    tooltip = [
        altair.Tooltip("layer:Q", format=",d"),
        altair.Tooltip("name:N"),
        altair.Tooltip("operator:N"),
        *_figures(),
        altair.Tooltip("precision:N"),
        altair.Tooltip("mark:N", title="is"),
    ]
    drawn: Any = base.mark_point(aria=False, filled=True, size=70)
    return drawn.encode(**_at(), **_looks(), opacity=picked_opacity(), tooltip=tooltip)


def _points(base: altair.Chart, _: Sequence[Datum]) -> Any:
    tooltip = [altair.Tooltip("mark:N", title="is"), altair.Tooltip("of:N"), *_figures()]
    drawn: Any = base.mark_point(aria=False, filled=True, size=220, opacity=1)
    return drawn.encode(**_at(), **_looks(), tooltip=tooltip)


def _said(on: OnDevice) -> Iterator[str]:
    """The figures of the roofs, and where the network lies under them."""
    found = on.roofline
    assert found is not None
    for roof in found.roofs[:_MOST_ROOFS]:
        ridge = "" if roof.ridge_ops_per_byte is None else f", ridge at {significant(roof.ridge_ops_per_byte)}"
        peak = f"{short(roof.ops_per_s)} operations/s at {printable(roof.precision, 40)}"
        yield f"flat roof {peak}{ridge} operations/byte" if ridge else f"flat roof {peak}"
    if found.bandwidth_bytes_per_s is not None:
        yield f"slanted roof {decimal_bytes(found.bandwidth_bytes_per_s)}/s of {_memories(found)}"
    intensity, rate = on.latency.intensity_ops_per_byte, on.latency.attainable_ops_per_s
    if is_above_zero(intensity) and is_above_zero(rate):
        at_most = f"at most {rate_of(rate)} operations/s"
        yield f"whole network {significant(intensity)} operations/byte, {at_most}, {bound(on.latency.bound)}"


def _memories(found: Roofline) -> str:
    return printable(" and ".join(found.memories), 120)


def _fastest(times: Sequence[NodeTime], places: Sequence[int]) -> Iterator[str]:
    if places:
        fastest, slowest = (
            choose((times[place] for place in places), key=lambda one: one.attained_ops_per_s or 0)
            for choose in (max, min)
        )
        for word, one in (("fastest", fastest), ("slowest", slowest)):
            yield f"{word} layer {printable(one.name, 80)} with {rate_of(one.attained_ops_per_s or 0)} operations/s"


def _notes(on: OnDevice, times: Sequence[NodeTime], found: Roofline) -> Iterator[str]:
    yield from _left_out(times)
    if not on.latency.exact and _whole(on):
        yield "the whole network is drawn where the part of it lies that is counted"
    if len(found.memories) > 1 and found.bandwidth_bytes_per_s is not None:
        yield (
            f"the slanted roof is that of {_memories(found)} working at once; a layer below it waits for one of them, and the "
            "network's own ridge lies further right"
        )
    if found.memories and found.bandwidth_bytes_per_s is None:
        yield f"there is no slanted roof, as not every bandwidth of {_memories(found)} is known"
    if len(found.roofs) > _MOST_ROOFS:
        yield f"drawn are the first {_MOST_ROOFS} of {len(found.roofs):,} roofs"
    if len(found.roofs) > 1:
        yield "layers compute at several precisions, and each has a flat roof of its own"
    yield from doubts(on)


def _left_out(times: Sequence[NodeTime]) -> Iterator[str]:
    without = [one for one in times if not _is_under(one)]
    idle = sum(one.compute_s == 0 for one in without)
    unknown = len(without) - idle
    if idle:
        yield f"not drawn: {many(idle)} without MACs, which a logarithmic axis has no place for"
    if unknown:
        yield f"not drawn: {many(unknown)} of unknown MACs, bytes or time"
    least = sum(_is_under(one) and not one.exact for one in times)
    if least:
        yield f"{many(least)} drawn where the part lies that is counted"

"""Which part of an image a part of a resized one is made of.

A place of the result stands for a position in x, by the attribute ``coordinates``: of place i of an axis that goes from n to m elements,
``half_pixel`` (i + 1/2) n / m - 1/2, and ``pytorch_half_pixel`` the same, or 0 where m is 1; ``asymmetric`` i n / m;
``tf_half_pixel_for_nn`` (i + 1/2) n / m; ``align_corners`` i (n - 1) / (m - 1).  Where scales are given, 1 / scale is in the place of
n / m.  Positions are exact here.  ``rounding`` says which neighbour is the nearest.  Places beyond the border are those at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape
from weighbridge.named_tuple import NamedTuple

from .halo import Box, Needs, Span
from .record import Call
from .rules import axes_of, known

__all__ = ["part_shape", "resize_halo", "resize_parted", "resized_axes"]

_HALF: Final = Fraction(1, 2)


class _Axis(NamedTuple):
    """One that is resized: from ``old`` to ``new`` elements, ``ratio`` elements of x an element of the result."""

    old: int
    new: int
    ratio: Fraction


_POSITIONS: Final[Mapping[str, Callable[[_Axis, int], Fraction]]] = {
    "half_pixel": lambda axis, place: (place + _HALF) * axis.ratio - _HALF,
    "pytorch_half_pixel": lambda axis, place: (place + _HALF) * axis.ratio - _HALF if axis.new > 1 else Fraction(0),
    "asymmetric": lambda axis, place: place * axis.ratio,
    "tf_half_pixel_for_nn": lambda axis, place: (place + _HALF) * axis.ratio,
    "align_corners": lambda axis, place: (
        Fraction(place * (axis.old - 1), axis.new - 1) if axis.new > 1 else Fraction(0)
    ),
}
_ROUNDINGS: Final[Mapping[str, Callable[[Fraction], int]]] = {
    "floor": floor,
    "ceil": ceil,
    "round_prefer_floor": lambda position: ceil(position - _HALF),
    "round_prefer_ceil": lambda position: floor(position + _HALF),
}


def _axes(call: Call) -> Mapping[int, _Axis]:
    """The axes that are resized, even to as many elements."""
    scales, found = call["scales"], {}
    for place, axis in enumerate(axes_of(call, len(call.x.shape))):
        old, new = call.x.shape[axis], call.outputs[0].shape[axis]
        scale = scales[place] if isinstance(scales, tuple) else None
        ratio = 1 / Fraction(scale) if isinstance(scale, int | float) and scale > 0 else Fraction(old, max(new, 1))
        if old != new or ratio != 1:
            found[axis] = _Axis(old, new, ratio)
    return found


def resize_halo(call: Call, box: Box) -> Needs | None:
    """What is interpolated between; all with antialiasing, one scale for all axes, or coordinates that are not those above."""
    if not known(call, "sizes", "scales", "axes") or call["policy"] != "stretch" or call["part_of"] != ():
        return None
    spans = list(box)
    for axis, resized in _axes(call).items():
        if box[axis] == (0, resized.new):
            spans[axis] = Span(0, resized.old)
            continue
        span = None if call["antialias"] and resized.new < resized.old else _read(call, resized, box[axis])
        if span is None:
            return None
        spans[axis] = span
    return {("x", 0): tuple(spans)}


def _read(call: Call, axis: _Axis, places: Span) -> Span | None:
    """The elements that are read for some places; within x for places of the result, so that a border is read where it lies."""
    at, rounded = _POSITIONS.get(call.text("coordinates")), _ROUNDINGS.get(call.text("rounding"))
    if at is None or rounded is None:
        return None
    first, last = at(axis, places.start), at(axis, places.stop - 1)
    if call["mode"] == "nearest":
        start, stop = rounded(first), rounded(last) + 1
    elif call["mode"] == "linear":
        start, stop = floor(first), ceil(last) + 1
    elif call["mode"] == "cubic":
        positions = [at(axis, place) for place in range(places.start, places.stop)]
        start = min(floor(one) - (one.denominator > 1) for one in positions)
        stop = max(ceil(one) + (one.denominator > 1) for one in positions) + 1
    else:
        return None
    if places.start >= 0 and places.stop <= axis.new:
        start, stop = min(max(start, 0), axis.old - 1), max(min(stop, axis.old), 1)
    return Span(start, stop)


def resize_parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """Where the part lies: for each axis the elements of x and of the result, the first that is there, and the first that is made."""
    axes = axes_of(call, len(call.x.shape))
    lies = [
        (call.x.shape[axis], call.outputs[0].shape[axis], there["x", 0][axis].start, box[axis].start, box[axis].size)
        for axis in axes
    ]
    return {"axes": axes, "part_of": tuple(number for one in lies for number in one)}


def part_shape(call: Call, axes: tuple[int, ...]) -> Shape:
    """The shape of a part of a resized image.  Raises ``GraphError`` unless five numbers for each axis say where it lies."""
    lies = call.integers("part_of")
    if len(lies) != 5 * len(axes) or min(lies, default=0) < 0:
        raise GraphError(f"{lies} do not say where a part of an image lies along {len(axes)} axes")
    sizes = dict(zip(axes, lies[4::5], strict=True))
    return tuple(sizes.get(axis, size) for axis, size in enumerate(call.x.shape))


def resized_axes(call: Call) -> list[tuple[int, int]]:
    """(elements of x, elements of the result) of each axis; of a part those of the whole."""
    sizes = list(zip(call.x.shape, call.outputs[0].shape, strict=True))
    lies = call.integers("part_of") if call["part_of"] != () else ()
    for place, axis in enumerate(axes_of(call, len(sizes)) if lies else ()):
        sizes[axis] = lies[5 * place], lies[5 * place + 1]
    return sizes

"""Which part of its operands an operator needs for a part of its result: the halo of a window, and what elementwise functions need.

A part is a box: from where to where along each axis of a tensor.  A rule gives the box of every operand of which a part is enough, as
its windows have it, beyond the borders of the operand where they reach beyond: there is padding.  Whoever asks cuts the boxes off at
the borders, and a second rule says which attributes a call on what is there has, so that it computes just that part of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from weighbridge.graph import Attribute, Shape
from weighbridge.named_tuple import NamedTuple

if TYPE_CHECKING:
    from .record import Call

__all__ = [
    "Box",
    "Needs",
    "Slot",
    "Span",
    "as_it_is",
    "everywhere",
    "is_whole",
    "needs_all",
    "no_halo",
    "nothing_differs",
    "of_x",
    "padding_between",
    "stretched",
    "under_windows",
    "whole",
]


class Span(NamedTuple):
    """From ``start`` on, ``stop`` not included."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    def around(self, other: Span) -> Span:
        """The smallest span that has both in it; of nothing and a span, that."""
        if not self.size or not other.size:
            return self if self.size else other
        return Span(min(self.start, other.start), max(self.stop, other.stop))

    def within(self, size: int) -> Span:
        """What of it lies in a dimension of ``size``: nothing, at the end that is nearer, of what lies outside."""
        if self.stop <= 0:
            return Span(self.stop, self.stop)
        if self.start >= size:
            return Span(self.start, self.start)
        return Span(max(self.start, 0), min(self.stop, size))

    def moved(self, by: int) -> Span:
        return Span(self.start + by, self.stop + by)


Box = tuple[Span, ...]
"""A span for each axis of a tensor."""
Slot = tuple[str, int]
"""An operand by its name, and which of that name where it is variadic."""
Needs = Mapping[Slot, Box]
"""Of which operands a part is enough, and which part; all others are needed whole."""


def whole(shape: Shape) -> Box:
    """All of a tensor."""
    return tuple(Span(0, size) for size in shape)


def everywhere(call: Call, box: Box) -> Needs:
    """Every operand where the result is, by numpy's broadcasting."""
    return {
        (name, place): stretched(kind.shape, box)
        for name, kinds in call.operands.items()
        for place, kind in enumerate(kinds)
        if len(kind.shape) <= len(box)
    }


def of_x(call: Call, box: Box) -> Needs:
    """Operand x where the result is."""
    return {("x", 0): box}


def needs_all(call: Call, box: Box) -> Needs | None:
    """All of the operands."""
    return None


def no_halo(call: Call, box: Box) -> Needs | None:
    """None: nobody knows.  It takes from an operator the rule of its kind."""
    return None


def as_it_is(call: Call, box: Box) -> Box:
    """Any part of the result can be made by itself."""
    return box


def is_whole(box: Box, shape: Shape) -> bool:
    """Whether a box is all of a tensor."""
    return box == whole(shape)


def stretched(shape: Shape, box: Box) -> Box:
    """The box of an operand of ``shape`` that is stretched, by numpy's broadcasting, to ``box`` of the result."""
    spans = box[len(box) - len(shape) :]
    return tuple(Span(0, 1) if size == 1 else span for size, span in zip(shape, spans, strict=True))


def under_windows(
    box: Box, axes: range, kernel: Shape, stride: Shape, dilation: Shape, padding: tuple[tuple[int, int], ...]
) -> Box:
    """What lies under the windows of a part of their results: along the spatial ``axes``; all others stay."""
    spans = list(box)
    for axis, k, s, d, (before, _) in zip(axes, kernel, stride, dilation, padding, strict=True):
        start, stop = box[axis]
        spans[axis] = Span(start * s - before, (stop - 1) * s - before + d * (k - 1) + 1)
    return tuple(spans)


def padding_between(axes: range, needed: Box, there: Box) -> tuple[int, ...]:
    """The attribute ``padding`` of windows that need a box of which less is there: all the befores, then all the afters."""
    pairs = [(needed[axis], there[axis]) for axis in axes]
    return (*(have.start - want.start for want, have in pairs), *(want.stop - have.stop for want, have in pairs))


def nothing_differs(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """The attributes of a call for a part are those of the call for all."""
    return {}

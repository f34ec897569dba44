"""Segments: elements that belong together.  Neighbouring ones end where the values say; others have the number of theirs."""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .gathering import COMBINED
from .record import REQUIRED, Call, Kind, Op, Work
from .rules import INT64, known, sizes_of

__all__ = ["SEGMENT_OPERATORS"]


def _sum(call: Call) -> tuple[DType, ...]:
    if len(call.segments.shape) != 1 or call.x.shape[:1] != call.segments.shape:
        raise GraphError(f"segments of shape {call.segments.shape} for a tensor of shape {call.x.shape}")
    return (call.x.dtype,)


def _sum_work(call: Call) -> Work:
    """1 add an element."""
    return Work(add=call.x.elements)


def _combined(call: Call) -> tuple[TensorType | DType, ...]:
    """``count`` segments; every element over the first axes of x has the number of its own."""
    shape, segments = call.x.shape, call.segments.shape
    if shape[: len(segments)] != segments:
        raise GraphError(f"segments of shape {segments} for a tensor of shape {shape}")
    if not known(call, "count"):
        return (call.x.dtype,)
    count = sizes_of(call, "count")
    if len(count) != 1:
        raise GraphError(f"count is one number, not {call['count']!r}")
    return (TensorType((*count, *shape[len(segments) :]), call.x.dtype),)


def _combined_work(call: Call) -> Work:
    """1 add, 1 mul or 1 compare an element, by the reduction."""
    unit = COMBINED.get(call.text("reduction"))
    if unit is None or call["reduction"] == "none":
        raise GraphError(f"segments have no reduction {call['reduction']!r}")
    return unit.times(call.x.elements)


def _found(call: Call) -> tuple[DType, ...]:
    """Where each segment begins and ends, and its value."""
    if len(call.x.shape) != 1:
        raise GraphError(f"segments lie in a row, not in a tensor of shape {call.x.shape}")
    return INT64, INT64


def _found_work(call: Call) -> Work:
    """1 compare an element."""
    return Work(compare=call.x.elements)


SEGMENT_OPERATORS: Final = (
    Op("segment_sum", Kind.REDUCTION, "x segments:control", _sum, _sum_work, summary="the sum of each segment"),
    Op(
        "unsorted_segments",
        Kind.REDUCTION,
        "x segments:control count:control?",
        _combined,
        _combined_work,
        attributes={"count": REQUIRED, "reduction": "add"},
        summary="the sum, product, largest or smallest of each of so many segments",
    ),
    Op(
        "segments",
        Kind.INDEX,
        "x",
        _found,
        _found_work,
        summary="the segments of one value other than 0: where they lie, and their values",
    ),
)

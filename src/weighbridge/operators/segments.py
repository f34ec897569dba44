"""Segments: neighbouring elements that belong together.  How many there are only the values say."""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError

from .record import Call, Kind, Op, Work
from .rules import INT64

__all__ = ["SEGMENT_OPERATORS"]


def _sum(call: Call) -> tuple[DType, ...]:
    if len(call.segments.shape) != 1 or call.x.shape[:1] != call.segments.shape:
        raise GraphError(f"segments of shape {call.segments.shape} for a tensor of shape {call.x.shape}")
    return (call.x.dtype,)


def _sum_work(call: Call) -> Work:
    """1 add an element."""
    return Work(add=call.x.elements)


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
        "segments",
        Kind.INDEX,
        "x",
        _found,
        _found_work,
        summary="the segments of one value other than 0: where they lie, and their values",
    ),
)

"""Sorting and selection, whose results often have a shape that only the values decide.

The work is a bound that holds for every input: the k largest of n take n (1 + the number of bits of k - 1) compares, as a heap
of k does; distinct values the compares of a merge sort, n times the bits of n - 1, and as many again to tell neighbours
apart.  Non-maximum suppression counts every pair of boxes of a class once, none suppressed early.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import REQUIRED, Call, Kind, Op, Work, nothing
from .rules import INT64, known, sizes_of
from .shapes import asked_outputs, axis_of

__all__ = ["SELECTION_OPERATORS"]


def _top_k(call: Call) -> tuple[TensorType | DType, ...]:
    if not known(call, "k"):
        return call.x.dtype, INT64
    k = sizes_of(call, "k")
    axis = axis_of(call.integer("axis"), len(call.x.shape))
    if len(k) != 1 or k[0] > call.x.shape[axis]:
        raise GraphError(f"the {call['k']!r} largest of {call.x.shape[axis]} elements")
    shape = call.x.shape[:axis] + k + call.x.shape[axis + 1 :]
    return TensorType(shape, call.x.dtype), TensorType(shape, INT64)


def _top_k_work(call: Call) -> Work:
    """At most 1 compare an element, and as many more as k - 1 has bits."""
    axis = axis_of(call.integer("axis"), len(call.x.shape))
    k = call.outputs[0].shape[axis]
    return Work(compare=call.x.elements * (1 + max(k - 1, 0).bit_length()) if k else 0)


def _non_zero(call: Call) -> tuple[DType, ...]:
    return (INT64,)


def _non_zero_work(call: Call) -> Work:
    """1 compare an element."""
    return Work(compare=call.x.elements)


def _compress(call: Call) -> tuple[DType, ...]:
    if len(call.condition.shape) != 1:
        raise GraphError(f"a condition of {len(call.condition.shape)} dimensions, not 1")
    if call["axis"] != "flat":
        axis_of(call.integer("axis"), len(call.x.shape))
    return (call.x.dtype,)


def _unique(call: Call) -> tuple[TensorType | DType, ...]:
    """Distinct values, where each first stood, and how often it did; ``inverse`` has a place for every position."""
    positions = call.x.elements
    if call["axis"] != "flat":
        positions = call.x.shape[axis_of(call.integer("axis"), len(call.x.shape))]
    inverse = TensorType((positions,), INT64)
    return asked_outputs(call, {"y": call.x.dtype, "indices": INT64, "inverse": inverse, "counts": INT64})


def _unique_work(call: Call) -> Work:
    """At most 1 compare an element, and as many more as n - 1 has bits."""
    return Work(compare=call.x.elements * (1 + max(call.x.elements - 1, 0).bit_length()))


def _check_boxes(call: Call) -> None:
    boxes, scores = call.boxes.shape, call.scores.shape
    if len(boxes) != 3 or len(scores) != 3 or boxes[2] != 4 or boxes[:2] != (scores[0], scores[2]):
        raise GraphError(
            f"boxes of shape {boxes} and scores of shape {scores}: batch x boxes x 4, batch x classes x boxes"
        )


def _non_max_suppression(call: Call) -> tuple[DType, ...]:
    _check_boxes(call)
    return (INT64,)


def _non_max_suppression_work(call: Call) -> Work:
    """An area 1 mul, 2 add a box; a pair 7 compare (corners, empty, threshold), 4 add, 1 mul, 1 div; a score 1 compare."""
    batch, classes, boxes = call.scores.shape
    pairs = batch * classes * (boxes * (boxes - 1) // 2)
    done = Work(add=4, mul=1, div=1, compare=7).times(pairs).plus(Work(add=2, mul=1).times(batch * boxes))
    return done.plus(Work(compare=call.scores.elements))


SELECTION_OPERATORS: Final = (
    Op(
        "top_k",
        Kind.INDEX,
        "x k:control?",
        _top_k,
        _top_k_work,
        attributes={"k": REQUIRED, "axis": -1, "largest": True, "sorted": True},
        summary="the k largest or smallest along an axis, and their positions",
    ),
    Op("non_zero", Kind.INDEX, "x", _non_zero, _non_zero_work, summary="the positions of all that is not 0"),
    Op(
        "compress",
        Kind.INDEX,
        "x condition:control",
        _compress,
        nothing,
        attributes={"axis": "flat"},
        summary="the slices for which a condition holds",
    ),
    Op(
        "unique",
        Kind.INDEX,
        "x",
        _unique,
        _unique_work,
        attributes={"axis": "flat", "sorted": True, "outputs": ("y",)},
        summary="distinct values, their positions, and how often each occurs",
    ),
    Op(
        "non_max_suppression",
        Kind.INDEX,
        "boxes scores count:control? overlap:control? threshold:control?",
        _non_max_suppression,
        _non_max_suppression_work,
        attributes={"box_format": "corners"},
        summary="boxes that no better box of their class overlaps too much",
    ),
)

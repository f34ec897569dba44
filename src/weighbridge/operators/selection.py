"""Sorting and selection, whose results often have a shape that only the values decide.

The work is a bound that holds for every input: the k largest of n take n (1 + the number of bits of k - 1) compares, as a heap
of k does, and the k-th smallest is the last of the k smallest; distinct values the compares of a merge sort, n times the bits of
n - 1, and as many again to tell neighbours apart.  A position among n sorted boundaries takes as many compares as n has bits, by
halving.  Non-maximum suppression counts every pair of boxes of a class once, none suppressed early.
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


def _kth_value(call: Call) -> tuple[TensorType, ...]:
    shape, k = call.x.shape, call.integer("k")
    axis = axis_of(call.integer("axis"), len(shape))
    if not 1 <= k <= shape[axis]:
        raise GraphError(f"the {k}-th smallest of {shape[axis]} elements")
    found = shape[:axis] + ((1,) if call["keep_dims"] else ()) + shape[axis + 1 :]
    return asked_outputs(call, {"y": TensorType(found, call.x.dtype), "indices": TensorType(found, INT64)})


def _kth_value_work(call: Call) -> Work:
    """At most 1 compare an element, and as many more as k - 1 has bits."""
    return Work(compare=call.x.elements * (1 + max(call.integer("k") - 1, 0).bit_length()))


def _search_sorted(call: Call) -> tuple[TensorType, ...]:
    boundaries, shape = call.boundaries.shape, call.x.shape
    if not boundaries or (len(boundaries) > 1 and boundaries[:-1] != shape[:-1]):
        raise GraphError(f"boundaries of shape {boundaries} for values of shape {shape}")
    return (TensorType(shape, INT64),)


def _search_sorted_work(call: Call) -> Work:
    """As many compares an element as the number of boundaries has bits."""
    return Work(compare=call.x.elements * call.boundaries.shape[-1].bit_length())


def _histogram(call: Call) -> tuple[TensorType | DType, ...]:
    """``bins`` counts; as many as the largest value asks for where it is ``"unknown"``."""
    if not known(call, "bins"):
        return (call.x.dtype,)
    bins = sizes_of(call, "bins")
    if len(bins) != 1:
        raise GraphError(f"bins is one number, not {call['bins']!r}")
    return (TensorType(bins, call.x.dtype),)


def _histogram_work(call: Call) -> Work:
    """2 add, 1 mul, 2 compare an element: its bin, by the range of the values, and one more in there."""
    return Work(add=2, mul=1, compare=2).times(call.x.elements)


def _bin_count_work(call: Call) -> Work:
    """1 add an element."""
    return Work(add=call.x.elements)


def _bin_count(call: Call) -> tuple[DType, ...]:
    return (call.weights.dtype if call.has("weights") else INT64,)


def _repeated_positions(call: Call) -> tuple[DType, ...]:
    if len(call.repeats.shape) != 1:
        raise GraphError(f"repeats of {len(call.repeats.shape)} dimensions, not 1")
    return (INT64,)


def _repeated_positions_work(call: Call) -> Work:
    """1 add a position: where its repetitions begin."""
    return Work(add=call.repeats.elements)


def _barred_repeats(call: Call) -> tuple[TensorType, ...]:
    """ids: batch, positions; scores: batch, words."""
    if len(call.ids.shape) != 2 or len(call.scores.shape) != 2 or call.ids.shape[0] != call.scores.shape[0]:
        raise GraphError(f"scores of shape {call.scores.shape} for words of shape {call.ids.shape}")
    if call.integer("size") < 1:
        raise GraphError(f"runs of {call['size']} words")
    return (call.scores,)


def _barred_repeats_work(call: Call) -> Work:
    """``size`` - 1 compare a run of ``size`` words."""
    batch, positions = call.ids.shape
    size = call.integer("size")
    return Work(compare=batch * max(positions - size + 1, 0) * (size - 1))


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
    if len(boxes) == 2 and boxes == (*scores, 4):
        return
    if len(boxes) != 3 or len(scores) != 3 or boxes[2] != 4 or boxes[:2] != (scores[0], scores[2]):
        raise GraphError(
            f"boxes of shape {boxes} and scores of shape {scores}: batch x boxes x 4 and batch x classes x boxes, "
            "or boxes x 4 and boxes"
        )


def _non_max_suppression(call: Call) -> tuple[DType, ...]:
    _check_boxes(call)
    return (INT64,)


def _non_max_suppression_work(call: Call) -> Work:
    """An area 1 mul, 2 add a box; a pair 7 compare (corners, empty, threshold), 4 add, 1 mul, 1 div; a score 1 compare."""
    batch, classes, boxes = (1, 1, *call.scores.shape)[-3:]
    pairs = batch * classes * (boxes * (boxes - 1) // 2)
    done = Work(add=4, mul=1, div=1, compare=7).times(pairs).plus(Work(add=2, mul=1).times(batch * boxes))
    return done.plus(Work(compare=call.scores.elements))


SELECTION_OPERATORS: Final = (
    Op(
        "barred_repeats",
        Kind.INDEX,
        "ids:control scores",
        _barred_repeats,
        _barred_repeats_work,
        attributes={"size": REQUIRED},
        summary="scores of words, those barred that would repeat a run of ``size`` words",
    ),
    Op(
        "top_k",
        Kind.INDEX,
        "x k:control?",
        _top_k,
        _top_k_work,
        attributes={"k": REQUIRED, "axis": -1, "largest": True, "sorted": True},
        summary="the k largest or smallest along an axis, and their positions",
    ),
    Op(
        "kth_value",
        Kind.INDEX,
        "x",
        _kth_value,
        _kth_value_work,
        attributes={"k": REQUIRED, "axis": -1, "keep_dims": False, "outputs": ("y",)},
        summary="the k-th smallest along an axis, such as the median, and where asked for its position",
    ),
    Op(
        "search_sorted",
        Kind.INDEX,
        "x boundaries",
        _search_sorted,
        _search_sorted_work,
        summary="where values belong among sorted boundaries",
    ),
    Op(
        "histogram",
        Kind.INDEX,
        "x",
        _histogram,
        _histogram_work,
        attributes={"bins": REQUIRED},
        summary="how many values lie in each of so many equal ranges",
    ),
    Op(
        "bin_count",
        Kind.INDEX,
        "x weights?",
        _bin_count,
        _bin_count_work,
        summary="how often each whole number occurs",
    ),
    Op(
        "repeated_positions",
        Kind.INDEX,
        "repeats",
        _repeated_positions,
        _repeated_positions_work,
        summary="every position as often as it is to be repeated",
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

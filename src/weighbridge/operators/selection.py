"""Sorting and selection, whose results often have a shape that only the values decide.

How many compares a selection takes depends on the order of the values, so the work is not known; a lower bound is what every
order takes.  To tell the k largest of n, or the k-th, every value has to be compared with some other, so that all hang together:
n - 1 compares, which suffice for the largest alone.  Distinct values take n - 1 as well.  A position among n sorted boundaries
takes by halving the whole bits of n + 1 less one, or one more where n + 1 is no power of two.  Non-maximum suppression compares
every score; how many pairs of boxes it meets depends on what is suppressed.
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


def _top_k_work(call: Call) -> Work | None:
    """For the largest of n n - 1 compares; for more of them at least as many, by how the values lie; none for all of them in any
    order.
    """
    k = call.outputs[0].shape[axis_of(call.integer("axis"), len(call.x.shape))]
    return _best(call) if k < 2 or not _orders(call, k) else None


def _orders(call: Call, k: int) -> bool:
    """Whether the k best of a line differ from the line as it is."""
    return bool(call.integer("sorted")) or k < call.x.shape[axis_of(call.integer("axis"), len(call.x.shape))]


def _best(call: Call) -> Work:
    k = call.outputs[0].shape[axis_of(call.integer("axis"), len(call.x.shape))]
    return _compared(call) if k and _orders(call, k) else Work()


def _compared(call: Call) -> Work:
    """A line of n takes n - 1 compares."""
    size = call.x.shape[axis_of(call.integer("axis"), len(call.x.shape))]
    return Work(compare=call.x.elements // size * (size - 1) if size else 0)


def _sort(call: Call) -> tuple[TensorType, ...]:
    """All tensors of one shape, ordered together."""
    xs = call.all("xs")
    if not xs or any(x.shape != xs[0].shape for x in xs):
        raise GraphError(f"tensors of shapes {', '.join(str(x.shape) for x in xs)} have no order together")
    axis_of(call.integer("axis"), len(xs[0].shape))
    return xs


def _sort_work(call: Call) -> Work | None:
    """At least n - 1 compares a line of n, by how the values lie."""
    return _line_compares(call) if call.outputs[0].shape[call.integer("axis")] < 3 else None


def _line_compares(call: Call) -> Work:
    size = call.outputs[0].shape[call.integer("axis")]
    return Work(compare=call.outputs[0].elements // size * (size - 1) if size else 0)


def _kth_value(call: Call) -> tuple[TensorType, ...]:
    shape, k = call.x.shape, call.integer("k")
    axis = axis_of(call.integer("axis"), len(shape))
    if not 1 <= k <= shape[axis]:
        raise GraphError(f"the {k}-th smallest of {shape[axis]} elements")
    found = shape[:axis] + ((1,) if call["keep_dims"] else ()) + shape[axis + 1 :]
    return asked_outputs(call, {"y": TensorType(found, call.x.dtype), "indices": TensorType(found, INT64)})


def _kth_value_work(call: Call) -> Work | None:
    """For the smallest or the largest of n n - 1 compares; for another at least as many, by how the values lie."""
    ends = 1, call.x.shape[axis_of(call.integer("axis"), len(call.x.shape))]
    return _compared(call) if call.integer("k") in ends else None


def _search_sorted(call: Call) -> tuple[TensorType, ...]:
    boundaries, shape = call.boundaries.shape, call.x.shape
    if not boundaries or (len(boundaries) > 1 and boundaries[:-1] != shape[:-1]):
        raise GraphError(f"boundaries of shape {boundaries} for values of shape {shape}")
    return (TensorType(shape, INT64),)


def _search_sorted_work(call: Call) -> Work | None:
    """As many compares an element as halving takes: of n boundaries the bits of n where n + 1 is a power of two, else at least one
    less.
    """
    places = call.boundaries.shape[-1] + 1
    return _halved(call) if not places & (places - 1) else None


def _halved(call: Call) -> Work:
    return Work(compare=call.x.elements * ((call.boundaries.shape[-1] + 1).bit_length() - 1))


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
    inverse = TensorType((_positions(call),), INT64)
    return asked_outputs(call, {"y": call.x.dtype, "indices": INT64, "inverse": inverse, "counts": INT64})


def _positions(call: Call) -> int:
    """How many values, or slices along an axis, are told apart."""
    return call.x.elements if call["axis"] == "flat" else call.x.shape[axis_of(call.integer("axis"), len(call.x.shape))]


def _unique_work(call: Call) -> Work | None:
    """At least n - 1 compares for n values or slices, by how they lie."""
    return Work() if _positions(call) < 2 else None


def _told_apart(call: Call) -> Work:
    return Work(compare=max(_positions(call) - 1, 0))


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


def _padded_non_max_suppression(call: Call) -> tuple[TensorType | DType, ...]:
    """boxes: boxes x 4; scores: boxes.  ``size`` results, of which ``count`` are boxes and the rest fill the place."""
    if call.boxes.shape != (*call.scores.shape, 4) or len(call.scores.shape) != 1:
        raise GraphError(f"boxes of shape {call.boxes.shape} and scores of shape {call.scores.shape}")
    count = TensorType((), INT64)
    if not known(call, "size"):
        return asked_outputs(call, {"indices": INT64, "scores": call.scores.dtype, "count": count})
    size = sizes_of(call, "size")
    if len(size) != 1:
        raise GraphError(f"size is one number, not {call['size']!r}")
    found = {"indices": TensorType(size, INT64), "scores": TensorType(size, call.scores.dtype), "count": count}
    return asked_outputs(call, found)


def _non_max_suppression_work(call: Call) -> None:
    """At least 1 compare a score: how many pairs of boxes are met depends on what is suppressed."""


def _scores_compared(call: Call) -> Work:
    return Work(compare=call.scores.elements)


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
        least_work=_best,
        attributes={"k": REQUIRED, "axis": -1, "largest": True, "sorted": True},
        summary="the k largest or smallest along an axis, and their positions",
    ),
    Op(
        "sort",
        Kind.INDEX,
        "*xs",
        _sort,
        _sort_work,
        least_work=_line_compares,
        attributes={"axis": -1},
        summary="values along an axis in an order that their program defines, and others in the same order",
    ),
    Op(
        "kth_value",
        Kind.INDEX,
        "x",
        _kth_value,
        _kth_value_work,
        least_work=_compared,
        attributes={"k": REQUIRED, "axis": -1, "keep_dims": False, "outputs": ("y",)},
        summary="the k-th smallest along an axis, such as the median, and where asked for its position",
    ),
    Op(
        "search_sorted",
        Kind.INDEX,
        "x boundaries:control",
        _search_sorted,
        _search_sorted_work,
        least_work=_halved,
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
        least_work=_told_apart,
        attributes={"axis": "flat", "sorted": True, "outputs": ("y",)},
        summary="distinct values, their positions, and how often each occurs",
    ),
    Op(
        "non_max_suppression",
        Kind.INDEX,
        "boxes scores count:control? overlap:control? threshold:control?",
        _non_max_suppression,
        _non_max_suppression_work,
        least_work=_scores_compared,
        attributes={"box_format": "corners"},
        summary="boxes that no better box of their class overlaps too much",
    ),
    Op(
        "padded_non_max_suppression",
        Kind.INDEX,
        "boxes scores size:control? overlap:control? threshold:control? sigma:control?",
        _padded_non_max_suppression,
        _non_max_suppression_work,
        least_work=_scores_compared,
        attributes={"size": REQUIRED, "outputs": ("indices",)},
        summary="boxes that no better box overlaps too much, filled up to a fixed number, with their scores and how many they are",
    ),
)

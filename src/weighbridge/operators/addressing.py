"""Slices of any size that indices known only at run time address: taken out of a tensor, or written over it.

The names of axes follow StableHLO's gather and scatter.  An index lies along ``index_axis`` of the indices, all of whose other
axes are batches; behind the last axis every number is an index by itself.  Nothing is computed but where a scatter combines an
update with what is there.
"""

from __future__ import annotations

from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import UNKNOWN, Attribute, Shape, TensorType

from .gathering import scatter_work
from .record import REQUIRED, Call, Kind, Op, Work, nothing
from .rules import axes_of, selects, sizes_of
from .time_class import TimeClass

__all__ = ["ADDRESSING_OPERATORS"]


def _slice_at(call: Call) -> tuple[TensorType, ...]:
    """A start a dimension, or one operand with all of them; a slice that would go beyond the end starts earlier."""
    sizes = sizes_of(call, "sizes")
    if len(sizes) != len(call.x.shape) or any(size > whole for size, whole in zip(sizes, call.x.shape, strict=True)):
        raise GraphError(f"a slice of {sizes} of a tensor of shape {call.x.shape}")
    return (TensorType(sizes, call.x.dtype),)


def _batches(call: Call) -> tuple[Shape, int]:
    """(sizes of the batches of indices, how many numbers an index has)."""
    shape, axis = call.indices.shape, call.integer("index_axis")
    if not 0 <= axis <= len(shape):
        raise GraphError(f"indices along axis {axis} of {len(shape)} dimensions")
    return shape[:axis] + shape[axis + 1 :], shape[axis] if axis < len(shape) else 1


def _rest(call: Call, name: str) -> Shape:
    """The axes of x but for those that an attribute names."""
    left_out = axes_of(call, len(call.x.shape), name)
    return tuple(axis for axis in range(len(call.x.shape)) if axis not in left_out)


def _check_index(call: Call, numbers: int) -> None:
    """An index has a number for every axis that it is along."""
    axes = axes_of(call, len(call.x.shape), "start_axes")
    if len(axes) != numbers:
        raise GraphError(f"an index of {numbers} numbers for the axes {axes}")


def _gather_slices(call: Call) -> tuple[TensorType, ...]:
    """``offset_axes`` of the result are those of a slice without its ``collapsed_axes``, the others batches of indices."""
    batches, numbers = _batches(call)
    _check_index(call, numbers)
    sizes, kept = sizes_of(call, "slice_sizes"), _rest(call, "collapsed_axes")
    if len(sizes) != len(call.x.shape) or any(size > whole for size, whole in zip(sizes, call.x.shape, strict=True)):
        raise GraphError(f"slices of {sizes} of a tensor of shape {call.x.shape}")
    if any(sizes[axis] > 1 for axis in range(len(sizes)) if axis not in kept):
        raise GraphError(f"slices of {sizes} cannot lose the axes {call['collapsed_axes']}")
    rank = len(batches) + len(kept)
    offsets = axes_of(call, rank, "offset_axes")
    if len(offsets) != len(kept):
        raise GraphError(f"{len(kept)} axes of a slice at {offsets}")
    inside = dict(zip(offsets, (sizes[axis] for axis in kept), strict=True))
    outside = iter(batches)
    shape = tuple(inside[axis] if axis in inside else next(outside) for axis in range(rank))
    return (TensorType(shape, call.x.dtype),)


def _scatter_slices(call: Call) -> tuple[TensorType, ...]:
    """``window_axes`` of the updates are those of x without its ``inserted_axes``, the others batches of indices."""
    batches, numbers = _batches(call)
    _check_index(call, numbers)
    updates, kept = call.updates.shape, _rest(call, "inserted_axes")
    windows = axes_of(call, len(updates), "window_axes")
    outside = tuple(size for axis, size in enumerate(updates) if axis not in windows)
    if outside != batches or len(windows) != len(kept):
        raise GraphError(f"updates of shape {updates} at indices of shape {call.indices.shape}")
    if any(updates[window] > call.x.shape[axis] for window, axis in zip(windows, kept, strict=True)):
        raise GraphError(f"updates of shape {updates} do not fit x of shape {call.x.shape}")
    return (call.x,)


def _scatter_slices_work(call: Call) -> Work | None:
    """1 add, 1 mul or 1 compare an update that is combined with what is there; not known of another function."""
    return None if call["reduction"] == UNKNOWN else scatter_work(call)


_INDEX: Final[dict[str, Attribute]] = {"start_axes": REQUIRED, "index_axis": REQUIRED}

ADDRESSING_OPERATORS: Final = (
    Op(
        "slice_at",
        Kind.MOVE,
        "x *starts:control",
        _slice_at,
        nothing,
        traffic=selects("x"),
        attributes={"sizes": REQUIRED},
        summary="a slice from a place that is known only at run time",
    ),
    Op(
        "gather_slices",
        Kind.MOVE,
        "x indices:control",
        _gather_slices,
        nothing,
        traffic=selects("x"),
        attributes={"slice_sizes": REQUIRED, "offset_axes": REQUIRED, "collapsed_axes": (), **_INDEX},
        summary="slices of any size by indices over several axes",
        time=TimeClass.LOOKUP,
    ),
    Op(
        "scatter_slices",
        Kind.MOVE,
        "x indices:control updates",
        _scatter_slices,
        _scatter_slices_work,
        attributes={"window_axes": REQUIRED, "inserted_axes": (), **_INDEX, "reduction": "none"},
        summary="x with slices of any size written, or combined, by indices over several axes",
    ),
)

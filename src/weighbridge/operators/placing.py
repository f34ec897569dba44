"""Values placed into a tensor: by index into one that is empty, as a slice or a diagonal into one that is there.

The rest of the tensor is copied, or filled.  Where values are combined with what is there, each is 1 add, 1 mul or 1 compare.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Shape, TensorType

from .gathering import scatter_work
from .record import REQUIRED, Call, Kind, Op, nothing
from .rules import known, same_rank, sizes_of

__all__ = ["PLACING_OPERATORS"]


def _scatter_zeros(call: Call) -> tuple[TensorType | DType, ...]:
    """An index names the first axes of ``shape``, and an update is a slice over the others."""
    if not known(call, "shape"):
        return (call.updates.dtype,)
    shape, indices = sizes_of(call, "shape"), call.indices.shape
    if not indices or indices[-1] > len(shape):
        raise GraphError(f"indices of shape {indices} into a tensor of shape {shape}")
    wanted = indices[:-1] + shape[indices[-1] :]
    if call.updates.shape != wanted:
        raise GraphError(f"updates of shape {call.updates.shape} where {wanted} are written")
    return (TensorType(shape, call.updates.dtype),)


def _sparse_to_dense(call: Call) -> tuple[TensorType | DType, ...]:
    """indices: one for every value, of as many numbers as ``shape`` has; of a row alone one number, and perhaps one index."""
    if not known(call, "shape"):
        return (call.values.dtype,)
    shape, indices, values = sizes_of(call, "shape"), call.indices.shape, call.values.shape
    count = indices[:1] or (1,)
    numbers = indices[1] if len(indices) == 2 else 1
    if len(indices) > 2 or numbers != len(shape) or values not in ((), (1,), count):
        raise GraphError(f"{values} values at indices of shape {indices} in a tensor of shape {shape}")
    return (TensorType(shape, call.values.dtype),)


def _slice_update(call: Call) -> tuple[TensorType, ...]:
    same_rank(call.x, call.updates, "x and updates")
    if any(new > size for size, new in zip(call.x.shape, call.updates.shape, strict=True)):
        raise GraphError(f"updates of shape {call.updates.shape} do not fit x of shape {call.x.shape}")
    return (call.x,)


def _set_diagonal(call: Call) -> tuple[TensorType, ...]:
    shape: Shape = call.x.shape
    if len(shape) < 2 or call.diagonal.shape != (*shape[:-2], min(shape[-2:])):
        raise GraphError(f"a diagonal of shape {call.diagonal.shape} for matrices of shape {shape}")
    return (call.x,)


PLACING_OPERATORS: Final = (
    Op(
        "scatter_zeros",
        Kind.MOVE,
        "indices:control updates shape:control?",
        _scatter_zeros,
        scatter_work,
        attributes={"shape": REQUIRED, "reduction": "add"},
        summary="zeros with slices added, or written, by indices over several axes",
    ),
    Op(
        "sparse_to_dense",
        Kind.MOVE,
        "indices:control values shape:control? default:control?",
        _sparse_to_dense,
        nothing,
        attributes={"shape": REQUIRED},
        summary="one value everywhere but at the indices, which have values of their own",
    ),
    Op(
        "slice_update",
        Kind.MOVE,
        "x updates *starts:control",
        _slice_update,
        nothing,
        summary="x with a slice written over, from a place that is known only at run time",
    ),
    Op("set_diagonal", Kind.MOVE, "x diagonal", _set_diagonal, nothing, summary="matrices with another diagonal"),
)

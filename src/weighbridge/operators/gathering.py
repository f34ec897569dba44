"""Elements picked and placed by index.

Of what is picked from, no more is read than comes out.  A scatter copies its data and writes the updates over it; where it
combines them, an update is 1 add, 1 mul or 1 compare.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType

from .record import REQUIRED, Call, Kind, Op, Work, nothing
from .rules import INT64, dtype_of, known, same_rank, selects, sizes_of
from .shapes import axis_of

__all__ = ["GATHERING_OPERATORS"]


def _gather(call: Call) -> tuple[TensorType, ...]:
    """Whole slices along an axis, which the indices' dimensions replace."""
    shape = call.x.shape
    axis = axis_of(call.integer("axis"), len(shape))
    return (TensorType((*shape[:axis], *call.indices.shape, *shape[axis + 1 :]), call.x.dtype),)


def _gather_elements(call: Call) -> tuple[TensorType, ...]:
    _indices_within(call)
    return (TensorType(call.indices.shape, call.x.dtype),)


def _indices_within(call: Call) -> None:
    """Indices along an axis reach no farther along the others than x does."""
    same_rank(call.x, call.indices, "x and indices")
    along = axis_of(call.integer("axis"), len(call.x.shape))
    for axis, (size, wanted) in enumerate(zip(call.x.shape, call.indices.shape, strict=True)):
        if axis != along and wanted > size:
            raise GraphError(f"{wanted} indices along axis {axis} of {size} elements")


def _nd_depth(call: Call, batch: int) -> int:
    """How many axes of x, after ``batch`` common ones, an index names."""
    indices, shape = call.indices.shape, call.x.shape
    if not indices or not 0 <= batch < len(indices) or shape[:batch] != indices[:batch]:
        raise GraphError(
            f"indices of shape {indices} and x of shape {shape} have not {batch} batch dimensions in common"
        )
    if not 1 <= indices[-1] <= len(shape) - batch:
        raise GraphError(f"an index of {indices[-1]} axes into {len(shape) - batch} dimensions")
    return indices[-1]


def _gather_nd(call: Call) -> tuple[TensorType, ...]:
    batch = call.integer("batch_dims")
    depth = _nd_depth(call, batch)
    return (TensorType(call.indices.shape[:-1] + call.x.shape[batch + depth :], call.x.dtype),)


def _scatter_elements(call: Call) -> tuple[TensorType, ...]:
    _indices_within(call)
    if call.updates.shape != call.indices.shape:
        raise GraphError(f"updates of shape {call.updates.shape} at indices of shape {call.indices.shape}")
    return (call.x,)


def _scatter_nd(call: Call) -> tuple[TensorType, ...]:
    expected = call.indices.shape[:-1] + call.x.shape[_nd_depth(call, 0) :]
    if call.updates.shape != expected:
        raise GraphError(f"updates of shape {call.updates.shape} where {expected} are written")
    return (call.x,)


_COMBINED: Final = {
    "none": Work(),
    "add": Work(add=1),
    "mul": Work(mul=1),
    "max": Work(compare=1),
    "min": Work(compare=1),
}


def _scatter_work(call: Call) -> Work:
    """1 add, 1 mul or 1 compare an update that is combined with what is there."""
    unit = _COMBINED.get(call.text("reduction"))
    if unit is None:
        raise GraphError(f"a scatter has no reduction {call['reduction']!r}")
    return unit.times(call.updates.elements)


def _tensor_scatter(call: Call) -> tuple[TensorType, ...]:
    """A cache with new positions written along an axis; each batch element has its own place."""
    same_rank(call.x, call.updates, "x and updates")
    along = axis_of(call.integer("axis"), len(call.x.shape))
    for axis, (size, new) in enumerate(zip(call.x.shape, call.updates.shape, strict=True)):
        if new != size and (axis != along or new > size):
            raise GraphError(f"updates of shape {call.updates.shape} do not fit x of shape {call.x.shape}")
    return (call.x,)


def _one_hot(call: Call) -> tuple[TensorType | DType, ...]:
    """The type is that of the values, if they are given, else what ``dtype`` names; an axis of ``depth`` is put in."""
    dtype = call.values.dtype if call.has("values") else dtype_of(call, INT64)
    if not known(call, "depth"):
        return (dtype,)
    depth = sizes_of(call, "depth")
    if len(depth) != 1:
        raise GraphError(f"depth is one number, not {call['depth']!r}")
    shape = call.indices.shape
    axis = axis_of(call.integer("axis"), len(shape) + 1)
    return (TensorType(shape[:axis] + depth + shape[axis:], dtype),)


_REDUCTION: Final[dict[str, Attribute]] = {"reduction": "none"}

GATHERING_OPERATORS: Final = (
    Op(
        "gather",
        Kind.MOVE,
        "x indices:control",
        _gather,
        nothing,
        traffic=selects("x"),
        attributes={"axis": 0},
        summary="slices along an axis, by index",
    ),
    Op(
        "gather_elements",
        Kind.MOVE,
        "x indices:control",
        _gather_elements,
        nothing,
        traffic=selects("x"),
        attributes={"axis": 0},
        summary="an element for every index",
    ),
    Op(
        "gather_nd",
        Kind.MOVE,
        "x indices:control",
        _gather_nd,
        nothing,
        traffic=selects("x"),
        attributes={"batch_dims": 0},
        summary="slices by indices over several axes",
    ),
    Op(
        "scatter_elements",
        Kind.MOVE,
        "x indices:control updates",
        _scatter_elements,
        _scatter_work,
        attributes={"axis": 0, **_REDUCTION},
        summary="x with an element written at every index",
    ),
    Op(
        "scatter_nd",
        Kind.MOVE,
        "x indices:control updates",
        _scatter_nd,
        _scatter_work,
        attributes=_REDUCTION,
        summary="x with slices written by indices over several axes",
    ),
    Op(
        "tensor_scatter",
        Kind.MOVE,
        "x updates indices:control?",
        _tensor_scatter,
        nothing,
        attributes={"axis": -2},
        summary="a cache with new positions written into it",
    ),
    Op(
        "one_hot",
        Kind.MOVE,
        "indices depth:control? values:control?",
        _one_hot,
        nothing,
        attributes={"depth": REQUIRED, "axis": -1, "dtype": ""},
        summary="one value at the index, another elsewhere",
    ),
)

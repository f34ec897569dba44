"""Elements picked and placed by index.

Of what is picked from, no more is read than comes out.  A scatter copies its data and writes the updates over it; where it
combines them, an update is 1 add, 1 mul or 1 compare.  A mask in the place of indices is 1 compare an element, as which of
them hold has to be seen.
"""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .halo_axes import gather_halo
from .record import REQUIRED, Call, Kind, Op, Work, nothing
from .rules import INT64, axes_of, dtype_of, known, same_rank, selects, sizes_of
from .shapes import axis_of, broadcast
from .time_class import TimeClass

__all__ = ["COMBINED", "GATHERING_OPERATORS", "is_mask", "scatter_work"]


def _gather(call: Call) -> tuple[TensorType, ...]:
    """Whole slices along an axis, which the indices' dimensions replace, but for ``batch_dims`` that both have in common."""
    shape, indices, batch = call.x.shape, call.indices.shape, call.integer("batch_dims")
    axis = axis_of(call.integer("axis"), len(shape))
    if not 0 <= batch <= min(axis, len(indices)) or shape[:batch] != indices[:batch]:
        raise GraphError(
            f"{shape} and indices of shape {indices} have not {batch} dimensions before axis {axis} in common"
        )
    return (TensorType((*shape[:axis], *indices[batch:], *shape[axis + 1 :]), call.x.dtype),)


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


COMBINED: Final = {
    "none": Work(),
    "add": Work(add=1),
    "mul": Work(mul=1),
    "max": Work(compare=1),
    "min": Work(compare=1),
}
"""The work of a value that is combined with what is there, by the name of the reduction."""


def scatter_work(call: Call) -> Work:
    """1 add, 1 mul or 1 compare an update that is combined with what is there."""
    unit = COMBINED.get(call.text("reduction"))
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


def is_mask(index: TensorType) -> bool:
    """Whether an index says of every element whether it is selected: truth values, and bytes as PyTorch takes them."""
    return index.dtype.name in ("bool", "uint8")


def _masks(call: Call) -> int:
    """Elements of the masks among the indices."""
    return sum(one.elements for one in call.all("indices") if is_mask(one))


def _selected(call: Call) -> Shape | None:
    """What indices over several axes select: their common shape, where their axes are neighbours, else in front.

    None where a mask decides.  numpy's rule, which PyTorch follows.
    """
    shape, indices = call.x.shape, call.all("indices")
    axes = axes_of(call, len(shape))
    if len(axes) != len(indices) or not axes:
        raise GraphError(f"{len(indices)} indices for {len(axes)} axes")
    if _masks(call):
        return None
    common = broadcast(*(one.shape for one in indices))
    if axes == tuple(range(axes[0], axes[0] + len(axes))):
        return shape[: axes[0]] + common + shape[axes[-1] + 1 :]
    return common + tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _index(call: Call) -> tuple[TensorType | DType, ...]:
    found = _selected(call)
    return (call.x.dtype if found is None else TensorType(found, call.x.dtype),)


def _index_work(call: Call) -> Work:
    """1 compare an element of a mask; else nothing."""
    return Work(compare=_masks(call))


def _index_put(call: Call) -> tuple[TensorType, ...]:
    found = _selected(call)
    if found is not None and broadcast(call.updates.shape, found) != found:
        raise GraphError(f"updates of shape {call.updates.shape} where {found} are written")
    return (call.x,)


def _index_put_work(call: Call) -> Work | None:
    """1 add a value that is added to what is there; 1 compare an element of a mask."""
    found = _selected(call)
    added = 0
    if call["accumulate"]:
        if found is None:
            return None
        added = prod(found)
    return Work(add=added, compare=_masks(call))


def _masked_scatter(call: Call) -> tuple[TensorType, ...]:
    if broadcast(call.mask.shape, call.x.shape) != call.x.shape:
        raise GraphError(f"a mask of shape {call.mask.shape} for x of shape {call.x.shape}")
    return (call.x,)


def _masked_scatter_work(call: Call) -> Work:
    """1 add, 1 compare an element: how many held before, and whether this one does."""
    return Work(add=1, compare=1).times(call.x.elements)


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
        attributes={"axis": 0, "batch_dims": 0},
        summary="slices along an axis, by index",
        halo=gather_halo,
        time=TimeClass.LOOKUP,
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
        time=TimeClass.LOOKUP,
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
        time=TimeClass.LOOKUP,
    ),
    Op(
        "scatter_elements",
        Kind.MOVE,
        "x indices:control updates",
        _scatter_elements,
        scatter_work,
        attributes={"axis": 0, **_REDUCTION},
        summary="x with an element written at every index",
    ),
    Op(
        "scatter_nd",
        Kind.MOVE,
        "x indices:control updates",
        _scatter_nd,
        scatter_work,
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
        "index",
        Kind.MOVE,
        "x *indices:control",
        _index,
        _index_work,
        traffic=selects("x"),
        attributes={"axes": REQUIRED},
        summary="elements by indices or masks over several axes at once",
        time=TimeClass.LOOKUP,
    ),
    Op(
        "index_put",
        Kind.MOVE,
        "x updates *indices:control",
        _index_put,
        _index_put_work,
        attributes={"axes": REQUIRED, "accumulate": False},
        summary="x with elements written by indices or masks over several axes at once",
    ),
    Op(
        "masked_scatter",
        Kind.MOVE,
        "x mask:control updates",
        _masked_scatter,
        _masked_scatter_work,
        summary="x with the values of another tensor, one after the other, where a mask holds",
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

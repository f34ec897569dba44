"""Windows over a tensor laid out one after the other, strided views of a storage, and diagonals: own values, computed none.

Frameworks have some of these as views, where elements of overlapping windows exist once; here they own what they show, as
transposes and slices do.
"""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import REQUIRED, Call, Kind, Op, nothing
from .rules import axes_of, selects, sizes_of
from .shapes import axis_of, per_axis, window_output, window_padding

__all__ = ["WINDOW_OPERATORS"]


def _windows(call: Call) -> tuple[TensorType, ...]:
    """A last axis with the elements of the window, in place of ``axis`` the number of windows."""
    shape, size, step = list(call.x.shape), call.integer("size"), call.integer("step")
    axis = axis_of(call.integer("axis"), len(shape))
    if step < 1 or not 0 <= size <= shape[axis]:
        raise GraphError(f"windows of {size} elements every {step} over {shape[axis]}")
    shape[axis] = (shape[axis] - size) // step + 1
    return (TensorType((*shape, size), call.x.dtype),)


def _im2col(call: Call) -> tuple[TensorType, ...]:
    """x: batch, channels, image (or without the batch); the result: batch, channels x block elements, blocks."""
    block = sizes_of(call, "block_shape")
    rank = len(block)
    if len(call.x.shape) not in (rank + 1, rank + 2):
        raise GraphError(f"blocks of {block} from {len(call.x.shape)} dimensions")
    image = call.x.shape[len(call.x.shape) - rank :]
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    padding = window_padding(call["padding"], image, block, stride, dilation)
    blocks = prod(window_output(image, block, stride, dilation, padding))
    batch, channels = call.x.shape[: -rank - 1], call.x.shape[-rank - 1]
    return (TensorType((*batch, channels * prod(block), blocks), call.x.dtype),)


def _as_strided(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(sizes_of(call, "shape"), call.x.dtype),)


def _two_axes(call: Call, rank: int) -> tuple[int, int]:
    axes = axes_of(call, rank)
    if len(axes) != 2:
        raise GraphError(f"a diagonal lies between 2 axes, not {len(axes)}")
    return axes[0], axes[1]


def _diagonal(call: Call) -> tuple[TensorType, ...]:
    """The diagonal becomes the last axis."""
    shape, offset = call.x.shape, call.integer("offset")
    row, column = _two_axes(call, len(shape))
    size = min(shape[row] + min(offset, 0), shape[column] - max(offset, 0))
    rest = tuple(one for axis, one in enumerate(shape) if axis not in (row, column))
    return (TensorType((*rest, max(size, 0)), call.x.dtype),)


def _diagonal_embed(call: Call) -> tuple[TensorType, ...]:
    """``axes`` are positions in the result."""
    shape = call.x.shape
    if not shape:
        raise GraphError("a number is no diagonal")
    axes = _two_axes(call, len(shape) + 1)
    size, rest = shape[-1] + abs(call.integer("offset")), iter(shape[:-1])
    return (TensorType(tuple(size if axis in axes else next(rest) for axis in range(len(shape) + 1)), call.x.dtype),)


WINDOW_OPERATORS: Final = (
    Op(
        "windows",
        Kind.MOVE,
        "x",
        _windows,
        nothing,
        attributes={"axis": -1, "size": REQUIRED, "step": 1},
        summary="windows along an axis, laid out behind each other",
    ),
    Op(
        "im2col",
        Kind.MOVE,
        "x",
        _im2col,
        nothing,
        attributes={"block_shape": REQUIRED, "stride": 1, "padding": 0, "dilation": 1},
        summary="the blocks of an image as columns",
    ),
    Op(
        "as_strided",
        Kind.MOVE,
        "x",
        _as_strided,
        nothing,
        traffic=selects("x"),
        attributes={"shape": REQUIRED},
        summary="elements of a storage at regular distances",
    ),
    Op(
        "diagonal",
        Kind.MOVE,
        "x",
        _diagonal,
        nothing,
        traffic=selects("x"),
        attributes={"offset": 0, "axes": (0, 1)},
        summary="diagonals between two axes",
    ),
    Op(
        "diagonal_embed",
        Kind.MOVE,
        "x",
        _diagonal_embed,
        nothing,
        attributes={"offset": 0, "axes": (-2, -1)},
        summary="matrices with x on a diagonal, else 0",
    ),
)

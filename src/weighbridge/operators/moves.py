"""Values placed elsewhere: transposes, slices, pads, joins and expansions own their values and compute none.

Traffic says what has to move: a slice reads what comes out of it and no more, an expansion reads the small operand once.
"""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import UNKNOWN, Attribute, Shape, TensorType

from .halo_axes import expand_halo, expand_parted, roll_halo, tile_halo
from .halo_moves import concat_halo, pad_halo, pad_parted, slice_halo, slice_parted, split_halo, transpose_halo
from .halo_views import blocks_grain, depth_to_space_halo, space_to_depth_halo
from .record import REQUIRED, Call, Kind, Op, nothing
from .rules import axes_of, dtype_of, ranges_by_axis, selects, sizes_of, when_known
from .shapes import axis_of, broadcast

__all__ = ["MOVE_OPERATORS"]

_MOST_PARTS: Final = 1 << 16


@when_known("permutation")
def _transpose(call: Call) -> tuple[TensorType, ...]:
    shape = call.x.shape
    if call["permutation"] == "reversed":
        return (TensorType(shape[::-1], call.x.dtype),)
    order = axes_of(call, len(shape), "permutation")
    if len(order) != len(shape):
        raise GraphError(f"{order} is no permutation of {len(shape)} axes")
    return (TensorType(tuple(shape[axis] for axis in order), call.x.dtype),)


def _concat(call: Call) -> tuple[TensorType, ...]:
    xs = call.all("xs")
    if not xs:
        raise GraphError("at least one operand is needed")
    first = xs[0]
    axis = axis_of(call.integer("axis"), len(first.shape))
    rest = first.shape[:axis] + first.shape[axis + 1 :]
    for x in xs:
        if len(x.shape) != len(first.shape) or x.shape[:axis] + x.shape[axis + 1 :] != rest:
            raise GraphError(f"the shapes {first.shape} and {x.shape} do not join along axis {axis}")
    return (TensorType((*rest[:axis], sum(x.shape[axis] for x in xs), *rest[axis:]), first.dtype),)


def _split(call: Call) -> tuple[TensorType | DType, ...]:
    """``sizes`` along the axis, or ``parts`` equal ones of which the last may be smaller (ONNX's rule since opset 18).

    Where the sizes are unknown, ``parts`` says how many outputs there are.
    """
    axis, parts = axis_of(call.integer("axis"), len(call.x.shape)), call.integer("parts")
    size = call.x.shape[axis]
    if call["sizes"] in ("equal", UNKNOWN):
        if not 1 <= parts <= _MOST_PARTS:
            raise GraphError(f"{size} elements do not split into {parts} parts")
        if call["sizes"] == UNKNOWN:
            return (call.x.dtype,) * parts
        each = -(-size // parts)
        sizes = (each,) * (parts - 1) + (size - each * (parts - 1),)
    else:
        sizes = sizes_of(call, "sizes")
    if not sizes or sum(sizes) != size or any(one < 0 for one in sizes):
        raise GraphError(f"{size} elements do not split into {sizes}")
    before, after = call.x.shape[:axis], call.x.shape[axis + 1 :]
    return tuple(TensorType((*before, one, *after), call.x.dtype) for one in sizes)


@when_known("starts", "ends", "axes", "steps")
def _slice(call: Call) -> tuple[TensorType, ...]:
    """Bounds outside a dimension are clamped to it; negative ones count from its end; a step may be negative."""
    shape = list(call.x.shape)
    for axis, taken in ranges_by_axis(call).items():
        shape[axis] = max(0, -((taken.start - taken.stop) // taken.step))  # len() has a largest number
    return (TensorType(tuple(shape), call.x.dtype),)


@when_known("shape")
def _expand(call: Call) -> tuple[TensorType, ...]:
    """Both ways: a 1 of the shape stretches too."""
    return (TensorType(broadcast(call.x.shape, sizes_of(call, "shape")), call.x.dtype),)


@when_known("repeats")
def _tile(call: Call) -> tuple[TensorType, ...]:
    repeats = sizes_of(call, "repeats")
    if len(repeats) != len(call.x.shape):
        raise GraphError(f"{len(repeats)} repeats for {len(call.x.shape)} dimensions")
    return (TensorType(tuple(s * r for s, r in zip(call.x.shape, repeats, strict=True)), call.x.dtype),)


@when_known("pads", "axes")
def _pad(call: Call) -> tuple[TensorType, ...]:
    """All the befores, then all the afters; negative ones crop."""
    axes, pads = axes_of(call, len(call.x.shape)), call.integers("pads")
    if len(pads) != 2 * len(axes):
        raise GraphError(f"{len(pads)} pads for {len(axes)} axes")
    shape = list(call.x.shape)
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        shape[axis] += before + after
        if shape[axis] < 0:
            raise GraphError(f"pads of {before} and {after} leave less than nothing of axis {axis}")
    return (TensorType(tuple(shape), call.x.dtype),)


def _image(call: Call) -> tuple[int, int, Shape, int]:
    """(batch, channels, space, block) of an operand of depth-to-space or its inverse."""
    if len(call.x.shape) < 3:
        raise GraphError(f"an image has at least 3 dimensions, not {len(call.x.shape)}")
    block, layout = call.integer("block_size"), call.text("layout")
    if block < 1 or layout not in ("channels_first", "channels_last"):
        raise GraphError(f"a block of {block}, {layout}")
    if layout == "channels_first":
        return call.x.shape[0], call.x.shape[1], call.x.shape[2:], block
    return call.x.shape[0], call.x.shape[-1], call.x.shape[1:-1], block


def _placed(call: Call, batch: int, channels: int, space: Shape) -> tuple[TensorType, ...]:
    last = call["layout"] == "channels_last"
    return (TensorType((batch, *space, channels) if last else (batch, channels, *space), call.x.dtype),)


def _depth_to_space(call: Call) -> tuple[TensorType, ...]:
    batch, channels, space, block = _image(call)
    if channels % block ** len(space):
        raise GraphError(f"{channels} channels do not make blocks of {block}")
    return _placed(call, batch, channels // block ** len(space), tuple(size * block for size in space))


def _space_to_depth(call: Call) -> tuple[TensorType, ...]:
    batch, channels, space, block = _image(call)
    if any(size % block for size in space):
        raise GraphError(f"an image of {space} is no whole number of blocks of {block}")
    return _placed(call, batch, channels * block ** len(space), tuple(size // block for size in space))


def _reverse_sequence(call: Call) -> tuple[TensorType, ...]:
    rank = len(call.x.shape)
    batch, time = axis_of(call.integer("batch_axis"), rank), axis_of(call.integer("time_axis"), rank)
    if batch == time or prod(call.lengths.shape) != call.x.shape[batch]:
        raise GraphError(f"{call.lengths.elements} lengths for axis {batch}, reversed along axis {time}")
    return (call.x,)


def _matrix(call: Call) -> tuple[TensorType, ...]:
    if len(call.x.shape) < 2:
        raise GraphError(f"a matrix has 2 dimensions, not {len(call.x.shape)}")
    return (call.x,)


@when_known("shape")
def _center_crop_pad(call: Call) -> tuple[TensorType, ...]:
    axes, sizes = axes_of(call, len(call.x.shape)), sizes_of(call, "shape")
    if len(axes) != len(sizes):
        raise GraphError(f"{len(sizes)} sizes for {len(axes)} axes")
    shape = list(call.x.shape)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    return (TensorType(tuple(shape), call.x.dtype),)


@when_known("shifts", "axes")
def _roll(call: Call) -> tuple[TensorType, ...]:
    axes, shifts = axes_of(call, len(call.x.shape)), call.integers("shifts")
    if len(shifts) != len(axes):
        raise GraphError(f"{len(shifts)} shifts for {len(axes)} axes")
    return (call.x,)


def _bit_cast(call: Call) -> tuple[TensorType, ...]:
    """The parts of a larger type lie along a last axis of their own, and so do those that become a larger one."""
    dtype, shape = dtype_of(call), call.x.shape
    old, new = call.x.dtype.bits, dtype.bits
    if old == new:
        return (TensorType(shape, dtype),)
    if old and new and not max(old, new) % min(old, new):
        if old > new:
            return (TensorType((*shape, int(old / new)), dtype),)
        if shape and shape[-1] == new / old:
            return (TensorType(shape[:-1], dtype),)
    raise GraphError(f"{call.x.dtype.name} of shape {shape} cannot be read as {dtype.name}")


_BLOCK: Final[dict[str, Attribute]] = {"block_size": REQUIRED, "layout": "channels_first"}


MOVE_OPERATORS: Final = (
    Op(
        "transpose",
        Kind.MOVE,
        "x",
        _transpose,
        nothing,
        attributes={"permutation": "reversed"},
        summary="axes in another order",
        halo=transpose_halo,
    ),
    Op(
        "concat",
        Kind.MOVE,
        "*xs",
        _concat,
        nothing,
        attributes={"axis": REQUIRED},
        fuses=True,
        summary="tensors joined along an axis",
        halo=concat_halo,
    ),
    Op(
        "split",
        Kind.MOVE,
        "x sizes:control?",
        _split,
        nothing,
        attributes={"axis": 0, "sizes": "equal", "parts": 0},
        summary="parts along an axis, an output each",
        halo=split_halo,
    ),
    Op(
        "slice",
        Kind.MOVE,
        "x starts:control? ends:control? axes:control? steps:control?",
        _slice,
        nothing,
        traffic=selects("x"),
        attributes={"starts": REQUIRED, "ends": REQUIRED, "axes": "all", "steps": 1},
        summary="a range of every axis, every so many elements",
        halo=slice_halo,
        parted=slice_parted,
    ),
    Op(
        "expand",
        Kind.MOVE,
        "x shape:control?",
        _expand,
        nothing,
        attributes={"shape": REQUIRED},
        summary="stretched to a shape",
        halo=expand_halo,
        parted=expand_parted,
    ),
    Op(
        "tile",
        Kind.MOVE,
        "x repeats:control?",
        _tile,
        nothing,
        attributes={"repeats": REQUIRED},
        summary="repeated along every axis",
        halo=tile_halo,
    ),
    Op(
        "pad",
        Kind.MOVE,
        "x pads:control? value:control? axes:control?",
        _pad,
        nothing,
        traffic=selects("x"),
        attributes={"pads": REQUIRED, "axes": "all", "mode": "constant"},
        summary="with a border, or cropped where a pad is negative",
        halo=pad_halo,
        parted=pad_parted,
    ),
    Op(
        "depth_to_space",
        Kind.MOVE,
        "x",
        _depth_to_space,
        nothing,
        attributes=_BLOCK,
        summary="channels laid out as blocks of an image",
        halo=depth_to_space_halo,
        grain=blocks_grain,
    ),
    Op(
        "space_to_depth",
        Kind.MOVE,
        "x",
        _space_to_depth,
        nothing,
        attributes=_BLOCK,
        summary="blocks of an image stacked as channels",
        halo=space_to_depth_halo,
    ),
    Op(
        "reverse_sequence",
        Kind.MOVE,
        "x lengths:control",
        _reverse_sequence,
        nothing,
        attributes={"batch_axis": 1, "time_axis": 0},
        summary="the first elements of every sequence in reverse",
    ),
    Op(
        "trilu",
        Kind.MOVE,
        "x diagonal:control?",
        _matrix,
        nothing,
        attributes={"upper": True},
        summary="the upper or lower triangle of matrices, else 0",
    ),
    Op(
        "center_crop_pad",
        Kind.MOVE,
        "x shape:control?",
        _center_crop_pad,
        nothing,
        traffic=selects("x"),
        attributes={"shape": REQUIRED, "axes": "all"},
        summary="cropped or padded around the centre",
    ),
    Op(
        "roll",
        Kind.MOVE,
        "x",
        _roll,
        nothing,
        attributes={"shifts": REQUIRED, "axes": "all"},
        summary="moved along axes, what leaves at one end coming in at the other",
        halo=roll_halo,
    ),
    Op(
        "bit_cast",
        Kind.MOVE,
        "x",
        _bit_cast,
        nothing,
        attributes={"dtype": REQUIRED},
        summary="the same bits read as another type",
    ),
)

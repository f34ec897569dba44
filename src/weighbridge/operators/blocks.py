"""Axes of space taken apart into blocks that join the batch, put together again, and spread out with values in between."""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Shape, TensorType

from .record import REQUIRED, Call, Kind, Op, nothing
from .rules import selects, sizes_of, when_known
from .shapes import explicit_padding

__all__ = ["BLOCK_OPERATORS"]


def _block(call: Call) -> Shape:
    """A block has one size for every axis of space, which stand behind the batch."""
    block = sizes_of(call, "block_shape")
    if 0 in block or len(call.x.shape) <= len(block):
        raise GraphError(f"blocks of {block} in {len(call.x.shape)} dimensions")
    return block


@when_known("block_shape", "pads")
def _space_to_batch(call: Call) -> tuple[TensorType, ...]:
    """x: batch, space, rest; the positions inside a block become batches.  ``pads``: all the befores, then all the afters."""
    block, (batch, *rest) = _block(call), call.x.shape
    pads = explicit_padding(call["pads"], len(block))
    for axis, ((before, after), size) in enumerate(zip(pads, block, strict=True)):
        padded = rest[axis] + before + after
        if padded % size:
            raise GraphError(f"{padded} elements, padded, are no whole number of blocks of {size}")
        rest[axis] = padded // size
    return (TensorType((batch * prod(block), *rest), call.x.dtype),)


@when_known("block_shape", "crops")
def _batch_to_space(call: Call) -> tuple[TensorType, ...]:
    """The other way; ``crops`` are taken off the axes of space: all the befores, then all the afters."""
    block, (batch, *rest) = _block(call), call.x.shape
    crops = explicit_padding(call["crops"], len(block))
    if batch % prod(block):
        raise GraphError(f"{batch} batches are no whole number of blocks of {block}")
    for axis, ((before, after), size) in enumerate(zip(crops, block, strict=True)):
        rest[axis] = rest[axis] * size - before - after
        if rest[axis] < 0:
            raise GraphError(f"crops of {before} and {after} leave less than nothing of axis {axis + 1}")
    return (TensorType((batch // prod(block), *rest), call.x.dtype),)


@when_known("dilations")
def _dilate(call: Call) -> tuple[TensorType, ...]:
    """So many places from an element to the next; an axis of none stays one of none."""
    dilations = call.integers("dilations")
    if len(dilations) != len(call.x.shape) or any(step < 1 for step in dilations):
        raise GraphError(f"dilations of {dilations} for {len(call.x.shape)} dimensions")
    shape = tuple(max((size - 1) * step + 1, 0) for size, step in zip(call.x.shape, dilations, strict=True))
    return (TensorType(shape, call.x.dtype),)


BLOCK_OPERATORS: Final = (
    Op(
        "space_to_batch",
        Kind.MOVE,
        "x block_shape:control? pads:control?",
        _space_to_batch,
        nothing,
        attributes={"block_shape": REQUIRED, "pads": 0},
        summary="the positions inside blocks of an image, padded, as images of their own",
    ),
    Op(
        "batch_to_space",
        Kind.MOVE,
        "x block_shape:control? crops:control?",
        _batch_to_space,
        nothing,
        traffic=selects("x"),
        attributes={"block_shape": REQUIRED, "crops": 0},
        summary="images put together as the positions inside blocks, and cropped",
    ),
    Op(
        "dilate",
        Kind.MOVE,
        "x dilations:control? value:control?",
        _dilate,
        nothing,
        attributes={"dilations": REQUIRED},
        summary="x with one value put in between its elements",
    ),
)

"""Which part of x is needed for a part of the same elements under another shape, or laid out as blocks.

A part of a shape is one of the other where axes stay as they are.  Where axes are put together or taken apart, as (4, 8) and 32, the
part goes along the first of them and has all of the others; what lies at its ends in blocks is made in whole blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import lcm, prod

from weighbridge.graph import Attribute, Shape
from weighbridge.named_tuple import NamedTuple

from .halo import Box, Needs, Span
from .record import Call

__all__ = [
    "blocks_grain",
    "depth_to_space_halo",
    "reshape_grain",
    "reshape_parted",
    "space_to_depth_halo",
    "squeeze_parted",
    "view_halo",
]


class _Group(NamedTuple):
    """Axes of x and of the result, none of size 1, that have the same elements."""

    x: tuple[int, ...]
    y: tuple[int, ...]


def _groups(x: Shape, y: Shape) -> Iterator[_Group]:
    """The fewest axes each that have the same elements, from the first on."""
    xs = [axis for axis, size in enumerate(x) if size != 1]
    ys = [axis for axis, size in enumerate(y) if size != 1]
    while xs and ys:
        taken = _Group((xs.pop(0),), (ys.pop(0),))
        while (of_x := prod(x[axis] for axis in taken.x)) != (of_y := prod(y[axis] for axis in taken.y)):
            side = xs if of_x < of_y else ys
            if not side:
                return
            taken = (
                _Group((*taken.x, side.pop(0)), taken.y) if of_x < of_y else _Group(taken.x, (*taken.y, side.pop(0)))
            )
        yield taken


def _blocked(x: Shape, y: Shape, group: _Group, box: Box) -> tuple[Span, Span]:
    """Of the first axes of a group the spans that have the same elements: the smallest around a part of y."""
    inner_x, inner_y = prod(x[axis] for axis in group.x[1:]), prod(y[axis] for axis in group.y[1:])
    step = lcm(inner_x, inner_y)
    first = box[group.y[0]]
    start, stop = first.start * inner_y // step * step, -(-first.stop * inner_y // step) * step
    return Span(start // inner_x, stop // inner_x), Span(start // inner_y, stop // inner_y)


def reshape_grain(call: Call, box: Box) -> Box:
    """Whole blocks of axes that are put together or taken apart, all of the axes behind the first of them."""
    x, y = call.x.shape, call.outputs[0].shape
    spans = list(box)
    for group in _groups(x, y):
        if len(group.x) > 1 or len(group.y) > 1:
            spans[group.y[0]] = _blocked(x, y, group, box)[1]
            for axis in group.y[1:]:
                spans[axis] = Span(0, y[axis]).around(box[axis])
    return tuple(spans)


def view_halo(call: Call, box: Box) -> Needs | None:
    """The elements of the part, which is in whole blocks."""
    x, y = call.x.shape, call.outputs[0].shape
    if any(size == 1 and span != (0, 1) for span, size in zip(box, y, strict=True)):
        return None
    spans = [Span(0, size) for size in x]
    for group in _groups(x, y):
        of_x, of_y = _blocked(x, y, group, box)
        if of_y != box[group.y[0]] or any(box[axis] != (0, y[axis]) for axis in group.y[1:]):
            return None
        spans[group.x[0]] = of_x
    return {("x", 0): tuple(spans)}


def reshape_parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """The shape of the part."""
    return {"shape": tuple(span.size for span in box)}


def squeeze_parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """The axes by number: an axis may be of one element in the part alone."""
    return (
        {"axes": tuple(axis for axis, size in enumerate(call.x.shape) if size == 1)} if call["axes"] == "ones" else {}
    )


def _block(call: Call) -> tuple[range, int, int]:
    """(spatial axes, channel axis, block size) of an image."""
    rank, block = len(call.x.shape), call.integer("block_size")
    return (range(2, rank), 1, block) if call["layout"] == "channels_first" else (range(1, rank - 1), rank - 1, block)


def blocks_grain(call: Call, box: Box) -> Box:
    """Whole blocks of the image that channels are laid out as."""
    axes, _, block = _block(call)
    spans = list(box)
    for axis in axes:
        spans[axis] = Span(box[axis].start // block * block, -(-box[axis].stop // block) * block)
    return tuple(spans)


def depth_to_space_halo(call: Call, box: Box) -> Needs | None:
    """The pixels whose channels make the blocks, all channels of them."""
    axes, channels, block = _block(call)
    if box != blocks_grain(call, box) or box[channels] != (0, call.outputs[0].shape[channels]):
        return None
    spans = list(box)
    for axis in axes:
        spans[axis] = Span(box[axis].start // block, box[axis].stop // block)
    spans[channels] = Span(0, call.x.shape[channels])
    return {("x", 0): tuple(spans)}


def space_to_depth_halo(call: Call, box: Box) -> Needs | None:
    """The blocks of the pixels, of which all channels are made."""
    axes, channels, block = _block(call)
    if box[channels] != (0, call.outputs[0].shape[channels]):
        return None
    spans = list(box)
    for axis in axes:
        spans[axis] = Span(box[axis].start * block, box[axis].stop * block)
    spans[channels] = Span(0, call.x.shape[channels])
    return {("x", 0): tuple(spans)}

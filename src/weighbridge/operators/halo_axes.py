"""Which part of their operands operators need that put all of some axes together and go along the others: reductions, norms, products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from weighbridge.graph import Attribute

from .halo import Box, Needs, Span, is_whole, of_x, stretched, whole
from .record import Call
from .rules import axes_of, known
from .shapes import axis_of

__all__ = [
    "all_but_images",
    "along",
    "elementwise_along",
    "expand_halo",
    "expand_parted",
    "from_axis_on",
    "gather_halo",
    "linear_halo",
    "matmul_halo",
    "mean_variance_halo",
    "of_channels",
    "over_axes",
    "roll_halo",
    "scaled_halo",
    "tile_halo",
]

Rule = Callable[[Call, Box], Needs | None]


def _together(call: Call, box: Box, axes: Iterable[int]) -> Needs | None:
    """Operand x where the result is, all of ``axes``; None where less than that is asked for."""
    shape, spans = call.outputs[0].shape, list(box)
    for axis in axes:
        if box[axis] != (0, shape[axis]):
            return None
        spans[axis] = Span(0, call.x.shape[axis])
    return of_x(call, tuple(spans))


def along(call: Call, box: Box) -> Needs | None:
    """All of the axis, and with ``flatten`` of those behind it; the others where the result is."""
    rank = len(call.x.shape)
    if not known(call, "axis") or not rank:
        return None
    first = axis_of(call.integer("axis"), rank)
    return _together(call, box, range(first, rank if call.attributes.get("flatten") else first + 1))


def from_axis_on(call: Call, box: Box) -> Needs | None:
    """All of the axes from ``axis`` on; those before where the result is."""
    rank = len(call.x.shape)
    return _together(call, box, range(axis_of(call.integer("axis"), rank), rank))


def elementwise_along(call: Call, box: Box) -> Needs | None:
    """Every operand where the result is, all of the attribute ``axis``."""
    axis = axis_of(call.integer("axis"), len(box))
    if box[axis] != (0, call.outputs[0].shape[axis]):
        return None
    return {
        (name, place): stretched(kind.shape, box)
        for name, kinds in call.operands.items()
        for place, kind in enumerate(kinds)
    }


def of_channels(call: Call, box: Box) -> Needs | None:
    """Operand x where the result is, all channels of it."""
    return _together(call, box, (1 if call["layout"] == "channels_first" else len(box) - 1,) if len(box) > 1 else ())


def all_but_images(call: Call, box: Box) -> Needs | None:
    """All of an image, for the images of a batch by themselves."""
    return _together(call, box, range(1, len(box)))


def over_axes(call: Call, box: Box) -> Needs | None:
    """All of the axes that are put together; the others where the result is, in which the former may be left out."""
    rank = len(call.x.shape)
    if not known(call, *(name for name in ("axes", "axis") if name in call.attributes)):
        return None
    axes = axes_of(call, rank) if "axes" in call.attributes else (axis_of(call.integer("axis"), rank),)
    left = iter(box)
    spans = []
    for axis, size in enumerate(call.x.shape):
        span = Span(0, 1) if axis in axes and not call.attributes.get("keep_dims", True) else next(left)
        if axis not in axes:
            spans.append(span)
        elif span == (0, 1):
            spans.append(Span(0, size))
        else:
            return None
    return {("x", 0): tuple(spans)}


def mean_variance_halo(call: Call, box: Box) -> Needs | None:
    """All of the axes that are normalised together."""
    return _together(call, box, axes_of(call, len(box)))


def scaled_halo(call: Call, box: Box) -> Needs | None:
    """Operand x where the result is; all of an axis with a scale for each place, and with scales of blocks all."""
    if not call.has("scale") or call.scale.elements == 1:
        return of_x(call, box)
    if len(call.scale.shape) > 1:
        return None
    return _together(call, box, (axis_of(call.integer("axis"), len(box)),))


def linear_halo(call: Call, box: Box) -> Needs | None:
    """The rows of the result, all features of them."""
    if box[-1] != (0, call.outputs[0].shape[-1]) or call["transpose_x"]:
        return None
    needs = {("x", 0): (*box[:-1], Span(0, call.x.shape[-1]))}
    return _biased(call, box, needs)


def matmul_halo(call: Call, box: Box) -> Needs | None:
    """The rows of x and the columns of w that make those of the result; of axes before these what each has of them."""
    x, w = call.x.shape, call.w.shape
    if (
        min(len(x), len(w)) < 2
        or _varies(call, "x")
        or (_varies(call, "w", "y") and not is_whole(box[-1:], call.outputs[0].shape[-1:]))
    ):
        return None
    inner = Span(0, x[-2 if call["transpose_x"] else -1])
    rows, columns = (inner, box[-2]) if call["transpose_x"] else (box[-2], inner), (inner, box[-1])
    columns = columns[::-1] if call["transpose_w"] else columns
    needs = {
        ("x", 0): (*stretched(x[:-2], box[:-2]), *rows),
        ("w", 0): (*stretched(w[:-2], box[:-2]), *columns),
    }
    return _biased(call, box, needs)


def _varies(call: Call, *names: str) -> bool:
    """Whether one of these operands of a product has scales or zero points of its own for its rows or columns."""
    kinds = [kind for name in names for what in ("scale", "zero_point") for kind in call.all(f"{name}_{what}")]
    return any(kind.elements > 1 for kind in kinds)


def _biased(call: Call, box: Box, needs: dict[tuple[str, int], Box]) -> Needs:
    if call.has("b"):
        needs["b", 0] = stretched(call.b.shape, box)
    return needs


def gather_halo(call: Call, box: Box) -> Needs | None:
    """All of the axis that is picked from; the others where the result is, without ``batch_dims``."""
    if call["batch_dims"]:
        return None
    shape, picked = call.x.shape, len(call.indices.shape)
    axis = axis_of(call.integer("axis"), len(shape))
    if not is_whole(box[axis : axis + picked], call.indices.shape):
        return None
    return {
        ("x", 0): (*box[:axis], Span(0, shape[axis]), *box[axis + picked :]),
        ("indices", 0): whole(call.indices.shape),
    }


def expand_halo(call: Call, box: Box) -> Needs | None:
    """What is stretched to the part."""
    return {("x", 0): stretched(call.x.shape, box)} if known(call, "shape") else None


def expand_parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """The shape of the part."""
    return {"shape": tuple(span.size for span in box)}


def tile_halo(call: Call, box: Box) -> Needs | None:
    """All of an axis that is repeated; the others where the result is."""
    if not known(call, "repeats"):
        return None
    return _together(call, box, [axis for axis, repeats in enumerate(call.integers("repeats")) if repeats != 1])


def roll_halo(call: Call, box: Box) -> Needs | None:
    """All of an axis that is moved along; the others where the result is."""
    return _together(call, box, axes_of(call, len(box))) if known(call, "shifts", "axes") else None

"""Views: the output is the operand's storage under another shape; and identities, which a deployed graph does without.

Reshape, flatten, squeeze and unsqueeze are views, and nothing else is: transposes, slices and expansions own their values,
as runtimes copy them.  A view computes nothing and moves nothing.
"""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .halo_views import reshape_grain, reshape_parted, squeeze_parted, view_halo
from .record import REQUIRED, Call, Kind, Op, Traffic, nothing
from .rules import axes_of, same, when_known
from .shapes import asked_outputs, axis_of

__all__ = ["VIEW_OPERATORS"]


def _moves_nothing(call: Call) -> Traffic:
    """Nothing moves."""
    return Traffic(0, 0)


@when_known("shape")
def _reshape(call: Call) -> tuple[TensorType, ...]:
    """A 0 keeps the dimension at its place (unless ``allow_zero``), one -1 takes what is left."""
    target = list(call.integers("shape"))
    if not call["allow_zero"]:
        for axis, size in enumerate(target):
            if size == 0:
                if axis >= len(call.x.shape):
                    raise GraphError(f"a 0 at axis {axis} of the shape, where x has no dimension to keep")
                target[axis] = call.x.shape[axis]
    if any(size < -1 for size in target) or target.count(-1) > 1:
        raise GraphError(f"{tuple(target)} is no shape")
    fixed = prod(size for size in target if size != -1)
    if -1 in target:
        if fixed == 0 or call.x.elements % fixed:
            raise GraphError(f"{call.x.elements} elements do not fill the shape {tuple(target)}")
        target[target.index(-1)] = call.x.elements // fixed
    elif fixed != call.x.elements:
        raise GraphError(f"{call.x.elements} elements do not fill the shape {tuple(target)}")
    return (TensorType(tuple(target), call.x.dtype),)


def _flatten(call: Call) -> tuple[TensorType, ...]:
    """Two dimensions: the product of those before ``axis``, and of those from it on.  Axis = rank is allowed."""
    axis, rank = call.integer("axis"), len(call.x.shape)
    split = rank if axis == rank else axis_of(axis, rank)
    return (TensorType((prod(call.x.shape[:split]), prod(call.x.shape[split:])), call.x.dtype),)


@when_known("axes")
def _squeeze(call: Call) -> tuple[TensorType, ...]:
    shape = call.x.shape
    if call["axes"] == "ones":
        return (TensorType(tuple(size for size in shape if size != 1), call.x.dtype),)
    axes = axes_of(call, len(shape))
    for axis in axes:
        if shape[axis] != 1:
            raise GraphError(f"axis {axis} has {shape[axis]} elements and cannot be squeezed")
    return (TensorType(tuple(size for axis, size in enumerate(shape) if axis not in axes), call.x.dtype),)


@when_known("axes")
def _unsqueeze(call: Call) -> tuple[TensorType, ...]:
    """``axes`` are positions in the result."""
    rank = len(call.x.shape) + len(call.integers("axes"))
    axes, sizes = set(axes_of(call, rank)), iter(call.x.shape)
    return (TensorType(tuple(1 if axis in axes else next(sizes) for axis in range(rank)), call.x.dtype),)


def _dropout(call: Call) -> tuple[TensorType, ...]:
    """``bitmask`` is the mask with 32 values in a word."""
    words = -(-call.x.elements // 32)
    masks = {"mask": TensorType(call.x.shape, DTYPES["bool"]), "bitmask": TensorType((words,), DTYPES["uint32"])}
    return asked_outputs(call, {"y": call.x, **masks})


def _part(call: Call) -> tuple[TensorType, ...]:
    """From ``starts`` on, ``sizes`` elements of every axis."""
    starts, sizes = call.integers("starts"), call.integers("sizes")
    if not len(starts) == len(sizes) == len(call.x.shape):
        raise GraphError(f"{len(starts)} starts and {len(sizes)} sizes for {len(call.x.shape)} axes")
    if any(
        min(start, size) < 0 or start + size > whole
        for start, size, whole in zip(starts, sizes, call.x.shape, strict=True)
    ):
        raise GraphError(f"{sizes} from {starts} on do not lie in {call.x.shape}")
    return (TensorType(sizes, call.x.dtype),)


VIEW_OPERATORS: Final = (
    Op(
        "reshape",
        Kind.VIEW,
        "x shape:control?",
        _reshape,
        nothing,
        traffic=_moves_nothing,
        attributes={"shape": REQUIRED, "allow_zero": False},
        view_of="x",
        summary="the same elements under another shape",
        halo=view_halo,
        parted=reshape_parted,
        grain=reshape_grain,
    ),
    Op(
        "flatten",
        Kind.VIEW,
        "x",
        _flatten,
        nothing,
        traffic=_moves_nothing,
        attributes={"axis": 1},
        view_of="x",
        summary="two dimensions, split at an axis",
        halo=view_halo,
        grain=reshape_grain,
    ),
    Op(
        "squeeze",
        Kind.VIEW,
        "x axes:control?",
        _squeeze,
        nothing,
        traffic=_moves_nothing,
        attributes={"axes": "ones"},
        view_of="x",
        summary="without axes of one element",
        halo=view_halo,
        parted=squeeze_parted,
    ),
    Op(
        "unsqueeze",
        Kind.VIEW,
        "x axes:control?",
        _unsqueeze,
        nothing,
        traffic=_moves_nothing,
        attributes={"axes": REQUIRED},
        view_of="x",
        summary="with axes of one element put in",
        halo=view_halo,
    ),
    Op(
        "updated",
        Kind.VIEW,
        "x *parts",
        same,
        nothing,
        traffic=_moves_nothing,
        view_of="x",
        summary="x after parts of its storage were written in place, which is counted where it is done",
    ),
    Op(
        "part",
        Kind.VIEW,
        "x",
        _part,
        nothing,
        traffic=_moves_nothing,
        attributes={"starts": REQUIRED, "sizes": REQUIRED},
        view_of="x",
        summary="a box of x, read where it lies; patches are made of these, a file's slices own what they take",
    ),
    Op("identity", Kind.IDENTITY, "x", same, nothing, summary="x"),
    Op(
        "dropout",
        Kind.IDENTITY,
        "x ratio:control? training:control?",
        _dropout,
        nothing,
        attributes={"outputs": ("y",)},
        summary="x at inference, and where asked for a mask",
    ),
)

"""Reductions over axes, running sums, and positions of extremes.

The work of a reduction is stated for each element that goes in and for each that comes out.  Accumulators start from the
neutral element: a sum of n values is n adds.  Extremes are 1 compare an element, absolute values 1 compare, a square 1 mul.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType

from .record import REQUIRED, Call, Kind, Op, Work
from .rules import INT64, axes_of, sizes_of, when_known
from .shapes import axis_of, per_axis, window_output, window_padding

__all__ = ["REDUCTION_OPERATORS"]


@when_known("axes")
def _reduce(call: Call) -> tuple[TensorType, ...]:
    axes = set(axes_of(call, len(call.x.shape)))
    if call["keep_dims"]:
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(call.x.shape))
    else:
        shape = tuple(size for axis, size in enumerate(call.x.shape) if axis not in axes)
    return (TensorType(shape, call.x.dtype),)


def _extreme_position(call: Call) -> tuple[TensorType, ...]:
    axis = axis_of(call.integer("axis"), len(call.x.shape))
    kept = (1,) if call["keep_dims"] else ()
    return (TensorType(call.x.shape[:axis] + kept + call.x.shape[axis + 1 :], INT64),)


def _works(*, each_in: Work, each_out: Work | None = None) -> Callable[[Call], Work]:
    def work(call: Call) -> Work:
        done = each_in.times(call.x.elements)
        return done if each_out is None else done.plus(each_out.times(call.outputs[0].elements))

    return work


@when_known("axis")
def _running(call: Call) -> tuple[TensorType, ...]:
    axis_of(call.integer("axis"), len(call.x.shape))
    return (call.x,)


def _col2im(call: Call) -> tuple[TensorType, ...]:
    """x: batch, channels x block elements, blocks; the image that the (overlapping) blocks add up to."""
    image, block = sizes_of(call, "image_shape"), sizes_of(call, "block_shape")
    if len(call.x.shape) != 3 or len(image) != len(block):
        raise GraphError("col2im takes 3 dimensions, and an image and a block of as many")
    rank = len(image)
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    padding = window_padding(call["padding"], image, block, stride, dilation)
    blocks = prod(window_output(image, block, stride, dilation, padding))
    batch, columns, count = call.x.shape
    if count != blocks or columns % prod(block):
        raise GraphError(f"{columns} x {count} columns do not make an image of {image} from blocks of {block}")
    return (TensorType((batch, columns // prod(block), *image), call.x.dtype),)


_AXES: Final[dict[str, Attribute]] = {"axes": "all", "keep_dims": True}


def _reduction(name: str, summary: str, each_in: Work, each_out: Work | None = None) -> Op:
    work = _works(each_in=each_in, each_out=each_out)
    return Op(name, Kind.REDUCTION, "x axes:control?", _reduce, work, attributes=_AXES, summary=summary)


_POSITION: Final[dict[str, Attribute]] = {"axis": 0, "keep_dims": True}

REDUCTION_OPERATORS: Final = (
    _reduction("reduce_sum", "sum", Work(add=1)),
    _reduction("reduce_mean", "mean: 1 div an output", Work(add=1), Work(div=1)),
    _reduction("reduce_max", "largest", Work(compare=1)),
    _reduction("reduce_min", "smallest", Work(compare=1)),
    _reduction("reduce_prod", "product", Work(mul=1)),
    _reduction("reduce_l1", "sum of absolute values", Work(add=1, compare=1)),
    _reduction("reduce_l2", "root of the sum of squares", Work(add=1, mul=1), Work(special=1)),
    _reduction("reduce_sum_square", "sum of squares", Work(add=1, mul=1)),
    _reduction("reduce_log_sum", "log of the sum", Work(add=1), Work(special=1)),
    _reduction(
        "reduce_log_sum_exp",
        "log of the sum of exp(x - largest), plus the largest",
        Work(add=2, compare=1, special=1),
        Work(add=1, special=1),
    ),
    *(
        Op(
            name,
            Kind.REDUCTION,
            "x",
            _extreme_position,
            _works(each_in=Work(compare=1)),
            attributes=_POSITION,
            summary=f"position of the {which} value along an axis",
        )
        for name, which in (("arg_max", "largest"), ("arg_min", "smallest"))
    ),
    Op(
        "cumsum",
        Kind.REDUCTION,
        "x axis:control?",
        _running,
        _works(each_in=Work(add=1)),
        attributes={"axis": REQUIRED},
        summary="running sum along an axis",
    ),
    Op(
        "cumprod",
        Kind.REDUCTION,
        "x axis:control?",
        _running,
        _works(each_in=Work(mul=1)),
        attributes={"axis": REQUIRED},
        summary="running product along an axis",
    ),
    Op(
        "col2im",
        Kind.REDUCTION,
        "x image_shape:control? block_shape:control?",
        when_known("image_shape", "block_shape")(_col2im),
        _works(each_in=Work(add=1)),
        attributes={"image_shape": REQUIRED, "block_shape": REQUIRED, "stride": 1, "padding": 0, "dilation": 1},
        summary="columns added up to an image",
    ),
)

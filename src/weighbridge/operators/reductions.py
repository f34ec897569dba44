"""Reductions over axes, running sums, and positions of extremes.

The work of a reduction is stated between two elements (a sum of n values is n - 1 adds, as in a pool), for each element that
goes in and for each result.  Extremes are 1 compare between two elements, absolute values 1 compare, a square 1 mul.  Columns
are added to an image of zeros: 1 add an element.  A variance takes two passes, for the mean and for the squares of what is
left.  Of complex numbers sums and means count twice, of others the work is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .arithmetic import complex_operands
from .gathering import COMBINED
from .halo_axes import along, over_axes
from .record import REQUIRED, Call, Keeps, Kind, Op, Work
from .rules import INT64, axes_of, in_words, known, sizes_of, when_known
from .shapes import asked_outputs, axis_of, per_axis, sliding_output, window_output, window_padding

__all__ = ["REDUCTION_OPERATORS"]

_NONE: Final = Work()


def _reduced(call: Call) -> Shape:
    axes = set(axes_of(call, len(call.x.shape)))
    if call["keep_dims"]:
        return tuple(1 if axis in axes else size for axis, size in enumerate(call.x.shape))
    return tuple(size for axis, size in enumerate(call.x.shape) if axis not in axes)


@when_known("axes")
def _reduce(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(_reduced(call), call.x.dtype),)


def _extreme_position(call: Call) -> tuple[TensorType | DType, ...]:
    if not known(call, "axis"):
        return (INT64,)
    axis = axis_of(call.integer("axis"), len(call.x.shape))
    kept = (1,) if call["keep_dims"] else ()
    return (TensorType(call.x.shape[:axis] + kept + call.x.shape[axis + 1 :], INT64),)


def _works(
    *, between: Work = _NONE, each_in: Work = _NONE, each_out: Work = _NONE, is_linear: bool = False
) -> Callable[[Call], Work | None]:
    """Work ``between`` n values is done n - 1 times for each result; ``is_linear``: twice for the two parts of complex ones."""

    def work(call: Call) -> Work | None:
        parts = 2 if complex_operands(call) else 1
        if parts > 1 and not is_linear:
            return None
        read, made = call.x.elements * parts, call.outputs[0].elements * parts
        return between.times(max(read - made, 0)).plus(each_in.times(read)).plus(each_out.times(made))

    parts = ((between, "between two elements"), (each_in, "an element"), (each_out, "a result"))
    work.__doc__ = "; ".join(f"{in_words(unit)} {where}" for unit, where in parts if unit != _NONE) + "."
    return work


@when_known("axes")
def _variance(call: Call) -> tuple[TensorType, ...]:
    one = TensorType(_reduced(call), call.x.dtype)
    return asked_outputs(call, {"variance": one, "mean": one})


def _variance_work(call: Call) -> Work | None:
    """3 add, 1 mul an element, 2 div less 2 add a result; 1 special a result for the root."""
    if complex_operands(call):
        return None
    read, made = call.x.elements, call.outputs[0].elements
    passes = Work(add=1).times(2 * max(read - made, 0)).plus(Work(add=1, mul=1).times(read))
    return passes.plus(Work(div=2, special=1 if call["rooted"] else 0).times(made))


@when_known("axis")
def _running(call: Call) -> tuple[TensorType, ...]:
    axis_of(call.integer("axis"), len(call.x.shape))
    return (call.x,)


def _running_extreme(call: Call) -> tuple[TensorType, ...]:
    axis_of(call.integer("axis"), len(call.x.shape))
    return asked_outputs(call, {"y": call.x, "indices": TensorType(call.x.shape, INT64)})


def _running_work(**kinds: int) -> Callable[[Call], Work | None]:
    between = Work(**kinds)

    def work(call: Call) -> Work | None:
        if complex_operands(call):
            return None
        axis = axis_of(call.integer("axis"), len(call.x.shape))
        size = call.x.shape[axis]
        rows = call.x.elements // size if size else 0
        return between.times(call.x.elements - rows)

    work.__doc__ = f"{in_words(between)} between two elements."
    return work


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


@when_known("kernel", "stride", "dilation")
def _reduce_window(call: Call) -> tuple[TensorType, ...]:
    """A window over all axes; x may be spread out first (``x_dilation``) and padded."""
    rank = len(call.x.shape)
    spread = per_axis(call.integers("x_dilation"), rank, "x_dilation")
    if any(step < 1 for step in spread):
        raise GraphError(f"x_dilation of {spread}")
    sizes = tuple(max((size - 1) * step + 1, 0) for size, step in zip(call.x.shape, spread, strict=True))
    return (TensorType(sliding_output(call, sizes, _window(call)), call.x.dtype),)


def _window(call: Call) -> Shape:
    return per_axis(call.integers("kernel"), len(call.x.shape), "kernel")


def _reduce_window_work(call: Call) -> Work | None:
    """1 add, 1 mul or 1 compare, by the reduction, between two elements of each window; not known of another function."""
    if call["reduction"] not in COMBINED or complex_operands(call):
        return None
    return COMBINED[call.text("reduction")].times((prod(_window(call)) - 1) * call.outputs[0].elements)


_AXES: Final[dict[str, Attribute]] = {"axes": "all", "keep_dims": True}


def _reduction(name: str, summary: str, work: Callable[[Call], Work | None], keeps: str = "") -> Op:
    slots = "x axes:control?"
    return Op(
        name, Kind.REDUCTION, slots, _reduce, work, attributes=_AXES, summary=summary, keeps=keeps, halo=over_axes
    )


_POSITION: Final[dict[str, Attribute]] = {"axis": 0, "keep_dims": True}
_SUM: Final = Work(add=1)
_ROOT_OR_LOG: Final = Work(special=1)

REDUCTION_OPERATORS: Final = (
    _reduction("reduce_sum", "sum", _works(between=_SUM, is_linear=True)),
    _reduction("reduce_mean", "mean", _works(between=_SUM, each_out=Work(div=1), is_linear=True)),
    _reduction("reduce_max", "largest", _works(between=Work(compare=1))),
    _reduction("reduce_min", "smallest", _works(between=Work(compare=1))),
    _reduction("reduce_prod", "product", _works(between=Work(mul=1)), Keeps.INPUT),
    _reduction("reduce_l1", "sum of absolute values", _works(between=_SUM, each_in=Work(compare=1)), Keeps.BITS),
    _reduction(
        "reduce_l2",
        "root of the sum of squares",
        _works(between=_SUM, each_in=Work(mul=1), each_out=_ROOT_OR_LOG),
        Keeps.INPUT,
    ),
    _reduction("reduce_sum_square", "sum of squares", _works(between=_SUM, each_in=Work(mul=1)), Keeps.INPUT),
    _reduction("reduce_log_sum", "log of the sum", _works(between=_SUM, each_out=_ROOT_OR_LOG), Keeps.INPUT),
    _reduction(
        "reduce_log_sum_exp",
        "log of the sum of exp(x - largest), plus the largest",
        _works(
            between=Work(add=1, compare=1),
            each_in=Work(add=1, special=1),
            each_out=Work(add=1, special=1),
        ),
        Keeps.INPUT,
    ),
    Op(
        "variance",
        Kind.REDUCTION,
        "x axes:control?",
        _variance,
        _variance_work,
        attributes={**_AXES, "rooted": False, "outputs": ("variance",)},
        summary="variance, or where rooted the standard deviation, and where asked for the mean",
        halo=over_axes,
        keeps=Keeps.INPUT,
    ),
    *(
        Op(
            name,
            Kind.REDUCTION,
            "x",
            _extreme_position,
            _works(between=Work(compare=1)),
            attributes=_POSITION,
            summary=f"position of the {which} value along an axis",
            halo=over_axes,
        )
        for name, which in (("arg_max", "largest"), ("arg_min", "smallest"))
    ),
    Op(
        "cumsum",
        Kind.REDUCTION,
        "x axis:control?",
        _running,
        _running_work(add=1),
        attributes={"axis": REQUIRED},
        summary="running sum along an axis",
        halo=along,
    ),
    Op(
        "cumprod",
        Kind.REDUCTION,
        "x axis:control?",
        _running,
        _running_work(mul=1),
        attributes={"axis": REQUIRED},
        summary="running product along an axis",
        halo=along,
        keeps=Keeps.INPUT,
    ),
    Op(
        "cumulative_log_sum_exp",
        Kind.REDUCTION,
        "x axis:control?",
        _running,
        _running_work(compare=2, add=3, special=2),
        attributes={"axis": REQUIRED},
        summary="running log of the sum of exp(x) along an axis",
        halo=along,
        keeps=Keeps.INPUT,
    ),
    *(
        Op(
            name,
            Kind.REDUCTION,
            "x",
            _running_extreme,
            _running_work(compare=1),
            attributes={"axis": REQUIRED, "outputs": ("y",)},
            summary=f"{which} value so far along an axis, and where asked for its position",
            halo=along,
        )
        for name, which in (("cumulative_max", "largest"), ("cumulative_min", "smallest"))
    ),
    Op(
        "reduce_window",
        Kind.REDUCTION,
        "x initial:control? kernel:control? stride:control? dilation:control?",
        _reduce_window,
        _reduce_window_work,
        attributes={
            "kernel": REQUIRED,
            "stride": 1,
            "dilation": 1,
            "padding": 0,
            "x_dilation": 1,
            "reduction": REQUIRED,
        },
        summary="sum, product, largest or smallest of each window over all axes",
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

"""Between real and quantised values.

The work of an element: quantising is 1 div (by the scale), 1 add (rounding), 1 add more where there is a zero point, 2 compare
(to the range of the type); dequantising is 1 mul, and 1 add where there is a zero point; from one scale to another is 1 mul, 3
add (two zero points, rounding) and 2 compare.  Dynamic quantisation takes 2 compare an element more for the range, and for the
tensor as a whole 4 compare, 3 add and 2 div for scale and zero point.

Where real numbers stand between dequantising and quantising, the file may only note in this way that a quantised operator computes
them (QDQ); where ``folds`` is false the runtime computes with real numbers, as TensorFlow Lite does.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .halo import needs_all, of_x
from .halo_axes import scaled_halo
from .record import Call, Kind, Op, Work
from .rules import dtype_of, each
from .shapes import asked_outputs, axis_of

__all__ = ["QUANTISATION_OPERATORS", "dynamic_quantisation"]

_UINT8, _FLOAT32 = DTYPES["uint8"], DTYPES["float32"]


def _check_scale(call: Call) -> None:
    """One scale, one a position of ``axis``, or one a block of ``block_size`` positions along it.

    Without an operand the scale, and a zero point beside it, are the quantised tensor's own.
    """
    if not call.has("scale"):
        return
    shape, scale, block = call.x.shape, call.scale.shape, call.integer("block_size")
    if call.scale.elements == 1 and len(scale) <= 1:
        return
    axis = axis_of(call.integer("axis"), len(shape))
    if block:
        blocks = -(-shape[axis] // block) if block > 0 else -1
        fits = scale == (*shape[:axis], blocks, *shape[axis + 1 :])
    else:
        fits = scale == (shape[axis],)
    if not fits:
        raise GraphError(f"a scale of shape {scale} does not fit {shape} along axis {axis}")


def _check_zero_point(call: Call) -> None:
    if call.has("zero_point") and (not call.has("scale") or call.zero_point.elements != call.scale.elements):
        scales = call.scale.elements if call.has("scale") else 0
        raise GraphError(f"{scales} scales and {call.zero_point.elements} zero points")


def _shifts(call: Call) -> int:
    """1 where values are shifted by a zero point."""
    return int(call.has("zero_point") or not call.has("scale"))


def _quantize(call: Call) -> tuple[TensorType, ...]:
    """``dtype`` wins, else the zero point's type, else 8 unsigned bits."""
    _check_scale(call)
    _check_zero_point(call)
    default = call.zero_point.dtype if call.has("zero_point") else _UINT8
    return (TensorType(call.x.shape, dtype_of(call, default)),)


def _quantize_work(call: Call) -> Work:
    """1 add, 1 div, 2 compare an element; 1 add for a zero point."""
    return Work(add=1 + _shifts(call), div=1, compare=2).times(call.x.elements)


def _dequantize(call: Call) -> tuple[TensorType | DType, ...]:
    _check_scale(call)
    _check_zero_point(call)
    return (TensorType(call.x.shape, dtype_of(call, call.scale.dtype if call.has("scale") else _FLOAT32)),)


def _dequantize_work(call: Call) -> Work:
    """1 mul an element; 1 add for a zero point."""
    return Work(add=_shifts(call), mul=1).times(call.x.elements)


def _requantize(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, dtype_of(call, call.x.dtype)),)


def _dynamic_quantize(call: Call) -> tuple[TensorType, ...]:
    dtype = dtype_of(call)
    return (TensorType(call.x.shape, dtype), TensorType((), _FLOAT32), TensorType((), dtype))


def _dynamic_quantize_work(call: Call) -> Work:
    """2 add, 1 div, 4 compare an element; 3 add, 2 div, 4 compare in all."""
    return dynamic_quantisation(call.x.elements)


def dynamic_quantisation(elements: int) -> Work:
    """The work of quantising so many values by their own range.

    Range, then quantisation with a zero point; scale: range over levels; zero point: rounded and kept in range.
    """
    return Work(add=2, div=1, compare=4).times(elements).plus(Work(add=3, div=2, compare=4))


def _fake_quantize_work(call: Call) -> Work | None:
    """3 add, 1 mul, 1 div, 2 compare an element.

    Unknown where it may also observe the range of the values (quantisation-aware training), as only a value tells.
    """
    return None if call["observes"] else Work(add=3, mul=1, div=1, compare=2).times(call.x.elements)


def _fake_quantize(call: Call) -> tuple[TensorType, ...]:
    if call.has("scale"):
        _check_scale(call)
        _check_zero_point(call)
    return asked_outputs(call, {"y": call.x, "mask": TensorType(call.x.shape, DTYPES["bool"])})


QUANTISATION_OPERATORS: Final = (
    Op(
        "quantize",
        Kind.QUANTISATION,
        "x scale:statistic? zero_point:statistic?",
        _quantize,
        _quantize_work,
        attributes={"dtype": "", "axis": 1, "block_size": 0, "folds": True},
        summary="x / scale, rounded, plus the zero point, kept in the range of the type",
        halo=scaled_halo,
    ),
    Op(
        "dequantize",
        Kind.QUANTISATION,
        "x scale:statistic? zero_point:statistic?",
        _dequantize,
        _dequantize_work,
        attributes={"dtype": "", "axis": 1, "block_size": 0},
        summary="scale (x - zero point)",
        halo=scaled_halo,
    ),
    Op(
        "requantize",
        Kind.QUANTISATION,
        "x",
        _requantize,
        each(add=3, mul=1, compare=2),
        attributes={"dtype": ""},
        summary="quantised values at another scale, kept in the range of the type",
        halo=of_x,
    ),
    Op(
        "fake_quantize",
        Kind.QUANTISATION,
        "x scale:statistic? zero_point:statistic?",
        _fake_quantize,
        _fake_quantize_work,
        attributes={"axis": 1, "block_size": 0, "observes": False, "outputs": ("y",)},
        summary="quantised with a zero point and dequantised again",
        halo=scaled_halo,
    ),
    Op(
        "dynamic_quantize",
        Kind.QUANTISATION,
        "x",
        _dynamic_quantize,
        _dynamic_quantize_work,
        attributes={"dtype": "uint8"},
        summary="quantised by the tensor's own range, with the scale and the zero point",
        halo=needs_all,
    ),
)

"""Derivatives, as graphs of a training step hold them: how the loss changes with an operand, given how it does with the result.

``dy`` is the derivative by the result of the function, ``x`` its operand, ``y`` its result.  The work follows the formulas as
the records state them, with the conventions of unary functions.  No product of matrices is among them: those of layers are
ordinary matrix products in such a graph.
"""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .halo import no_halo
from .record import REQUIRED, Call, Kind, Op, Work, nothing
from .rules import INT64, dtype_of, each, in_its_place, known, selects, sizes_of
from .shapes import asked_outputs, axis_of, broadcast
from .time_class import TimeClass

__all__ = ["GRADIENT_OPERATORS"]


def _as_gradient(call: Call) -> tuple[TensorType, ...]:
    return (call.dy,)


def _of_function(call: Call) -> tuple[TensorType, ...]:
    """The derivative by x: of the shape of x."""
    value = call.x if call.has("x") else call.y
    if call.dy.shape != value.shape:
        raise GraphError(f"a derivative of shape {call.dy.shape} for values of shape {value.shape}")
    return (call.dy,)


def _function(name: str, operands: str, summary: str, **kinds: int) -> Op:
    return Op(
        name, Kind.ELEMENTWISE, operands, _of_function, each(**kinds), summary=summary, may_overwrite=in_its_place
    )


_GELU: Final = {
    "none": Work(add=2, mul=7, special=2),
    "tanh": Work(add=5, mul=11, special=1),
    "sigmoid": Work(add=3, mul=4, div=1, special=1),
}


def _gelu_work(call: Call) -> Work:
    """2 add, 7 mul, 2 special an element; ``tanh`` 5 add, 11 mul, 1 special; ``sigmoid`` 3 add, 4 mul, 1 div, 1 special.

    The formulas: (1 + erf(x / sqrt 2)) / 2 + x exp(-x^2 / 2) / sqrt(2 pi); (1 + t) / 2 + x (1 - t^2) (1 + 0.134145 x^2)
    sqrt(2 / pi) / 2 with t = tanh(sqrt(2 / pi) x (1 + 0.044715 x^2)); s (1 + a x (1 - s)) with s = sigmoid(a x); each times dy.
    """
    unit = _GELU.get(call.text("approximate"))
    if unit is None:
        raise GraphError(f"gelu has no approximation {call['approximate']!r}")
    return unit.times(call.x.elements)


def _softmax(call: Call) -> tuple[TensorType, ...]:
    axis, rank = call.integer("axis"), len(call.y.shape)
    if axis != rank or not call["flatten"]:
        axis_of(axis, rank)
    return _of_function(call)


def _log_softmax_work(call: Call) -> Work:
    """2 add, 1 mul, 1 special an element: dy - exp(y) times the sum of dy over a row."""
    return Work(add=2, mul=1, special=1).times(call.y.elements)


def _tail(call: Call) -> Shape:
    """The axes that are normalised together."""
    shape = call.x.shape[axis_of(call.integer("axis"), len(call.x.shape)) :]
    if call.dy.shape != call.x.shape:
        raise GraphError(f"a derivative of shape {call.dy.shape} for values of shape {call.x.shape}")
    if broadcast(call.scale.shape, shape) != shape:
        raise GraphError(f"scale of shape {call.scale.shape} does not fit {shape}")
    return shape


def _layer_norm(call: Call) -> tuple[TensorType, ...]:
    _tail(call)
    return asked_outputs(call, {"dx": call.dy, "dscale": call.scale, "dbias": call.scale})


def _layer_norm_work(call: Call) -> Work:
    """5 add, 5 mul an element, 3 add less without the mean of an RMS norm; 1 add, 1 mul for ``dscale``, 1 add for ``dbias``; 2 div
    a row, 1 without the mean.

    With x' = (x - mean) inverse, g = dy scale: dx = inverse (g - mean(g) - x' mean(g x')), dscale = sum of dy x', dbias of dy.
    """
    rows = call.x.elements // max(prod(_tail(call)), 1)
    centred = int(bool(call["centred"]))
    asked = call["outputs"] if isinstance(call["outputs"], tuple) else (call["outputs"],)
    scaled, shifted = int("dscale" in asked), int("dbias" in asked)
    unit = Work(add=2 + 3 * centred + scaled + shifted, mul=5 + scaled)
    return unit.times(call.x.elements).plus(Work(div=1 + centred).times(rows))


def _cross_entropy(call: Call) -> tuple[TensorType, ...]:
    shape = call.log_probabilities.shape
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    if not shape or call.targets.shape != rows:
        raise GraphError(f"targets of shape {call.targets.shape} for scores of shape {shape}")
    return (TensorType(shape, dtype_of(call, call.log_probabilities.dtype)),)


def _cross_entropy_work(call: Call) -> Work:
    """1 mul, 1 special an element: exp(log probability) times dy; 1 add a target, where 1 is taken off, 1 mul for a class weight
    and 1 div in all for a mean.
    """
    targets = call.targets.elements
    mean = Work(div=int(call.text("reduction") == "mean"))
    unit = Work(mul=1, special=1).times(call.log_probabilities.elements)
    return unit.plus(Work(add=1, mul=int(call.has("weight"))).times(targets)).plus(mean)


def _slice(call: Call) -> tuple[TensorType | DType, ...]:
    if not known(call, "shape"):
        return (call.dy.dtype,)
    shape = sizes_of(call, "shape")
    if len(shape) != len(call.dy.shape) or any(part > whole for part, whole in zip(call.dy.shape, shape, strict=True)):
        raise GraphError(f"{call.dy.shape} is no part of {shape}")
    return (TensorType(shape, call.dy.dtype),)


def _broadcast_axes(call: Call) -> tuple[TensorType | DType, ...]:
    """``lengths`` says how many axes there are for either of the two."""
    if not known(call, "lengths"):
        return INT64, INT64
    lengths = sizes_of(call, "lengths")
    if len(lengths) != 2:
        raise GraphError(f"lengths are 2 numbers, not {lengths}")
    return tuple(TensorType((length,), INT64) for length in lengths)


def _accumulated_work(call: Call) -> Work:
    """1 add an element."""
    return Work(add=call.x.elements)


def _accumulated(call: Call) -> tuple[TensorType, ...]:
    if call.x.shape != call.total.shape:
        raise GraphError(f"values of shape {call.x.shape} for a total of shape {call.total.shape}")
    return asked_outputs(call, {"done": TensorType((1,), DTYPES["bool"]), "y": call.total})


def _yielded(call: Call) -> tuple[TensorType | DType, ...]:
    return (call.x if call["same_shape"] else call.x.dtype,)


_AXIS: Final[dict[str, Attribute]] = {"axis": -1, "flatten": False}

GRADIENT_OPERATORS: Final = (
    _function("relu_gradient", "dy y", "dy where the result of a ReLU is above 0", compare=1),
    _function("sigmoid_gradient", "dy y", "dy y (1 - y)", add=1, mul=2),
    _function("tanh_gradient", "dy y", "dy (1 - y^2)", add=1, mul=2),
    Op(
        "gelu_gradient",
        Kind.ELEMENTWISE,
        "dy x",
        _of_function,
        _gelu_work,
        attributes={"approximate": "none"},
        summary="dy times the derivative of gelu at x",
        may_overwrite=in_its_place,
    ),
    Op(
        "dropout_gradient",
        Kind.ELEMENTWISE,
        "dy mask ratio:control? training:control?",
        _as_gradient,
        each(mul=1, compare=1),
        summary="dy where the mask kept the value, scaled as the dropout was",
    ),
    Op(
        "softmax_gradient",
        Kind.NORMALISATION,
        "dy y",
        _softmax,
        each(add=2, mul=2),
        attributes=_AXIS,
        summary="y (dy - the sum of dy y over a row)",
        time=TimeClass.SOFTMAX,
    ),
    Op(
        "log_softmax_gradient",
        Kind.NORMALISATION,
        "dy y",
        _softmax,
        _log_softmax_work,
        attributes=_AXIS,
        summary="dy - exp(y) times the sum of dy over a row",
        time=TimeClass.SOFTMAX,
    ),
    Op(
        "layer_norm_gradient",
        Kind.NORMALISATION,
        "dy x scale:affine mean? inverse_deviation? bias:affine?",
        _layer_norm,
        _layer_norm_work,
        attributes={"axis": -1, "centred": True, "outputs": ("dx", "dscale", "dbias")},
        summary="derivatives of layer norm by x, scale and bias; of RMS norm where it is not centred",
    ),
    Op(
        "softmax_cross_entropy_gradient",
        Kind.REDUCTION,
        "dy log_probabilities targets weight:statistic?",
        _cross_entropy,
        _cross_entropy_work,
        attributes={"reduction": "mean", "dtype": ""},
        summary="(exp(log probability) - 1 at the target class) dy",
    ),
    Op(
        "slice_gradient",
        Kind.MOVE,
        "dy shape:control? starts:control? ends:control? axes:control? steps:control?",
        _slice,
        nothing,
        traffic=selects("dy"),
        attributes={"shape": REQUIRED},
        summary="zeros, with dy where the slice was taken from",
    ),
    Op(
        "broadcast_axes",
        Kind.INDEX,
        "a:control b:control",
        _broadcast_axes,
        nothing,
        attributes={"lengths": REQUIRED},
        summary="of two shapes that were broadcast, the axes to sum the derivative over for either",
    ),
    Op(
        "accumulate",
        Kind.ELEMENTWISE,
        "total x overwrite:control?",
        _accumulated,
        _accumulated_work,
        attributes={"outputs": ("done",)},
        summary="x added to a running total in its place, and whether that was done",
        halo=no_halo,
    ),
    Op(
        "yield",
        Kind.MOVE,
        "x",
        _yielded,
        nothing,
        attributes={"same_shape": True},
        summary="x handed to the program that runs the model, which hands a tensor of the same type back",
    ),
)

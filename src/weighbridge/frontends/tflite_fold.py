"""What TensorFlow Lite's operators make of small tensors whose values are known: shapes, mostly.

Nearly all of them are operators of ONNX, whose folds do the work, with operands in the place of attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

from weighbridge.errors import GraphError
from weighbridge.frontends import onnx_fold
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_arrays import MAX_ELEMENTS, Array, Question
from weighbridge.frontends.tflite_strided_slice import BEFORE_ALL, plan_of
from weighbridge.graph import Shape

__all__ = ["FOLDABLE", "fold"]

Arrays = Sequence[Array | None]
Shapes = Sequence[Shape | None]
Results = Sequence[Array] | None
Fold = Callable[[Foreign, Arrays, Shapes], Results]


def fold(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    """The results of a call, None where they cannot be told; ``shapes`` are those that our rules know."""
    if call.get("fused_activation_function", 0):
        return None
    try:
        return _FOLDS[call.op](call, inputs, shapes)
    except (IndexError, GraphError):
        return None  # operands that the file left out, or that do not fit


def _onnx(op: str, inputs: Arrays, shapes: Shapes, **attributes: Any) -> Results:
    return onnx_fold.fold(Question(op, tuple(inputs), attributes, tuple(shapes), 1))


def _ints(array: Array | None) -> tuple[int, ...]:
    """Raises ``GraphError`` where these are no known whole numbers."""
    found = None if array is None else array.ints
    if found is None:
        raise GraphError("the values are not known")
    return found


def _same_operands(op: str) -> Fold:
    def folded(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
        return _onnx(op, inputs, shapes)

    return folded


def _of(op: str, position: int) -> Fold:
    """The one operand that matters, of which the shape of the result makes the rest."""

    def folded(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
        return _onnx(op, inputs[position : position + 1], shapes)

    return folded


def _cast(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    return _onnx("Cast", inputs, shapes, dtype=call.stated[0].dtype.name)


def _zeros(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    shape = shapes[0]
    return None if shape is None else [Array(call.stated[0].dtype.name, shape, (0,) * prod(shape))]


def _transpose(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    return _onnx("Transpose", inputs[:1], shapes, perm=_ints(inputs[1]))


def _concat(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    return _onnx("Concat", inputs, shapes, axis=call.get("axis", 0))


def _pack(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    """Every operand under a new axis, then joined."""
    raised = [None if one is None else _raised(one, call.get("axis", 0)) for one in inputs]
    return _onnx("Concat", raised, shapes, axis=call.get("axis", 0))


def _raised(array: Array, axis: int) -> Array:
    place = axis % (len(array.shape) + 1)
    return array._replace(shape=(*array.shape[:place], 1, *array.shape[place:]))


def _unpack(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    """Parts of one element, without their axis."""
    x = inputs[0]
    if x is None or not x.shape:
        return None
    axis = call.get("axis", 0) % len(x.shape)
    parts = [(*x.shape[:axis], 1, *x.shape[axis + 1 :])] * len(shapes)
    found = _onnx("Split", inputs, parts, axis=axis)
    return None if found is None else [one._replace(shape=x.shape[:axis] + x.shape[axis + 1 :]) for one in found]


def _split(x: int, axis: int) -> Fold:
    def folded(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
        return _onnx("Split", inputs[x : x + 1], shapes, axis=_ints(inputs[axis])[0])

    return folded


def _gather(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    return None if call.get("batch_dims", 0) else _onnx("Gather", inputs, shapes, axis=call.get("axis", 0))


def _slice(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    begin, size = _ints(inputs[1]), _ints(inputs[2])
    ends = [MAX_ELEMENTS if count == -1 else first + count for first, count in zip(begin, size, strict=False)]
    return _onnx("Slice", inputs[:1], shapes, starts=begin, ends=ends)


def _strided_slice(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    x = inputs[0]
    if x is None:
        return None
    begin, end, strides = (_ints(inputs[position]) for position in (1, 2, 3))
    plan = plan_of(call.attributes, x.shape, len(begin), begin, end, strides)
    found = _onnx("Slice", inputs[:1], shapes, **plan.bounds)
    shape = tuple(size for size in plan.shape if size is not None)
    return None if found is None else [found[0]._replace(shape=shape)]


def _reversed(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    axes = _ints(inputs[1])
    ends, steps = (BEFORE_ALL,) * len(axes), (-1,) * len(axes)
    x = inputs[0]
    starts = [x.shape[axis] - 1 for axis in axes] if x is not None else []
    return _onnx("Slice", inputs[:1], shapes, starts=starts, ends=ends, axes=axes, steps=steps)


def _reduce(op: str) -> Fold:
    """No axes reduce nothing, of ONNX everything."""

    def folded(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
        axes, x = _ints(inputs[1]), inputs[0]
        if not axes:
            return None if x is None else [x]
        return _onnx(op, inputs[:1], shapes, axes=axes, keepdims=int(call.get("keep_dims", False)))

    return folded


def _differ(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    found = _onnx("Equal", inputs, shapes)
    return None if found is None else _onnx("Not", found, shapes)


def _square(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    return _onnx("Mul", (inputs[0], inputs[0]), shapes)


def _squared_difference(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    found = _onnx("Sub", inputs, shapes)
    return None if found is None else _onnx("Mul", (found[0], found[0]), shapes)


def _floor_div(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    """What is left of a division downwards, taken off first."""
    rest = _onnx("Mod", inputs, shapes)
    whole = None if rest is None else _onnx("Sub", (inputs[0], rest[0]), shapes)
    return None if whole is None else _onnx("Div", (whole[0], inputs[1]), shapes)


def _running(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    attributes = {name: int(call.get(name, False)) for name in ("reverse", "exclusive")}
    return _onnx("CumSum", inputs[:1], shapes, **attributes)


def _common_shape(call: Foreign, inputs: Arrays, shapes: Shapes) -> Results:
    one, other = _ints(inputs[0]), _ints(inputs[1])
    rank = max(len(one), len(other))
    padded = [(1,) * (rank - len(shape)) + shape for shape in (one, other)]
    pairs = list(zip(*padded, strict=True))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        return None
    return [Array(call.stated[0].dtype.name, (rank,), tuple(b if a == 1 else a for a, b in pairs))]


_BY_OPERANDS: Final[Mapping[str, str]] = {
    "ADD": "Add",
    "SUB": "Sub",
    "MUL": "Mul",
    "DIV": "Div",
    "FLOOR_MOD": "Mod",
    "POW": "Pow",
    "ADD_N": "Sum",
    "MAXIMUM": "Max",
    "MINIMUM": "Min",
    "EQUAL": "Equal",
    "LESS": "Less",
    "LESS_EQUAL": "LessOrEqual",
    "GREATER": "Greater",
    "GREATER_EQUAL": "GreaterOrEqual",
    "LOGICAL_AND": "And",
    "LOGICAL_OR": "Or",
    "LOGICAL_NOT": "Not",
    "NEG": "Neg",
    "ABS": "Abs",
    "SIGN": "Sign",
    "FLOOR": "Floor",
    "CEIL": "Ceil",
    "ROUND": "Round",
    "SQRT": "Sqrt",
    "RELU": "Relu",
    "RANGE": "Range",
    "SELECT": "Where",
    "SELECT_V2": "Where",
}

_FOLDS: Final[Mapping[str, Fold]] = {
    **{name: _same_operands(theirs) for name, theirs in _BY_OPERANDS.items()},
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _of("Identity", 0)),
    "BROADCAST_TO": _of("Expand", 0),
    "FILL": _of("Expand", 1),
    "TILE": _of("Tile", 0),
    "CAST": _cast,
    "ZEROS_LIKE": _zeros,
    "TRANSPOSE": _transpose,
    "CONCATENATION": _concat,
    "PACK": _pack,
    "UNPACK": _unpack,
    "SPLIT": _split(1, 0),
    "SPLIT_V": _split(0, 2),
    "GATHER": _gather,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "REVERSE_V2": _reversed,
    "SQUARE": _square,
    "SQUARED_DIFFERENCE": _squared_difference,
    "FLOOR_DIV": _floor_div,
    "NOT_EQUAL": _differ,
    "CUMSUM": _running,
    "BROADCAST_ARGS": _common_shape,
    "SUM": _reduce("ReduceSum"),
    "MEAN": _reduce("ReduceMean"),
    "REDUCE_PROD": _reduce("ReduceProd"),
    "REDUCE_MAX": _reduce("ReduceMax"),
    "REDUCE_MIN": _reduce("ReduceMin"),
    "REDUCE_ANY": _reduce("ReduceMax"),
    "REDUCE_ALL": _reduce("ReduceMin"),
}

FOLDABLE: Final = frozenset(_FOLDS)
"""The operators whose results can be told."""

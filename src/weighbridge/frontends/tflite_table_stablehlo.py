"""Rules of the operators that TensorFlow Lite takes over from StableHLO (https://openxla.org/stablehlo/spec).

Their numbers are options, not operands.  A shape that follows from no option is the one that the file states of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.tflite_table_stablehlo_contractions import STABLEHLO_CONTRACTION_RULES
from weighbridge.frontends.tflite_table_stablehlo_indexing import STABLEHLO_INDEXING_RULES
from weighbridge.frontends.tflite_table_stablehlo_options import axes, numbers
from weighbridge.frontends.tflite_table_stablehlo_reductions import STABLEHLO_REDUCTION_RULES
from weighbridge.graph import UNKNOWN, Attribute, TensorType

__all__ = ["STABLEHLO_RULES"]

_UNARY: Final[Mapping[str, str]] = {
    "ABS": "abs",
    "CBRT": "cbrt",
    "COSINE": "cos",
    "EXPONENTIAL": "exp",
    "FLOOR": "floor",
    "LOG": "log",
    "LOGISTIC": "sigmoid",
    "NEGATE": "neg",
    "RSQRT": "rsqrt",
    "TANH": "tanh",
}
_PAIRS: Final[Mapping[str, str]] = {
    "ADD": "add",
    "DIVIDE": "div",
    "MULTIPLY": "mul",
    "POWER": "pow",
    "REMAINDER": "mod",
    "SHIFT_LEFT": "bit_shift",
    "SUBTRACT": "sub",
}
_COMPARISONS: Final = ("equal", "not_equal", "greater_or_equal", "greater", "less_or_equal", "less")
"""StablehloComparisonDirection of the schema."""


def _logic(call: Foreign) -> Sequence[Step]:
    """Of truth values, or of every bit."""
    name = "and" if call.op == "STABLEHLO_AND" else "or"
    is_logical = call.services.dtype_name(call.operand(0)) == "bool"
    return (Step(name if is_logical else f"bitwise_{name}", bind(call, "a b"), {}, call.outputs),)


def _compare(call: Foreign) -> Sequence[Step]:
    direction = call.get("comparison_direction", 0)
    if not 0 <= direction < len(_COMPARISONS):
        raise GraphError(f"the comparison {direction} is not known", where=call.name)
    return (Step(_COMPARISONS[direction], bind(call, "a b"), {}, call.outputs),)


def _clamp(call: Foreign) -> Sequence[Step]:
    """Between two bounds: numbers where they are stored, else operands."""
    bounds = [call.values(position) for position in (0, 2)]
    low, high = (one[0] if one and len(one) == 1 and isfinite(one[0]) else None for one in bounds)
    if low is None or high is None:
        return (Step("clip_by_tensor", bind(call, "low x high"), {}, call.outputs),)
    return (Step("clip", [("x", call.operand(1))], {"low": low, "high": high}, call.outputs),)


def _dtype(call: Foreign) -> Mapping[str, Attribute]:
    return {"dtype": call.stated[0].dtype.name}


def _stated(call: Foreign) -> Attribute:
    """The shape that the file states of the result, of which one size may be open."""
    shape = call.stated[0].shape
    return UNKNOWN if shape.count(-1) > 1 else shape


def _reshape(call: Foreign) -> Mapping[str, Attribute]:
    return {"shape": _stated(call), "allow_zero": True}


def _broadcast(call: Foreign) -> Sequence[Step]:
    """The axes of the operand are some of the result's, in any order; along the others it is repeated."""
    x, target = call.type(0), call.stated[0].shape
    if x is None or -1 in target:
        return (Step("expand", [("x", call.operand(0))], {"shape": UNKNOWN}, call.outputs),)
    places = axes(call, "broadcast_dimensions", len(target), len(x.shape))
    order = tuple(sorted(range(len(places)), key=lambda axis: places[axis]))
    sizes = dict(zip(places, x.shape, strict=True))
    if any(size not in (1, target[place]) for place, size in sizes.items()):
        raise GraphError(f"{x.shape} at the axes {places} does not stretch to {target}", where=call.name)
    steps, tensor = [], call.operand(0)
    if order != tuple(range(len(places))):
        steps.append(Step("transpose", [("x", tensor)], {"permutation": order}, (tensor := call.inner("ordered"),)))
    aligned = tuple(sizes.get(axis, 1) for axis in range(len(target)))
    if len(aligned) != len(x.shape):
        shape: dict[str, Attribute] = {"shape": aligned, "allow_zero": True}
        steps.append(Step("reshape", [("x", tensor)], shape, (tensor := call.inner("aligned"),)))
    return [*steps, Step("expand", [("x", tensor)], {"shape": target}, call.outputs)]


def _slice(call: Foreign) -> Mapping[str, Attribute]:
    starts, ends = numbers(call, "start_indices"), numbers(call, "limit_indices")
    steps = numbers(call, "strides", (1,) * len(starts))
    x = call.type(0)
    if x is not None and not (
        len(starts) == len(ends) == len(steps) == len(x.shape)
        and all(0 <= a <= b <= size for a, b, size in zip(starts, ends, x.shape, strict=True))
    ):
        raise GraphError(f"a slice from {starts} to {ends} of a tensor of shape {x.shape}", where=call.name)
    return {"starts": starts, "ends": ends, "steps": steps}


def _pad(call: Foreign) -> Sequence[Step]:
    """Room between the elements, then before and behind them; a negative pad crops."""
    x = call.type(0)
    rank = len(numbers(call, "edge_padding_low")) if x is None else len(x.shape)
    low, high, between = (
        numbers(call, name, (0,) * rank, rank) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    steps, tensor, value = [], call.operand(0), bind(call, "- value")
    if any(between):
        dilations: dict[str, Attribute] = {"dilations": tuple(one + 1 for one in between)}
        steps.append(Step("dilate", [("x", tensor), *value], dilations, (tensor := call.inner("spread"),)))
    return [*steps, Step("pad", [("x", tensor), *value], {"pads": (*low, *high)}, call.outputs)]


def _iota(call: Foreign) -> Sequence[Step]:
    """0, 1, 2 … along an axis, the same along all others."""
    kind = call.stated[0]
    (axis,) = axes(call, "iota_dimension", len(kind.shape), 1)
    if -1 in kind.shape:
        raise GraphError("the shape of its result is not known", where=call.name)
    attributes: dict[str, Attribute] = {"limit": kind.shape[axis], "dtype": kind.dtype.name}
    if len(kind.shape) == 1:
        return (Step("range", [], attributes, call.outputs),)
    row, column = call.inner("row"), call.inner("column")
    aligned = tuple(size if place == axis else 1 for place, size in enumerate(kind.shape))
    return (
        Step("range", [], attributes, (row,)),
        Step("reshape", [("x", row)], {"shape": aligned, "allow_zero": True}, (column,)),
        Step("expand", [("x", column)], {"shape": kind.shape}, call.outputs),
    )


def _random_bits(call: Foreign) -> Sequence[Step]:
    """The state of the generator comes first, in and out."""
    if len(call.outputs) != 2:
        raise GraphError(f"it has {len(call.outputs)} results, not 2", where=call.name)
    kind: TensorType = call.stated[1]
    if -1 in kind.shape:
        raise GraphError("the shape of its result is not known", where=call.name)
    attributes: dict[str, Attribute] = {"shape": kind.shape, "dtype": kind.dtype.name}
    return (Step("random_bits", bind(call, "state"), attributes, call.outputs),)


def _custom(call: Foreign) -> Sequence[Step]:
    target = str(call.get("call_target_name", ""))[:100]
    raise GraphError(f"{target or 'a custom call'}: what it computes is in the program that runs it", where=call.name)


STABLEHLO_RULES: Final[Mapping[str, Rule]] = {
    **{f"STABLEHLO_{name}": As(ours, "x") for name, ours in _UNARY.items()},
    **{f"STABLEHLO_{name}": As(ours, "a b") for name, ours in _PAIRS.items()},
    **STABLEHLO_CONTRACTION_RULES,
    **STABLEHLO_INDEXING_RULES,
    **STABLEHLO_REDUCTION_RULES,
    "STABLEHLO_AND": _logic,
    "STABLEHLO_OR": _logic,
    "STABLEHLO_MAXIMUM": As("max", "*xs"),
    "STABLEHLO_MINIMUM": As("min", "*xs"),
    "STABLEHLO_CLAMP": _clamp,
    "STABLEHLO_COMPARE": _compare,
    "STABLEHLO_CONVERT": As("cast", "x", _dtype),
    "STABLEHLO_SELECT": As("where", "condition x y"),
    "STABLEHLO_CONCATENATE": As("concat", "*xs", lambda call: {"axis": call.get("dimension", 0)}),
    "STABLEHLO_RESHAPE": As("reshape", "x", _reshape),
    "STABLEHLO_BROADCAST_IN_DIM": _broadcast,
    "STABLEHLO_TRANSPOSE": As("transpose", "x", lambda call: {"permutation": numbers(call, "permutation")}),
    "STABLEHLO_SLICE": As("slice", "x", _slice),
    "STABLEHLO_PAD": _pad,
    "STABLEHLO_IOTA": _iota,
    "STABLEHLO_RNG_BIT_GENERATOR": _random_bits,
    "STABLEHLO_CUSTOM_CALL": _custom,
}

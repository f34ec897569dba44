"""PyTorch's elementwise operators of several tensors, and with them all that computes values without moving them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.frontends.aten_steps import constant, scaled
from weighbridge.frontends.aten_table_functions import RULES_FUNCTIONS
from weighbridge.frontends.aten_table_generators import RULES_GENERATORS
from weighbridge.frontends.aten_table_reductions import RULES_REDUCTIONS
from weighbridge.frontends.foreign import Step

__all__ = ["RULES_VALUES"]

_PAIRS: Final = {
    "mul": "mul",
    "multiply": "mul",
    "remainder": "mod",
    "fmod": "mod",
    "atan2": "atan2",
    "arctan2": "atan2",
    "hypot": "hypot",
    "logaddexp": "log_add_exp",
    "logaddexp2": "log_add_exp",
    "copysign": "copy_sign",
    "eq": "equal",
    "ne": "not_equal",
    "not_equal": "not_equal",
    "lt": "less",
    "less": "less",
    "le": "less_or_equal",
    "less_equal": "less_or_equal",
    "gt": "greater",
    "greater": "greater",
    "ge": "greater_or_equal",
    "greater_equal": "greater_or_equal",
    "logical_and": "and",
    "logical_or": "or",
    "logical_xor": "xor",
    "bitwise_and": "bitwise_and",
    "__and__": "bitwise_and",
    "__iand__": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "__or__": "bitwise_or",
    "__ior__": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "__xor__": "bitwise_xor",
    "__ixor__": "bitwise_xor",
    "bitwise_left_shift": "bit_shift",
    "__lshift__": "bit_shift",
    "__ilshift__": "bit_shift",
    "bitwise_right_shift": "bit_shift",
    "__rshift__": "bit_shift",
    "__irshift__": "bit_shift",
}
_EXTREMES: Final = {
    "maximum": "max",
    "fmax": "max",
    "max.other": "max",
    "minimum": "min",
    "fmin": "min",
    "min.other": "min",
}


def _pair(operator: str, a: str, b: str, result: str) -> Step:
    return Step(operator, [("a", a), ("b", b)], {}, (result,))


def _sum(operator: str) -> Rule:
    """A sum or difference, of which ``alpha`` scales the second operand."""

    def rule(call: AtenCall) -> Sequence[Step]:
        steps, product = scaled(call, call.operand("other"), "alpha")
        return [*steps, _pair(operator, call.operand("self"), product, call.outputs[0])]

    return rule


def _add_relu(call: AtenCall) -> Sequence[Step]:
    """The sum and its activation, fused by passes that prepare a network for the processor."""
    total = call.inner("total")
    steps, product = scaled(call, call.operand("other"), "alpha")
    return [
        *steps,
        _pair("add", call.operand("self"), product, total),
        Step("relu", [("x", total)], {}, call.outputs),
    ]


def _times_power_of_two(call: AtenCall) -> Sequence[Step]:
    """``ldexp``: self times 2 to the power of other."""
    power = call.inner("power")
    return (
        Step("exp2", [("x", call.operand("other"))], {}, (power,)),
        _pair("mul", call.operand("self"), power, call.outputs[0]),
    )


def _rsub(call: AtenCall) -> Sequence[Step]:
    """The other less alpha times self."""
    steps, product = scaled(call, call.operand("self"), "alpha")
    return [*steps, _pair("sub", call.operand("other"), product, call.outputs[0])]


_ROUNDED: Final = {"floor": "floor", "trunc": "truncate"}


def _div(call: AtenCall) -> Sequence[Step]:
    """A quotient, rounded where asked for."""
    mode = call.get("rounding_mode")
    a, b = call.operand("self"), call.operand("other")
    if mode is None:
        return (_pair("div", a, b, call.outputs[0]),)
    if mode not in _ROUNDED:
        raise GraphError(f"a division has no rounding mode {mode!r}", where=call.name)
    quotient = call.inner("quotient")
    return (_pair("div", a, b, quotient), Step(_ROUNDED[str(mode)], [("x", quotient)], {}, call.outputs))


def _floor_divide(call: AtenCall) -> Sequence[Step]:
    quotient = call.inner("quotient")
    return (
        _pair("div", call.operand("self"), call.operand("other"), quotient),
        Step("floor", [("x", quotient)], {}, call.outputs),
    )


def _lerp(call: AtenCall) -> Sequence[Step]:
    """A sum: self + weight (end - self)."""
    difference, moved = call.inner("difference"), call.inner("moved")
    start, steps = call.operand("self"), []
    if call.has("weight"):
        weight = call.operand("weight")
    else:
        steps = [constant(call, "weight", call.made[0].dtype.name)]
        weight = call.inner("weight")
    return [
        *steps,
        _pair("sub", call.operand("end"), start, difference),
        _pair("mul", difference, weight, moved),
        _pair("add", start, moved, call.outputs[0]),
    ]


def _fused_add(operator: str) -> Rule:
    """A sum: self + value (tensor1 · tensor2), with a product or a quotient."""

    def rule(call: AtenCall) -> Sequence[Step]:
        inner = call.inner(operator)
        steps, product = scaled(call, inner, "value")
        return [
            _pair(operator, call.operand("tensor1"), call.operand("tensor2"), inner),
            *steps,
            _pair("add", call.operand("self"), product, call.outputs[0]),
        ]

    return rule


def _x_log_y(call: AtenCall) -> Sequence[Step]:
    """``xlogy``, and with ``1 + y`` ``xlog1py``."""
    raised = call.inner("logarithm")
    operator = "log1p" if call.op.endswith("1py") else "log"
    return (
        Step(operator, [("x", call.operand("other"))], {}, (raised,)),
        _pair("mul", call.operand("self"), raised, call.outputs[0]),
    )


def _where(call: AtenCall) -> Sequence[Step]:
    operands = [("condition", call.operand("condition")), ("x", call.operand("self")), ("y", call.operand("other"))]
    return (Step("where", operands, {}, call.outputs),)


def _masked_fill(call: AtenCall) -> Sequence[Step]:
    """A value where the mask holds."""
    steps: list[Step] = []
    if call.has("value"):
        value = call.operand("value")
    else:
        steps = [constant(call, "value", call.type("self").dtype.name)]
        value = call.inner("value")
    operands = [("condition", call.operand("mask")), ("x", value), ("y", call.operand("self"))]
    return [*steps, Step("where", operands, {}, call.outputs)]


def _is_close(call: AtenCall) -> Sequence[Step]:
    """|self - other| <= atol + rtol |other|."""
    apart, size, part, bound, inner = (call.inner(word) for word in ("apart", "size", "part", "bound", "difference"))
    first, second, dtype = call.operand("self"), call.operand("other"), call.type("self").dtype.name
    relative, absolute = constant(call, "relative", dtype), constant(call, "absolute", dtype)
    return (
        relative,
        absolute,
        _pair("sub", first, second, inner),
        Step("abs", [("x", inner)], {}, (apart,)),
        Step("abs", [("x", second)], {}, (size,)),
        _pair("mul", size, relative.outputs[0], part),
        _pair("add", part, absolute.outputs[0], bound),
        _pair("less_or_equal", apart, bound, call.outputs[0]),
    )


RULES_VALUES: Final[Mapping[str, Rule]] = {
    **RULES_FUNCTIONS,
    **RULES_REDUCTIONS,
    **RULES_GENERATORS,
    **{f"aten.{name}": As(ours, "a=self b=other") for name, ours in _PAIRS.items()},
    **{f"aten.{name}": As(ours, "xs=self xs=other") for name, ours in _EXTREMES.items()},
    "aten.add": _sum("add"),
    **{f"aten.{name}": _sum("sub") for name in ("sub", "subtract")},
    "aten.rsub": _rsub,
    "aten._add_relu": _add_relu,
    "aten.ldexp": _times_power_of_two,
    **{f"aten.{name}": _div for name in ("div", "divide", "true_divide")},
    "aten.floor_divide": _floor_divide,
    "aten.pow": As("pow", "a=self b=exponent"),
    "aten.float_power": As("pow", "a=self b=exponent"),
    "aten.heaviside": As("heaviside", "a=self b=values"),
    "aten.lerp": _lerp,
    "aten.addcmul": _fused_add("mul"),
    "aten.addcdiv": _fused_add("div"),
    "aten.xlogy": _x_log_y,
    "aten.special_xlogy": _x_log_y,
    "aten.special_xlog1py": _x_log_y,
    **{f"aten.where.{form}": _where for form in ("self", "ScalarSelf", "ScalarOther", "Scalar")},
    "aten.masked_fill": _masked_fill,
    "aten.isclose": _is_close,
}

"""The ONNX operator table: which of our operators each of theirs is, by domain.

A rule knows the operator set's version, as attributes became operands and defaults changed over the years.  What is not
in here stays in the graph as an unknown operator with the types that the file states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.onnx_table_aten import ATEN_DOMAIN, ATEN_RULES
from weighbridge.frontends.onnx_table_contrib import CONTRIB_DOMAIN, CONTRIB_RULES, SERVICE_DOMAIN, SERVICE_RULES
from weighbridge.frontends.onnx_table_layers import LAYER_RULES
from weighbridge.frontends.onnx_table_microsoft import MICROSOFT_RULES
from weighbridge.frontends.onnx_table_ml import ML_RULES
from weighbridge.frontends.onnx_table_shapes import SHAPE_RULES
from weighbridge.frontends.onnx_table_signals import SIGNAL_RULES
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.frontends.onnx_training import TRAINING_DOMAIN, TRAINING_RULES
from weighbridge.graph import Attribute

__all__ = ["RULES"]

_LARGEST_FLOAT: Final = 3.4e38
"""The default bounds of Clip before opset 11 are those of float32: they cut nothing off."""


def _binary(operator: str) -> Rule:
    """Before opset 7 the right operand stretches only where ``broadcast`` says so, aligned at ``axis``."""

    def rule(call: Foreign) -> Sequence[Step]:
        pairs = bind(call, "a b")
        left, right = call.rank(0), call.rank(1)
        if call.version >= 7 or not call.get("broadcast", 0) or left is None or right is None:
            return (Step(operator, pairs, {}, call.outputs),)
        return _aligned(call, operator, "b", call.get("axis", left - right) % (left or 1))

    return rule


def _aligned(call: Foreign, operator: str, name: str, axis: int) -> Sequence[Step]:
    """The right operand with as many axes of one element behind it as put its first axis at ``axis`` of the left one."""
    first = "x" if name == "slope" else "a"
    left, right = call.rank(0) or 0, call.rank(1) or 0
    behind = left - axis - right
    if behind <= 0:
        return (Step(operator, [(first, call.operand(0)), (name, call.operand(1))], {}, call.outputs),)
    aligned = call.inner("aligned")
    axes = tuple(range(right, right + behind))
    return (
        Step("unsqueeze", [("x", call.operand(1))], {"axes": axes}, [aligned]),
        Step(operator, [(first, call.operand(0)), (name, aligned)], {}, call.outputs),
    )


def _prelu(call: Foreign) -> Sequence[Step]:
    """Before opset 7 a slope of more than one element has one for every channel."""
    slope = call.type(1)
    if call.version < 7 and slope is not None and slope.elements > 1 and len(slope.shape) == 1:
        return _aligned(call, "prelu", "slope", 1)
    return (Step("prelu", bind(call, "x slope"), {}, call.outputs),)


def _clip(call: Foreign) -> Sequence[Step]:
    """Bounds are attributes before opset 11, then operands; one that cuts nothing off is none."""
    bounds: dict[str, Attribute] = {}
    for position, name, ours in ((1, "min", "low"), (2, "max", "high")):
        values = call.values(position)
        if call.has(position) and (values is None or len(values) != 1):
            return (Step("clip_by_tensor", bind(call, "x low high"), {}, call.outputs),)
        bound: Any = values[0] if values else call.get(name)
        if bound is not None and isfinite(bound) and abs(bound) < _LARGEST_FLOAT:
            bounds[ours] = bound
    return (Step("clip", [("x", call.operand(0))], bounds, call.outputs),)


def _swiglu(call: Foreign) -> Sequence[Step]:
    gate = call.inner("gate")
    return (
        Step("silu", [("x", call.operand(0))], {"alpha": call.get("alpha", 1.0)}, [gate]),
        Step("mul", [("a", gate), ("b", call.operand(1))], {}, call.outputs),
    )


def _held(operator: str) -> Rule:
    """An optional value that holds a tensor of known shape is that tensor."""

    def rule(call: Foreign) -> Sequence[Step]:
        return (Step(operator if call.type(0) is None else "identity", bind(call, "x"), {}, call.outputs),)

    return rule


def _numbers(**defaults: float) -> Any:
    """Attributes that have the same names as ours."""

    def attributes(call: Foreign) -> Mapping[str, Attribute]:
        return {name: call.get(name, default) for name, default in defaults.items()}

    return attributes


def _shrink(call: Foreign) -> Mapping[str, Attribute]:
    return {"bias": call.get("bias", 0.0), "threshold": call.get("lambd", 0.5)}


def _sequence_dtype(call: Foreign) -> Mapping[str, Attribute]:
    number = call.get("dtype", 0)
    return {"dtype": dtype_of(number).name if number else "float32"}


def _reduction(call: Foreign) -> Mapping[str, Attribute]:
    return {"reduction": call.get("reduction", "mean")}


_UNARY: Final = {
    name: name.lower()
    for name in (
        *(
            "Abs",
            "Neg",
            "Sign",
            "Floor",
            "Ceil",
            "Round",
            "Not",
            "Reciprocal",
            "Sqrt",
            "Exp",
            "Log",
            "Erf",
            "Sin",
            "Cos",
        ),
        *("Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Relu", "Sigmoid"),
        *("Softplus", "Softsign", "Mish", "Identity"),
    )
}
_PAIRS: Final = {
    "And": "and",
    "Or": "or",
    "Xor": "xor",
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "Pow": "pow",
    "Mod": "mod",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_or_equal",
    "Less": "less",
    "LessOrEqual": "less_or_equal",
    "BitShift": "bit_shift",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "StringConcat": "string_concat",
}

_ELEMENTWISE_RULES: Final[dict[str, Rule]] = {
    **{name: As(ours, "x") for name, ours in _UNARY.items()},
    **{name: _binary(ours) for name, ours in _PAIRS.items()},
    **{name: As(name.lower(), "*xs") for name in ("Sum", "Mean", "Max", "Min")},
    "BitwiseNot": As("bitwise_not", "x"),
    "LeakyRelu": As("leaky_relu", "x", _numbers(alpha=0.01)),
    "ThresholdedRelu": As("thresholded_relu", "x", _numbers(alpha=1.0)),
    "Elu": As("elu", "x", _numbers(alpha=1.0)),
    "Celu": As("celu", "x", _numbers(alpha=1.0)),
    "Selu": As("selu", "x", _numbers(alpha=1.67326, gamma=1.0507)),
    "HardSigmoid": As("hard_sigmoid", "x", _numbers(alpha=0.2, beta=0.5)),
    "HardSwish": As("hard_swish", "x"),
    "Swish": As("silu", "x", _numbers(alpha=1.0)),
    "SwiGLU": _swiglu,
    "Gelu": As("gelu", "x", lambda call: {"approximate": call.get("approximate", "none")}),
    "Shrink": As("shrink", "x", _shrink),
    "Clip": _clip,
    "PRelu": _prelu,
    "Where": As("where", "condition x y"),
    "IsNaN": As("is_nan", "x"),
    "IsInf": As("is_inf", "x"),
    "Dropout": As("dropout", "x ratio training", None, "y mask"),
    "Det": As("determinant", "x"),
    "NegativeLogLikelihoodLoss": As("negative_log_likelihood_loss", "x targets weight", _reduction),
    "SoftmaxCrossEntropyLoss": As(
        "softmax_cross_entropy_loss", "x targets weight", _reduction, "loss log_probabilities"
    ),
}

_SEQUENCE_RULES: Final[dict[str, Rule]] = {
    "SequenceConstruct": As("sequence_construct", "*xs"),
    "SequenceEmpty": As("sequence_empty", "", _sequence_dtype),
    "SequenceAt": As("sequence_at", "sequence position"),
    "SequenceInsert": As("sequence_insert", "sequence x position"),
    "SequenceErase": As("sequence_erase", "sequence position"),
    "SequenceLength": As("sequence_length", "sequence"),
    "SplitToSequence": As("split_to_sequence", "x sizes"),
    "ConcatFromSequence": As("concat_from_sequence", "sequence"),
    "Optional": _held("optional"),
    "OptionalGetElement": _held("optional_get_element"),
    "OptionalHasElement": As("optional_has_element", "x"),
    "StringNormalizer": As("string_normalizer", "x"),
    "StringSplit": As("string_split", "x"),
    "RegexFullMatch": As("regex_full_match", "x"),
}

RULES: Final[Mapping[str, Mapping[str, Rule]]] = {
    "": {**LAYER_RULES, **SHAPE_RULES, **SIGNAL_RULES, **_ELEMENTWISE_RULES, **_SEQUENCE_RULES},
    "com.microsoft": MICROSOFT_RULES,
    "ai.onnx.ml": ML_RULES,
    TRAINING_DOMAIN: TRAINING_RULES,
    ATEN_DOMAIN: ATEN_RULES,
    CONTRIB_DOMAIN: CONTRIB_RULES,
    SERVICE_DOMAIN: SERVICE_RULES,
}

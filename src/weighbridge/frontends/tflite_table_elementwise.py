"""Rules of TensorFlow Lite's operators that compute element by element, and between real and quantised values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.graph import Attribute

__all__ = ["ELEMENTWISE_RULES"]

_UNARY: Final[Mapping[str, str]] = {
    "ABS": "abs",
    "CEIL": "ceil",
    "COMPLEX_ABS": "abs",
    "COS": "cos",
    "EXP": "exp",
    "FLOOR": "floor",
    "HARD_SWISH": "hard_swish",
    "IMAG": "imaginary_part",
    "LOG": "log",
    "LOGICAL_NOT": "not",
    "LOGISTIC": "sigmoid",
    "NEG": "neg",
    "REAL": "real_part",
    "RELU": "relu",
    "ROUND": "round",
    "RSQRT": "rsqrt",
    "SIGN": "sign",
    "SIN": "sin",
    "SQRT": "sqrt",
    "SQUARE": "square",
    "TANH": "tanh",
    "FAKE_QUANT": "fake_quantize",
}
_PAIRS: Final[Mapping[str, str]] = {
    "ADD": "add",
    "ATAN2": "atan2",
    "BITWISE_XOR": "bitwise_xor",
    "DIV": "div",
    "EQUAL": "equal",
    "FLOOR_DIV": "floor_div",
    "FLOOR_MOD": "mod",
    "GREATER": "greater",
    "GREATER_EQUAL": "greater_or_equal",
    "LESS": "less",
    "LESS_EQUAL": "less_or_equal",
    "LOGICAL_AND": "and",
    "LOGICAL_OR": "or",
    "MUL": "mul",
    "NOT_EQUAL": "not_equal",
    "POW": "pow",
    "RIGHT_SHIFT": "bit_shift",
    "SQUARED_DIFFERENCE": "squared_difference",
    "SUB": "sub",
}
_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def _clip(low: float, high: float) -> Rule:
    return As("clip", "x", lambda call: {"low": low, "high": high})


def _gelu(call: Foreign) -> Mapping[str, Attribute]:
    return {"approximate": "tanh" if call.get("approximate", False) else "none"}


def _cast(call: Foreign) -> Mapping[str, Attribute]:
    """To the type that the file states of the result; its options may say less."""
    return {"dtype": call.stated[0].dtype.name}


def _quantize(call: Foreign) -> Sequence[Step]:
    """Of values that are quantised already, from one scale to another.  What made real ones has computed with real ones."""
    if call.services.dtype_name(call.operand(0)).startswith(("int", "uint")):
        return (Step("requantize", bind(call, "x"), _cast(call), call.outputs),)
    return (Step("quantize", bind(call, "x"), {**_cast(call), "folds": False}, call.outputs),)


def _dequantize(call: Foreign) -> Sequence[Step]:
    """Half precision has no scale: what runs is only written in another type, what is stored is read as it is stored."""
    x = call.operand(0)
    is_plain = call.services.dtype_name(x) in ("float16", "bfloat16") and not call.services.is_static(x)
    return (Step("cast" if is_plain else "dequantize", bind(call, "x"), _cast(call), call.outputs),)


ELEMENTWISE_RULES: Final[Mapping[str, Rule]] = {
    **{name: As(ours, "x") for name, ours in _UNARY.items()},
    **{name: As(ours, "a b") for name, ours in _PAIRS.items()},
    **{name: _clip(*bounds) for name, bounds in _BOUNDS.items()},
    "ADD_N": As("sum", "*xs"),
    "MAXIMUM": As("max", "*xs"),
    "MINIMUM": As("min", "*xs"),
    "PRELU": As("prelu", "x slope"),
    "LEAKY_RELU": As("leaky_relu", "x", lambda call: {"alpha": call.get("alpha", 0.0)}),
    "ELU": As("elu", "x"),
    "GELU": As("gelu", "x", _gelu),
    "CAST": As("cast", "x", _cast),
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}

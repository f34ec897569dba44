"""PyTorch's functions of one tensor, element by element, and what leaves a tensor as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule, bind
from weighbridge.frontends.aten_steps import chain, constant, one, stretched, unchanged
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute

__all__ = ["RULES_FUNCTIONS"]

_SAME_NAME: Final = (
    *("abs", "neg", "sign", "floor", "ceil", "bitwise_not", "reciprocal", "sqrt", "rsqrt", "square"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "erf", "erfc", "erfinv", "sin", "cos"),
    *("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sinc"),
    *("digamma", "relu", "sigmoid", "mish", "log_sigmoid"),
)
_OTHER_NAME: Final = {
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"special_{name}": name for name in ("exp2", "expm1", "log1p", "erf", "erfc", "erfinv", "sinc", "digamma")},
    "absolute": "abs",
    "negative": "neg",
    "round": "round",
    "sgn": "sign",
    "logical_not": "not",
    "trunc": "truncate",
    "fix": "truncate",
    "frac": "fraction",
    "lgamma": "log_gamma",
    "special_gammaln": "log_gamma",
    "special_psi": "digamma",
    "special_expit": "sigmoid",
    "i0": "bessel_i0",
    "special_i0": "bessel_i0",
    "hardswish": "hard_swish",
    "nan_to_num": "nan_to_number",
    "isnan": "is_nan",
    "isinf": "is_inf",
    "isposinf": "is_inf",
    "isneginf": "is_inf",
    "isfinite": "is_finite",
    "signbit": "sign_bit",
}


def _clamp(call: AtenCall) -> Sequence[Step]:
    """Bounds that are numbers belong to the function; tensors are operands.  One that cuts nothing off is none."""
    if call.has("min") or call.has("max"):
        return (Step("clip_by_tensor", list(bind(call, "x=self low=min high=max")), {}, call.outputs),)
    bounds: dict[str, Attribute] = {}
    for name, ours in (("min", "low"), ("max", "high")):
        if call.get(name) is not None and isfinite(call.number(name)):
            bounds[ours] = call.number(name)
    return (one(call, "clip", bounds),)


def _elu(call: AtenCall) -> Sequence[Step]:
    """PyTorch writes SELU and CELU as an ELU with a scale before or behind it."""
    alpha, scale, before = call.number("alpha", 1), call.number("scale", 1), call.number("input_scale", 1)
    if before == 1 and scale == 1:
        return (one(call, "elu", {"alpha": alpha}),)
    if before == 1:
        return (one(call, "selu", {"alpha": alpha, "gamma": scale}),)
    if scale == 1:
        return (one(call, "celu", {"alpha": alpha}),)
    raise GraphError("an ELU scaled before and behind", where=call.name)


def _round(call: AtenCall) -> Sequence[Step]:
    """To decimals: the power of ten in and out again."""
    x, ten, dtype = call.operand("self"), call.inner("power"), call.type("self").dtype.name
    raised, rounded = call.inner("raised"), call.inner("rounded")
    return (
        constant(call, "power", dtype),
        Step("mul", [("a", x), ("b", ten)], {}, (raised,)),
        Step("round", [("x", raised)], {}, (rounded,)),
        Step("div", [("a", rounded), ("b", ten)], {}, call.outputs),
    )


def _scaled(call: AtenCall) -> Sequence[Step]:
    """Degrees and radians: a product with a number."""
    factor = constant(call, "factor", call.made[0].dtype.name)
    return (factor, Step("mul", [("a", call.operand("self")), ("b", factor.outputs[0])], {}, call.outputs))


def _glu(call: AtenCall) -> Sequence[Step]:
    """One half times the sigmoid of the other."""
    half, gate, opened = call.inner("half"), call.inner("gate"), call.inner("opened")
    return (
        one(call, "split", {"axis": call.integer("dim", -1), "parts": 2})._replace(outputs=(half, gate)),
        Step("sigmoid", [("x", gate)], {}, (opened,)),
        Step("mul", [("a", half), ("b", opened)], {}, call.outputs),
    )


def _prelu(call: AtenCall) -> Sequence[Step]:
    """A slope for every channel: its axis is put under the second one of x."""
    slope, behind = call.operand("weight"), call.rank("self") - 2
    if call.rank("weight") != 1 or behind < 1 or call.type("weight").elements == 1:
        return (Step("prelu", [("x", call.operand("self")), ("slope", slope)], {}, call.outputs),)
    aligned = call.inner("aligned")
    return (
        Step("unsqueeze", [("x", slope)], {"axes": tuple(range(1, behind + 1))}, (aligned,)),
        Step("prelu", [("x", call.operand("self")), ("slope", aligned)], {}, call.outputs),
    )


def _rrelu(call: AtenCall) -> Sequence[Step]:
    if call.integer("training"):
        raise GraphError(
            "the slopes of a randomised ReLU in training are drawn anew for every element", where=call.name
        )
    lower, upper = call.number("lower", 0.125), call.number("upper", 1 / 3)
    return (one(call, "leaky_relu", {"alpha": (lower + upper) / 2}),)


def _threshold(call: AtenCall) -> Mapping[str, Attribute]:
    return {"alpha": call.number("threshold"), "value": call.number("value")}


def _epsilon(call: AtenCall) -> Mapping[str, Attribute]:
    return {} if call.get("eps") is None else {"epsilon": call.number("eps")}


def _log_sigmoid(call: AtenCall) -> Sequence[Step]:
    """The second result is scratch for the way back."""
    steps = chain(call, call.operand("self"), ("log_sigmoid", {}))
    if call.has_output(1):
        steps.append(
            Step(
                "constant_of_shape",
                (),
                {"shape": call.made[1].shape, "dtype": call.made[1].dtype.name},
                call.outputs[1:],
            )
        )
    return steps


def _cast(call: AtenCall) -> Sequence[Step]:
    """A copy in another type is a cast, in the same an identity."""
    if call.made[0].dtype is call.type("self").dtype:
        return unchanged(call)
    return (one(call, "cast", {"dtype": call.made[0].dtype.name}),)


def _copy(call: AtenCall) -> Sequence[Step]:
    """What is copied over a tensor takes its shape and its type."""
    source, target = call.type("src"), call.type("self")
    if source.dtype is target.dtype:
        return (stretched(call, call.operand("src"), source.shape, target.shape, call.outputs[0]),)
    cast = call.inner("cast")
    attributes = {"dtype": target.dtype.name}
    if source.shape == target.shape:
        return (one(call, "cast", attributes, "src"),)
    return (
        one(call, "cast", attributes, "src")._replace(outputs=(cast,)),
        stretched(call, cast, source.shape, target.shape, call.outputs[0]),
    )


def _bit_cast(call: AtenCall) -> Sequence[Step]:
    """``view`` with a type; between complex and real numbers the last axis has the two parts."""
    return (one(call, "bit_cast", {"dtype": call.made[0].dtype.name}),)


def _dropout(mask: str) -> Rule:
    return As("dropout", "x=input", None, f"y {mask}".strip())


RULES_FUNCTIONS: Final[Mapping[str, Rule]] = {
    **{f"aten.{name}": As(name, "x=self") for name in _SAME_NAME},
    **{f"aten.{name}": As(ours, "x=self") for name, ours in _OTHER_NAME.items()},
    "aten.round.decimals": _round,
    "aten.rad2deg": _scaled,
    "aten.deg2rad": _scaled,
    "aten.clamp": _clamp,
    "aten.clip": _clamp,
    "aten.clamp_min": _clamp,
    "aten.clamp_max": _clamp,
    "aten.relu6": As("clip", "x=self", lambda call: {"low": 0, "high": 6}),
    "aten.hardtanh": As(
        "clip", "x=self", lambda call: {"low": call.number("min_val", -1), "high": call.number("max_val", 1)}
    ),
    "aten.leaky_relu": As("leaky_relu", "x=self", lambda call: {"alpha": call.number("negative_slope", 0.01)}),
    "aten.rrelu": _rrelu,
    "aten.threshold": As("thresholded_relu", "x=self", _threshold),
    "aten.prelu": _prelu,
    "aten._prelu_kernel": As("prelu", "x=self slope=weight"),
    "aten.elu": _elu,
    "aten.selu": As("selu", "x=self"),
    "aten.celu": As("celu", "x=self", lambda call: {"alpha": call.number("alpha", 1)}),
    "aten.gelu": As("gelu", "x=self", lambda call: {"approximate": str(call.get("approximate", "none"))}),
    "aten.silu": As("silu", "x=self"),
    "aten.softplus": As("softplus", "x=self", lambda call: {"beta": call.number("beta", 1)}),
    "aten.log_sigmoid_forward": _log_sigmoid,
    "aten.logit": As("logit", "x=self", _epsilon),
    "aten.special_logit": As("logit", "x=self", _epsilon),
    "aten.hardsigmoid": As("hard_sigmoid", "x=self", lambda call: {"alpha": 1 / 6, "beta": 0.5}),
    "aten.hardshrink": As("shrink", "x=self", lambda call: {"threshold": call.number("lambd", 0.5)}),
    "aten.softshrink": As(
        "shrink", "x=self", lambda call: {"bias": call.number("lambd", 0.5), "threshold": call.number("lambd", 0.5)}
    ),
    "aten._neg_view": As("neg", "x=self"),
    "aten.glu": _glu,
    **{
        f"aten.{name}": _dropout("")
        for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
    },
    "aten.native_dropout": _dropout("mask"),
    **{
        f"aten.{name}": unchanged
        for name in (
            *("clone", "contiguous", "alias", "detach", "lift", "lift_fresh", "lift_fresh_copy"),
            *("positive", "resolve_neg", "resolve_conj", "requires_grad_", "alias_copy"),
        )
    },
    **{f"aten.{name}": _cast for name in ("_to_copy", "to", "type_as")},
    **{f"aten._cast_{name}": _cast for name in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")},
    "aten.copy": _copy,
    "aten.view.dtype": _bit_cast,
}

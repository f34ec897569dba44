"""Calls of every operator in PyTorch's table of values."""

from __future__ import annotations

import torch

from tests.torch.examples_generators import GENERATORS
from tests.torch.examples_reductions import REDUCTIONS
from tests.torch.one_call import Example, example, given

aten = torch.ops.aten


_ALONE = (
    *("abs", "neg", "sign", "floor", "ceil", "reciprocal", "sqrt", "rsqrt", "square", "exp", "exp2"),
    *("expm1", "log", "log2", "log10", "log1p", "erf", "erfc", "erfinv", "sin", "cos", "tan", "asin"),
    *("acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "sinc", "digamma", "relu", "sigmoid"),
    *("mish", "log_sigmoid", "arcsin", "arccos", "arctan", "arcsinh", "arctanh", "special_exp2"),
    *("special_expm1", "special_log1p", "special_erf", "special_erfc", "special_erfinv", "special_sinc"),
    *("special_digamma", "absolute", "negative", "round", "sgn", "logical_not", "trunc", "fix", "frac"),
    *("lgamma", "special_gammaln", "special_psi", "special_expit", "i0", "special_i0", "hardswish"),
    *("nan_to_num", "isnan", "isinf", "isposinf", "isneginf", "isfinite", "signbit", "rad2deg"),
    *("deg2rad", "relu6", "hardtanh", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "softplus"),
    *("log_sigmoid_forward", "logit", "special_logit", "hardsigmoid", "hardshrink", "softshrink", "glu"),
    *("clone", "contiguous", "alias", "detach", "lift_fresh", "lift_fresh_copy", "lift", "positive"),
    *("resolve_neg", "resolve_conj", "alias_copy", "arccosh", "acosh", "_cast_Byte", "_cast_Char"),
    *("_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int", "_cast_Long", "_cast_Short", "sum"),
    *("mean", "prod", "amax", "amin", "max", "min", "nansum", "any", "all", "argmax", "argmin"),
    *("aminmax", "var", "std", "var_mean", "std_mean", "norm", "median", "linalg_vector_norm"),
    *("_is_any_true", "_is_all_true", "count_nonzero", "sort", "argsort", "msort", "histc", "zeros_like"),
    *("ones_like", "empty_like", "rand_like", "randn_like", "zero", "uniform_", "normal_"),
    *("exponential_", "bernoulli", "random_"),
)
_BOOL_ONLY = ("_is_any_true", "_is_all_true")
_PAIRS = (
    *(
        [
            "add",
            "sub",
            "subtract",
            "mul",
            "multiply",
            "div",
            "divide",
            "true_divide",
            "floor_divide",
            "remainder",
            "fmod",
            "atan2",
            "arctan2",
            "hypot",
        ]
    ),
    *(
        [
            "logaddexp",
            "logaddexp2",
            "copysign",
            "eq",
            "ne",
            "not_equal",
            "lt",
            "less",
            "le",
            "less_equal",
            "gt",
            "greater",
            "ge",
            "greater_equal",
        ]
    ),
    *(
        [
            "logical_and",
            "logical_or",
            "logical_xor",
            "maximum",
            "fmax",
            "max",
            "minimum",
            "fmin",
            "min",
            "pow",
            "float_power",
            "heaviside",
            "rsub",
        ]
    ),
    *(["xlogy", "special_xlogy", "special_xlog1py", "isclose", "type_as", "copy"]),
)
_BITS = (
    *(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]),
    *(
        [
            "__and__",
            "__or__",
            "__xor__",
            "__lshift__",
            "__rshift__",
            "__iand__",
            "__ior__",
            "__ixor__",
            "__ilshift__",
            "__irshift__",
        ]
    ),
)
EXAMPLES: dict[str, Example] = {
    **{name: example(getattr(aten, name), ("b:a 2" if name in _BOOL_ONLY else "a 4")) for name in _ALONE},
    **{
        f"{name} of a number": example(getattr(aten, name), "")
        for name in ("sum", "amax", "argmax", "sort", "all", "var")
    },
    **{
        f"{name} of integers": example(getattr(aten, name), "i:a b")
        for name in ("sum", "prod", "any", "all", "sigmoid")
    },
    **{f"{name} of complex numbers": example(getattr(aten, name), "c:a b") for name in ("abs", "exp", "sum", "square")},
    **{f"{name} of two": example(getattr(aten, name), "a b c", "b 1") for name in _PAIRS if name != "copy"},
    "copy": example(aten.copy, "a b c", "b 1"),
    "copy in another type": example(aten.copy, "a b", "i:a b"),
    "copy of another shape and type": example(lambda x, y: x.copy_(y), "a b", "d:b"),
    **{
        f"{name} with a number": example(given(getattr(aten, name), 2), "a b")
        for name in ("add", "mul", "div", "eq", "pow", "remainder", "rsub")
    },
    **{f"{name} of complex numbers": example(getattr(aten, name), "c:a b", "c:b") for name in ("add", "mul", "div")},
    **{f"{name} of bits": example(getattr(aten, name), "i:a b", "i:a b") for name in _BITS},
    "not of bits": example(aten.bitwise_not, "i:a b"),
    "masks": example(lambda x, y: x & y | x, "b:a b", "b:a b"),
    "add scaled": example(lambda x, y: torch.add(x, y, alpha=2), "a b", "a b"),
    "rsub scaled": example(lambda x, y: torch.rsub(x, y, alpha=2), "a b", "a b"),
    "quotient down": example(lambda x, y: torch.div(x, y, rounding_mode="floor"), "a b", "a b"),
    "quotient to 0": example(lambda x, y: torch.div(x, y, rounding_mode="trunc"), "a b", "a b"),
    "round to decimals": example(lambda x: torch.round(x, decimals=2), "a b"),
    "clamp": example(lambda x: torch.clamp(x, 0.2, 0.7), "a b"),
    "clamp below": example(lambda x: torch.clamp(x, max=0.7), "a b"),
    "clamp by tensors": example(lambda x, low: torch.clamp(x, low, low), "a b", "b"),
    "clip": example(lambda x: torch.clip(x, 0.2), "a b"),
    "clamp_min": example(lambda x: torch.clamp_min(x, 0.2), "a b"),
    "clamp_max": example(lambda x: torch.clamp_max(x, 0.2), "a b"),
    "rrelu": example(torch.rrelu, "a b"),
    "threshold": example(lambda x: torch.threshold(x, 0.5, 7.0), "a b"),
    "prelu": example(torch.prelu, "a b c d", "b"),
    "prelu of one slope": example(torch.prelu, "a b c", "1"),
    "prelu kernel": example(aten._prelu_kernel, "a b c", "b 1"),
    "elu as selu": example(lambda x: aten.elu(x, 1.6, 1.05), "a b"),
    "elu as celu": example(lambda x: aten.elu(x, 1.6, 1, 1 / 1.6), "a b"),
    "gelu by tanh": example(lambda x: aten.gelu(x, approximate="tanh"), "a b"),
    "logit away from the ends": example(lambda x: torch.logit(x, 1e-6), "a b"),
    "softplus steeper": example(lambda x: aten.softplus(x, 2.0), "a b"),
    "_neg_view": example(aten._neg_view, "a b"),
    "_add_relu": example(aten._add_relu, "a b", "a b"),
    "ldexp": example(torch.ldexp, "a b", "i:b"),
    "glu along": example(lambda x: aten.glu(x, 0), "4 b"),
    **{
        f"{name} at inference": example(given(getattr(aten, name), 0.5, False), "a b c")
        for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
    },
    "dropout in training": example(lambda x: aten.dropout(x, 0.5, True), "a b"),
    "native_dropout": example(lambda x: aten.native_dropout(x, 0.5, True), "a b"),
    "to a type": example(lambda x: x.to(torch.float16), "a b"),
    "to the same": example(lambda x: x.to(torch.float32), "a b"),
    "half": example(lambda x: x.half(), "a b"),
    "_to_copy": example(lambda x: aten._to_copy(x, dtype=torch.int64), "a b"),
    "view as another type": example(lambda x: x.view(torch.int32), "a b"),
    "requires_grad_": example(lambda x: aten.requires_grad_(x, False), "a b"),
    "lerp": example(lambda x, y: torch.lerp(x, y, 0.3), "a b", "a b"),
    "lerp by a tensor": example(torch.lerp, "a b", "a b", "b"),
    "addcmul": example(lambda x, y, z: torch.addcmul(x, y, z, value=3), "a b", "a b", "b"),
    "addcdiv": example(torch.addcdiv, "a b", "a b", "b"),
    "where": example(torch.where, "b:a b", "a b", "b"),
    "where a number": example(lambda c, x: torch.where(c, x, 0.0), "b:a b", "a b"),
    "where another number": example(lambda c, x: torch.where(c, 0.0, x), "b:a b", "a b"),
    "where numbers": example(lambda c: torch.where(c, 1.0, 0.0), "b:a b"),
    "where alone": example(torch.where, "b:a b"),
    "masked_fill": example(lambda x, mask: x.masked_fill(mask, -1.0), "a b c", "b:b 1"),
    "masked_fill by a tensor": example(lambda x, mask, value: x.masked_fill(mask, value), "a b c", "b:b 1", ""),
    **REDUCTIONS,
    **GENERATORS,
}

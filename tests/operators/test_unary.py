"""Unary functions: each written as its formula on counted arithmetic, whose values ONNX's reference implementation confirms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.operators.execution import Tally, call, shape_of, work_of
from tests.operators.reference import run
from weighbridge.errors import GraphError
from weighbridge.operators.record import Kind, Work
from weighbridge.operators.table import OPERATORS

SPECIAL = {
    "exp": math.exp,
    "log": math.log,
    "erf": math.erf,
    "sqrt": math.sqrt,
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
    **{name: getattr(math, name) for name in ("asinh", "acosh", "atanh")},
}
# What ONNX does not have as one operator, and no processor as one instruction: a table or a series, counted as one.
ONLY_OURS = ("exp2", "expm1", "log2", "log10", "log1p", "erfc", "erfinv", "log_gamma", "digamma", "bessel_i0")


def softplus(t, x):
    return t.special(math.log, t.add(1, t.special(math.exp, x)))


def exponential(t, x, alpha=1.0):
    """What stands below zero: alpha (exp(x) - 1)."""
    return t.mul(alpha, t.sub(t.special(math.exp, x), 1))


def gelu(t, x):
    normal = t.add(1, t.special(math.erf, t.mul(x, 1 / math.sqrt(2))))
    return t.mul(t.mul(0.5, x), normal)


def gelu_tanh(t, x):
    cube = t.mul(t.mul(x, x), x)
    inner = t.mul(math.sqrt(2 / math.pi), t.add(x, t.mul(0.044715, cube)))
    return t.mul(t.mul(0.5, x), t.add(1, t.special(math.tanh, inner)))


def sign(t, x):
    return t.select(x > 0, 1, t.select(x < 0, -1, 0))


def shrink(t, x, bias=0.0, threshold=0.5):
    """Moved towards 0 by bias on either side of the threshold."""
    return t.select(x > threshold, x - bias, t.select(x < -threshold, t.add(x, bias), 0))


def sinc(t, x):
    angle = t.mul(math.pi, x)
    return t.select(x == 0, 1, t.div(t.special(math.sin, angle), angle))


def logit_inside(t, x):
    x = t.minimum(t.maximum(x, 0.1), 0.9)
    return t.special(math.log, t.div(x, t.sub(1, x)))


def nan_to_number(t, x):
    """Three questions, as the value may be none of the three."""
    return t.select(math.isnan(x), 0, t.select(x == math.inf, 1e38, t.select(x == -math.inf, -1e38, x)))


# name: (attributes of ours, operator and attributes of ONNX, the formula)
FORMULAS = [
    ("abs", {}, "Abs", {}, lambda t, x: t.maximum(x, -x)),
    ("neg", {}, "Neg", {}, lambda t, x: t.sub(0, x)),
    ("sign", {}, "Sign", {}, sign),
    ("floor", {}, "Floor", {}, lambda t, x: t.sub(x, x % 1)),
    ("ceil", {}, "Ceil", {}, lambda t, x: t.add(x, -x % 1)),
    ("round", {}, "Round", {}, lambda t, x: t.add(x, round(x) - x)),
    ("reciprocal", {}, "Reciprocal", {}, lambda t, x: t.div(1, x)),
    ("relu", {}, "Relu", {}, lambda t, x: t.maximum(x, 0)),
    ("leaky_relu", {"alpha": 0.1}, "LeakyRelu", {"alpha": 0.1}, lambda t, x: t.select(x < 0, t.mul(0.1, x), x)),
    ("thresholded_relu", {"alpha": 0.4}, "ThresholdedRelu", {"alpha": 0.4}, lambda t, x: t.select(x > 0.4, x, 0)),
    ("elu", {"alpha": 0.7}, "Elu", {"alpha": 0.7}, lambda t, x: t.select(x < 0, exponential(t, x, 0.7), x)),
    ("sigmoid", {}, "Sigmoid", {}, lambda t, x: t.sigmoid(x)),
    (
        "celu",
        {"alpha": 0.7},
        "Celu",
        {"alpha": 0.7},
        lambda t, x: t.select(x < 0, t.mul(0.7, t.sub(t.special(math.exp, t.mul(x, 1 / 0.7)), 1)), x),
    ),
    (
        "selu",
        {},
        "Selu",
        {"alpha": 1.67326, "gamma": 1.0507},
        lambda t, x: t.select(x < 0, exponential(t, x, 1.67326 * 1.0507), 1.0507 * x),
    ),
    (
        "hard_sigmoid",
        {},
        "HardSigmoid",
        {},
        lambda t, x: t.maximum(0, t.minimum(1, t.add(t.mul(0.2, x), 0.5))),
    ),
    (
        "hard_swish",
        {},
        "HardSwish",
        {},
        lambda t, x: t.mul(x, t.maximum(0, t.minimum(1, t.add(t.mul(1 / 6, x), 0.5)))),
    ),
    ("gelu", {}, "Gelu", {}, gelu),
    ("gelu", {"approximate": "tanh"}, "Gelu", {"approximate": "tanh"}, gelu_tanh),
    ("softplus", {}, "Softplus", {}, softplus),
    ("softsign", {}, "Softsign", {}, lambda t, x: t.div(x, t.add(1, t.maximum(x, -x)))),
    ("mish", {}, "Mish", {}, lambda t, x: t.mul(x, t.tanh(softplus(t, x)))),
    ("silu", {"alpha": 1.0}, None, {}, lambda t, x: t.mul(x, t.sigmoid(x))),
    ("silu", {"alpha": 1.3}, None, {}, lambda t, x: t.mul(x, t.sigmoid(t.mul(1.3, x)))),
    ("gelu", {"approximate": "sigmoid"}, None, {}, lambda t, x: t.mul(x, t.sigmoid(t.mul(1.702, x)))),
    ("rsqrt", {}, None, {}, lambda t, x: t.div(1, t.special(math.sqrt, x))),
    ("cbrt", {}, None, {}, lambda t, x: t.special(math.cbrt, x)),
    ("square", {}, None, {}, lambda t, x: t.mul(x, x)),
    ("truncate", {}, None, {}, lambda t, x: t.sub(x, math.fmod(x, 1))),
    ("fraction", {}, None, {}, lambda t, x: t.sub(x, t.sub(x, math.fmod(x, 1)))),
    ("sinc", {}, None, {}, sinc),
    ("logit", {}, None, {}, lambda t, x: t.special(math.log, t.div(x, t.sub(1, x)))),
    ("logit", {"epsilon": 0.1}, None, {}, logit_inside),
    ("log_sigmoid", {}, None, {}, lambda t, x: -softplus(t, -x)),
    ("softplus", {"beta": 2.0}, None, {}, lambda t, x: t.mul(0.5, softplus(t, t.mul(2, x)))),
    ("nan_to_number", {}, None, {}, nan_to_number),
    ("conjugate", {}, None, {}, lambda t, x: complex(x, t.sub(0, 1.0))),
    ("shrink", {}, "Shrink", {"lambd": 0.5}, shrink),
    ("binarise", {}, None, {}, lambda t, x: t.select(x > 0.5, 1, 0)),
    ("probit", {}, None, {}, lambda t, x: t.mul(math.sqrt(2), t.special(math.sin, t.sub(t.mul(2, x), 1)))),
    ("kernel_function", {"kernel": "sigmoid"}, None, {}, lambda t, x: t.special(math.tanh, t.add(t.mul(x, 0.5), 0.25))),
    ("kernel_function", {"kernel": "polynomial"}, None, {}, lambda t, x: t.special(pow, t.add(t.mul(x, 0.5), 0.25), 2)),
    ("clip", {"low": 0, "high": 6}, None, {}, lambda t, x: t.minimum(t.maximum(x, 0), 6)),
    ("clip", {"low": 0}, None, {}, lambda t, x: t.maximum(x, 0)),
    ("clip", {}, None, {}, lambda t, x: x),
    *((name, {}, name.capitalize(), {}, lambda t, x, f=f: t.special(f, x)) for name, f in SPECIAL.items()),
    *((name, {}, None, {}, lambda t, x: t.special(abs, x)) for name in ONLY_OURS),
]


def points(name):
    """Values inside the function's domain; below zero first, where pieces cost most."""
    if name in ("logit",):
        return [0.1, 0.2, 0.3, 0.6, 0.7, 0.9]
    if name in ("log", "sqrt", "rsqrt"):
        return [0.3, 0.5, 0.9, 1.7, 2.5, 3.0]
    if name in ("asin", "acos", "atanh"):
        return [-0.9, -0.4, 0.1, 0.3, 0.6, 0.8]
    return [1.1, 1.7, 2.3, 2.6, 3.4, 4.2] if name == "acosh" else [-2.6, -0.7, -0.3, 0.2, 0.6, 3.4]


@pytest.mark.parametrize(("name", "ours", "onnx_name", "theirs", "formula"), FORMULAS)
def test_work_is_what_the_formula_does(name, ours, onnx_name, theirs, formula):
    values, counted = [], []
    for x in points(name):
        tally = Tally()
        values.append(formula(tally, x))
        counted.append(tally.work)
    found = call(name, ours, x=(2, 3))
    assert shape_of(found) == (2, 3)
    most = Work(*(max(kind) for kind in zip(*counted, strict=True)))
    assert work_of(name, found) == most.times(6)
    if onnx_name:
        (wanted,) = run(onnx_name, [np.array(points(name), dtype=np.float32)], **theirs)
        np.testing.assert_allclose(values, wanted, rtol=2e-5, atol=1e-6)


def test_every_unary_function_is_counted_by_execution():
    logic = {"not", "bitwise_not"}
    unary = {op.name for op in OPERATORS.values() if op.kind == Kind.UNARY}
    assert unary == {name for name, *_ in FORMULAS} | logic
    assert {name: work_of(name, call(name, {}, x=(5,))) for name in logic} == dict.fromkeys(logic, Work(compare=5))


@pytest.mark.parametrize(("name", "attributes"), [("gelu", {"approximate": "x"}), ("clip", {"low": "six"})])
def test_an_unknown_variant_is_refused(name, attributes):
    found = call(name, attributes, x=(2,))
    with pytest.raises(GraphError):
        work_of(name, found)

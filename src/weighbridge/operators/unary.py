"""Functions of one tensor, element by element.

The work of an element, which the records state, follows from the formula as written, by these conventions:

- a negation, subtraction, rounding (floor, ceil, round: done in the adder) is 1 add; a change of sign inside a larger formula
  is free;
- minimum, maximum, absolute value, selection and logic are 1 compare; sign is 2;
- exp, log, erf, square root and the trigonometric and hyperbolic functions are 1 special; a reciprocal is 1 div;
- products with constants count (an x / constant as a mul), constant expressions of constants do not;
- where a function has pieces, the most expensive one counts for every element;
- of complex numbers an absolute value is that of a point in the plane, an exponential exp(a) (cos b + i sin b).
"""

from __future__ import annotations

from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute

from .arithmetic import QUOTIENT, real_or_complex
from .record import Call, Keeps, Kind, Op, Work
from .rules import in_its_place, number, same

__all__ = ["UNARY_OPERATORS"]


def _unary(
    name: str,
    summary: str,
    attributes: dict[str, Attribute] | None = None,
    of_complex: Work | None = None,
    keeps: str = "",
    **kinds: int,
) -> Op:
    work = real_or_complex(Work(**kinds), of_complex)
    return Op(
        name,
        Kind.UNARY,
        "x",
        same,
        work,
        attributes=attributes or {},
        summary=summary,
        may_overwrite=in_its_place,
        keeps=keeps,
    )


def _clip_work(call: Call) -> Work:
    """1 compare an element and bound that is there."""
    bounds = 0
    for name in ("low", "high"):
        if call[name] != "none":
            number(call, name)
            bounds += 1
    return Work(compare=bounds).times(call.outputs[0].elements)


_GELU: Final = {
    "none": Work(add=1, mul=3, special=1),
    "tanh": Work(add=2, mul=6, special=1),
    "sigmoid": Work(add=1, mul=2, div=1, special=1),
}


def _gelu_work(call: Call) -> Work:
    """1 add, 3 mul, 1 special an element; ``tanh`` 2 add, 6 mul, 1 special; ``sigmoid`` 1 add, 2 mul, 1 div, 1 special.

    The formulas: x/2 (1 + erf(x / sqrt 2)); x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); x sigmoid(1.702 x).  Hendrycks and
    Gimpel (2016).
    """
    unit = _GELU.get(call.text("approximate"))
    if unit is None:
        raise GraphError(f"gelu has no approximation {call['approximate']!r}")
    return unit.times(call.outputs[0].elements)


def _silu_work(call: Call) -> Work:
    """1 add, 1 mul, 1 div, 1 special an element; 1 mul more unless alpha is 1."""
    unit = Work(add=1, mul=1 if call["alpha"] == 1 else 2, div=1, special=1)
    return unit.times(call.outputs[0].elements)


def _softplus_work(call: Call) -> Work:
    """1 add, 2 special an element; 2 mul more unless beta is 1."""
    unit = Work(add=1, mul=0 if call["beta"] == 1 else 2, special=2)
    return unit.times(call.outputs[0].elements)


def _logit_work(call: Call) -> Work:
    """1 add, 1 div, 1 special an element; 2 compare more where x is kept epsilon away from 0 and 1."""
    unit = Work(add=1, div=1, compare=0 if call["epsilon"] == "none" else 2, special=1)
    return unit.times(call.outputs[0].elements)


UNARY_OPERATORS: Final = (
    _unary("abs", "|x|", keeps=Keeps.BITS, of_complex=Work(add=1, mul=2, special=1), compare=1),
    _unary("neg", "-x", keeps=Keeps.NOTHING, of_complex=Work(add=2), add=1),
    _unary("square", "x x", of_complex=Work(add=2, mul=3), mul=1),
    _unary("sign", "-1, 0 or 1", keeps=Keeps.NOTHING, compare=2),
    _unary("truncate", "whole number of x towards 0", keeps=Keeps.NOTHING, add=1),
    _unary("fraction", "x without its whole number", keeps=Keeps.NOTHING, add=2),
    _unary("floor", "largest whole number not above x", keeps=Keeps.NOTHING, add=1),
    _unary("ceil", "smallest whole number not below x", keeps=Keeps.NOTHING, add=1),
    _unary("round", "nearest whole number", keeps=Keeps.NOTHING, add=1),
    _unary("not", "logical negation", keeps=Keeps.NOTHING, compare=1),
    _unary("bitwise_not", "negation of every bit", keeps=Keeps.NOTHING, compare=1),
    _unary("reciprocal", "1 / x", of_complex=QUOTIENT, div=1),
    _unary("sqrt", "square root", special=1),
    _unary("rsqrt", "1 / sqrt(x)", div=1, special=1),
    _unary("cbrt", "cube root", special=1),
    _unary("exp", "exp(x)", of_complex=Work(mul=2, special=3), special=1),
    *(
        _unary(name, f"{name}(x)", special=1)
        for name in (
            *("log", "erf", "sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        )
    ),
    *(
        _unary(name, text, special=1)
        for name, text in (
            ("exp2", "2 to the power x"),
            ("expm1", "exp(x) - 1, exact near 0"),
            ("log2", "logarithm to the base 2"),
            ("log10", "logarithm to the base 10"),
            ("log1p", "log(1 + x), exact near 0"),
            ("erfc", "1 - erf(x)"),
            ("erfinv", "the y with erf(y) = x"),
            ("log_gamma", "logarithm of the gamma function"),
            ("digamma", "derivative of log_gamma"),
            ("bessel_i0", "modified Bessel function of the first kind, order 0"),
        )
    ),
    _unary("sinc", "sin(pi x) / (pi x), and 1 at 0", mul=1, special=1, div=1, compare=1),
    Op(
        "logit",
        Kind.UNARY,
        "x",
        same,
        _logit_work,
        attributes={"epsilon": "none"},
        summary="log(x / (1 - x)), with x kept epsilon away from 0 and 1",
        may_overwrite=in_its_place,
    ),
    _unary("log_sigmoid", "-log(1 + exp(-x))", special=2, add=1),
    _unary(
        "nan_to_number", "x with numbers in place of what is none and of both infinities", keeps=Keeps.BITS, compare=3
    ),
    _unary("relu", "max(x, 0)", keeps=Keeps.BITS, compare=1),
    _unary("leaky_relu", "x, or alpha x below 0", {"alpha": 0.01}, keeps=Keeps.BITS, compare=1, mul=1),
    _unary("thresholded_relu", "x above alpha, else value", {"alpha": 1.0, "value": 0.0}, keeps=Keeps.BITS, compare=1),
    Op(
        "clip",
        Kind.UNARY,
        "x",
        same,
        _clip_work,
        attributes={"low": "none", "high": "none"},
        summary="x between constant bounds, either of which may be absent; ReLU6 is low 0, high 6",
        may_overwrite=in_its_place,
        keeps=Keeps.BITS,
    ),
    _unary("elu", "x, or alpha (exp(x) - 1) below 0", {"alpha": 1.0}, compare=1, special=1, add=1, mul=1),
    _unary("celu", "x, or alpha (exp(x / alpha) - 1) below 0", {"alpha": 1.0}, compare=1, special=1, add=1, mul=2),
    _unary(
        "selu",
        "gamma times x, or gamma alpha (exp(x) - 1) below 0",
        {"alpha": 1.67326, "gamma": 1.0507},
        compare=1,
        special=1,
        add=1,
        mul=1,
    ),
    _unary("sigmoid", "1 / (1 + exp(-x))", special=1, add=1, div=1),
    _unary(
        "hard_sigmoid",
        "alpha x + beta between 0 and 1",
        {"alpha": 0.2, "beta": 0.5},
        keeps=Keeps.BITS,
        mul=1,
        add=1,
        compare=2,
    ),
    _unary("hard_swish", "x times (x / 6 + 1/2 between 0 and 1)", mul=2, add=1, compare=2),
    Op(
        "silu",
        Kind.UNARY,
        "x",
        same,
        _silu_work,
        attributes={"alpha": 1.0},
        summary="x sigmoid(alpha x), or swish",
        may_overwrite=in_its_place,
    ),
    Op(
        "gelu",
        Kind.UNARY,
        "x",
        same,
        _gelu_work,
        attributes={"approximate": "none"},
        summary="x times the normal distribution function of x, exact or approximated",
        may_overwrite=in_its_place,
    ),
    Op(
        "softplus",
        Kind.UNARY,
        "x",
        same,
        _softplus_work,
        attributes={"beta": 1.0},
        summary="log(1 + exp(beta x)) / beta",
        may_overwrite=in_its_place,
    ),
    _unary("softsign", "x / (1 + |x|)", compare=1, add=1, div=1),
    _unary("mish", "x tanh(log(1 + exp(x)))", special=3, add=1, mul=1),
    _unary(
        "shrink",
        "0 within the threshold, else x moved by bias",
        {"bias": 0.0, "threshold": 0.5},
        keeps=Keeps.BITS,
        compare=2,
        add=1,
    ),
)

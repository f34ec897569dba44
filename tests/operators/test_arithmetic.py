"""Arithmetic on complex numbers, written out on real ones, and functions of two tensors that take more than one operation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.operators.execution import Tally, call, typed, work_of
from weighbridge.operators.record import Work
from weighbridge.operators.table import OPERATORS


def parts(z):
    return z.real, z.imag


def add(t, a, b):
    return complex(t.add(a.real, b.real), t.add(a.imag, b.imag))


def sub(t, a, b):
    return complex(t.sub(a.real, b.real), t.sub(a.imag, b.imag))


def mul(t, a, b):
    (p, q), (r, s) = parts(a), parts(b)
    return complex(t.sub(t.mul(p, r), t.mul(q, s)), t.add(t.mul(p, s), t.mul(q, r)))


def div(t, a, b):
    (p, q), (r, s) = parts(a), parts(b)
    size = t.add(t.mul(r, r), t.mul(s, s))
    real, imaginary = t.add(t.mul(p, r), t.mul(q, s)), t.sub(t.mul(q, r), t.mul(p, s))
    return complex(t.div(real, size), t.div(imaginary, size))


def square(t, z):
    p, q = parts(z)
    product = t.mul(p, q)
    return complex(t.sub(t.mul(p, p), t.mul(q, q)), t.add(product, product))


def absolute(t, z):
    return t.special(math.sqrt, t.add(t.mul(z.real, z.real), t.mul(z.imag, z.imag)))


def exponential(t, z):
    size, angle = t.special(math.exp, z.real), z.imag
    return complex(t.mul(size, t.special(math.cos, angle)), t.mul(size, t.special(math.sin, angle)))


def polar(t, size, angle):
    return complex(t.mul(size, t.special(math.cos, angle)), t.mul(size, t.special(math.sin, angle)))


A, B = complex(1.5, -0.5), complex(0.25, 2.0)
PAIRS = {"add": (add, A + B), "sub": (sub, A - B), "mul": (mul, A * B), "div": (div, A / B)}
ALONE = {
    "square": (square, A * A),
    "abs": (absolute, abs(A)),
    "exp": (exponential, np.exp(A)),
    "neg": (lambda t, z: sub(t, 0j, z), -A),
    "reciprocal": (lambda t, z: div(t, 1 + 0j, z), 1 / A),
}
COMPLEX = typed((2, 3), "complex64")


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_complex_numbers(name):
    function, wanted = PAIRS[name]
    t = Tally()
    assert function(t, A, B) == pytest.approx(wanted)
    found = call(name, {}, a=COMPLEX, b=COMPLEX)
    assert found.outputs == (COMPLEX,)
    assert work_of(name, found) == t.work.times(6)


@pytest.mark.parametrize("name", ALONE)
def test_functions_of_complex_numbers(name):
    function, wanted = ALONE[name]
    t = Tally()
    assert function(t, A) == pytest.approx(wanted)
    assert work_of(name, call(name, {}, x=COMPLEX)) == t.work.times(6)


def test_real_factors_and_divisors_take_each_part():
    real = typed((3,))
    assert work_of("mul", call("mul", {}, a=COMPLEX, b=real)) == Work(mul=12)
    assert work_of("mul", call("mul", {}, a=real, b=COMPLEX)) == Work(mul=12)
    assert work_of("div", call("div", {}, a=COMPLEX, b=real)) == Work(div=12)
    assert work_of("reduce_sum", call("reduce_sum", {"axes": (1,)}, x=COMPLEX)) == Work(add=8)
    assert work_of("reduce_mean", call("reduce_mean", {"axes": (1,)}, x=COMPLEX)) == Work(add=8, div=4)


def test_polar_coordinates():
    t = Tally()
    assert polar(t, 2.0, math.pi / 2) == pytest.approx(2j)
    found = call("polar", {}, a=(2, 3), b=(3,))
    assert (found.outputs, work_of("polar", found)) == ((COMPLEX,), t.work.times(6))


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "sqrt", "pow", "reduce_prod", "reduce_l2", "cumsum", "variance"])
def test_what_has_no_formula_for_complex_numbers_says_so(name):
    operands = {"a": COMPLEX, "b": COMPLEX} if name == "pow" else {"x": COMPLEX}
    assert work_of(name, call(name, {"axis": 0} if name == "cumsum" else {}, **operands)) is None


def log_add_exp(t, a, b):
    larger, apart = t.maximum(a, b), t.maximum(t.sub(a, b), b - a)
    return t.add(larger, t.special(math.log, t.add(1, t.special(math.exp, -apart))))


TWO = {
    "atan2": (lambda t, a, b: t.special(math.atan2, a, b), np.arctan2),
    "hypot": (lambda t, a, b: t.special(math.sqrt, t.add(t.mul(a, a), t.mul(b, b))), np.hypot),
    "log_add_exp": (log_add_exp, np.logaddexp),
    "copy_sign": (lambda t, a, b: t.select(b < 0, -abs(a), abs(a)), np.copysign),
    "heaviside": (lambda t, a, b: t.select(a < 0, 0, t.select(a > 0, 1, b)), np.heaviside),
}


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name):
    function, numpys = TWO[name]
    t = Tally()
    for a, b in ((0.75, -1.5), (0.5, 2.5)):
        assert function(t, a, b) == pytest.approx(numpys(a, b))
    assert work_of(name, call(name, {}, a=(2,), b=())) == t.work


def test_questions_about_numbers():
    for name in ("is_finite", "sign_bit"):
        found = call(name, {}, x=(2, 3))
        assert (found.outputs, work_of(name, found)) == ((typed((2, 3), "bool"),), Work(compare=6))


def test_parts_of_complex_numbers_keep_their_precision():
    wide = typed((4,), "complex128")
    for name in ("real_part", "imaginary_part", "angle"):
        assert call(name, {}, x=wide).outputs == (typed((4,), "float64"),)
        assert call(name, {}, x=COMPLEX).outputs == (typed((2, 3)),)
    assert call("complex_to_real", {}, x=wide).outputs == (typed((4, 2), "float64"),)
    assert call("real_to_complex", {}, x=typed((4, 2), "float64")).outputs == (wide,)
    assert call("complex", {}, a=typed((4,), "float64"), b=typed((1,), "float64")).outputs == (wide,)
    assert OPERATORS["real_part"].traffic(call("real_part", {}, x=COMPLEX)).write_bytes == 24

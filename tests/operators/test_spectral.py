"""Fourier transforms: executed butterfly by butterfly, and their shapes as numpy's transforms have them."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, shape_of, typed, work_of
from tests.operators.test_arithmetic import add, mul, sub
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work

NAME = "fourier_transform"
SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)


def fast(t, values):
    """Cooley and Tukey's algorithm on a power of two, every factor a product."""
    if len(values) == 1:
        return values
    even, odd = fast(t, values[::2]), fast(t, values[1::2])
    turned = [mul(t, cmath.exp(-2j * cmath.pi * k / len(values)), z) for k, z in enumerate(odd)]
    return [add(t, a, b) for a, b in zip(even, turned, strict=True)] + [
        sub(t, a, b) for a, b in zip(even, turned, strict=True)
    ]


@pytest.mark.parametrize("size", [1, 2, 4, 8, 32])
def test_a_power_of_two_takes_its_butterflies(size):
    t, values = Tally(), [complex(k % 3, k % 5) for k in range(size)]
    np.testing.assert_allclose(fast(t, values), np.fft.fft(values), atol=1e-9)
    found = call(NAME, {"axes": (0,)}, x=typed((size,), "complex64"))
    assert work_of(NAME, found) == t.work
    real = call(NAME, {"axes": (0,), "form": "real_to_half"}, x=(size,))
    assert work_of(NAME, real).times(2) == t.work


def test_other_sizes_round_the_doublings_up():
    """5 x 3 for 5 values: as many doublings as make 8."""
    found = call(NAME, {"axes": (1,)}, x=typed((2, 5), "complex64"))
    assert work_of(NAME, found) == Work(add=2 * 3 * 5 * 3, mul=2 * 2 * 5 * 3)


def test_several_axes_are_transformed_line_by_line():
    t = Tally()
    for count, size in ((4, 8), (8, 4)):
        for _ in range(count):
            fast(t, [1j] * size)
    assert work_of(NAME, call(NAME, {"axes": (0, 1)}, x=typed((4, 8), "complex64"))) == t.work


@pytest.mark.parametrize(("form", "dtype"), [("real_to_half", "float32"), ("half_to_real", "complex64")])
def test_real_values_leave_half_a_spectrum_to_the_other_axes(form, dtype):
    """16 real values a row, 4 rows: 4 transforms of real rows, 9 of complex columns."""
    rows, column = Tally(), Tally()
    fast(rows, [1j] * 16)
    fast(column, [1j] * 4)
    shape = (4, 16) if form == "real_to_half" else (4, 9)
    found = call(NAME, {"axes": (0, 1), "form": form, "sizes": (4, 16)}, x=typed(shape, dtype))
    assert work_of(NAME, found) == rows.work.times(2).plus(column.work.times(9))


def test_scaling_is_a_product_for_every_real_number():
    plain, scaled = (
        work_of(NAME, call(NAME, {"axes": (0,), "scaled": scaled}, x=typed((8,), "complex64")))
        for scaled in (False, True)
    )
    assert scaled == plain.plus(Work(mul=16))


@given(SHAPES, st.data())
def test_shapes_are_numpys(shape, data):
    axes = tuple(data.draw(st.lists(st.integers(-len(shape), -1), min_size=1, unique=True)))
    sizes = tuple(data.draw(st.integers(2, 6)) for _ in axes)
    x = np.zeros(shape)
    for form, executed in (
        ("complex", np.fft.fftn),
        ("real_to_full", np.fft.fftn),
        ("real_to_half", np.fft.rfftn),
        ("half_to_real", np.fft.irfftn),
    ):
        attributes = {"axes": axes, "sizes": sizes, "form": form}
        found = call(NAME, attributes, x=typed(shape, "float64"))
        wanted = executed(x, s=sizes, axes=axes)
        assert (shape_of(found), found.outputs[0].dtype.name) == (wanted.shape, wanted.dtype.name)


def test_nonsense_is_refused():
    for attributes in ({"axes": (0,), "form": "x"}, {"axes": ()}, {"axes": (0,), "sizes": (0,)}, {"axes": (3,)}):
        with pytest.raises(GraphError):
            call(NAME, attributes, x=(4,))
    with pytest.raises(GraphError, match="last axis of 2"):
        call("real_to_complex", {}, x=(4, 3))

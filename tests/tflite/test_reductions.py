"""Reductions over axes, windows and spectra, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite.single import operand, result, runs, single, stored, work
from weighbridge.graph import UNKNOWN
from weighbridge.operators.record import Work

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
REDUCTIONS = {
    "SUM": ("reduce_sum", np.sum, "FLOAT32"),
    "MEAN": ("reduce_mean", np.mean, "INT8"),
    "REDUCE_PROD": ("reduce_prod", np.prod, "FLOAT32"),
    "REDUCE_MAX": ("reduce_max", np.max, "INT8"),
    "REDUCE_MIN": ("reduce_min", np.min, "INT8"),
    "REDUCE_ANY": ("reduce_max", np.any, "BOOL"),
    "REDUCE_ALL": ("reduce_min", np.all, "BOOL"),
}


@settings(max_examples=25)
@given(SHAPES, st.booleans(), st.data())
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, shape, keep, data):
    """An axis may be named twice, from the front and from behind, which numpy refuses."""
    ours, function, dtype = REDUCTIONS[name]
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), max_size=5))
    distinct = tuple({axis % len(shape) for axis in axes})
    wanted = function(np.ones(shape), axis=distinct, keepdims=keep).shape
    found = single(name, [operand("x", shape, dtype), stored("a", axes)], {"keep_dims": keep}, [dtype])
    assert (result(found), runs(found)) == ((wanted, dtype.lower()), [ours])


def test_one_axis_without_a_row_around_it():
    found = single("SUM", [operand("x", (3, 4)), stored("a", 1)])
    assert (result(found)[0], work(found)) == ((3,), Work(add=9))


def test_axes_that_are_none():
    (node,) = single("SUM", [operand("x", (3, 4)), stored("a", 2)]).nodes
    assert (node.operator, "no axes of 2 dimensions" in node.reason) == (UNKNOWN, True)
    assert result(single("SUM", [operand("x", (3, 4)), operand("a", (1,), "INT32")]))[0] is None


@settings(max_examples=25)
@given(SHAPES, st.data())
def test_positions_of_extremes_and_running_sums(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x, along = operand("x", shape, "INT8"), stored("a", axis)
    for name, function in (("ARG_MAX", np.argmax), ("ARG_MIN", np.argmin)):
        found = single(name, [x, along], {"output_type": 2}, ["INT32"])
        assert (result(found), runs(found)) == ((function(np.zeros(shape), axis).shape, "int32"), [name.lower()])
    found = single("CUMSUM", [operand("x", shape), along], {"exclusive": True, "reverse": True})
    assert (result(found)[0], runs(found)) == (np.cumsum(np.zeros(shape), axis).shape, ["cumsum"])


@pytest.mark.parametrize("number", range(7))
def test_windows(number):
    """3 x 2 windows every 2 x 1, their rows 2 apart, over 9 x 4: 3 x 3 of them with 6 values each."""
    sizes = {"kernel": [3, 2], "stride": [2, 1], "dilation": [2, 1]}
    operands = [operand("x", (9, 4)), operand("i", ()), *(stored(name, one, "INT64") for name, one in sizes.items())]
    found = single("REDUCE_WINDOW", operands, {"reduce_function": number})
    taken = np.lib.stride_tricks.sliding_window_view(np.zeros((9, 4)), (5, 2))[::2, ::1, ::2]
    assert result(found)[0] == taken.shape[:2]
    kinds = [None, Work(add=45), Work(mul=45), *[Work(compare=45)] * 4]
    assert work(found) == kinds[number]


@pytest.mark.parametrize("sizes", [(8, 8), (4, 6)])
def test_spectra(sizes):
    found = single("RFFT2D", [operand("x", (3, 8, 8)), stored("n", sizes)], types=["COMPLEX64"])
    assert result(found) == (np.fft.rfft2(np.zeros((3, 8, 8)), sizes).shape, "complex64")
    open_ended = single("RFFT2D", [operand("x", (3, 8, 8)), operand("n", (2,), "INT32")], types=["COMPLEX64"])
    assert result(open_ended) == (None, "complex64")

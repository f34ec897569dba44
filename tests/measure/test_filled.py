"""The values of inputs that nobody gave."""

from __future__ import annotations

import numpy as np
import pytest

from weighbridge.measure.runners.filled import filled


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floating_point_is_filled_with_normal_numbers(dtype: str) -> None:
    values, how = filled("x", (64, 64), dtype, {})
    assert (values.dtype.name, values.shape, how) == (dtype, (64, 64), "normal numbers")
    assert abs(float(values.mean())) < 0.1
    assert 0.9 < float(values.std()) < 1.1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "bool"])
def test_whole_numbers_are_ones_which_are_tokens_masks_and_indices(dtype: str) -> None:
    values, how = filled("x", (2, 3), dtype, {})
    assert (values.dtype.name, how) == (dtype, "ones")
    assert values.all()


def test_a_scalar_is_an_array_too() -> None:
    values, _ = filled("x", (), "float32", {})
    assert isinstance(values, np.ndarray)
    assert values.shape == ()


def test_inputs_differ_and_each_is_the_same_every_time() -> None:
    one, again, other = (filled(name, (8,), "float32", {})[0] for name in ("x", "x", "y\udc80"))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)

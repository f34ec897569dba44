"""Least squares in relative error: times of any size, and what cannot be fitted."""

from __future__ import annotations

import pytest

from weighbridge.calibration.solve import coefficients


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e290])
def test_times_of_any_size_are_fitted_without_a_warning(scale: float) -> None:
    terms = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]]
    times = [scale * (3 * one + 4 * other) for one, other in terms]
    assert coefficients(terms, times, [0.0, 0.0]) == pytest.approx((3 * scale, 4 * scale))

"""Rates of single operators come back from the times that known coefficients make."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calibration.networks import CALL_S, TRUE, operators
from weighbridge.calibration.rates import Limits, fit_rates

UNBOUNDED = Limits()


def test_known_coefficients_are_recovered() -> None:
    found = fit_rates(operators(), UNBOUNDED)
    assert found.call_s == pytest.approx(CALL_S, rel=1e-4)
    for name, seconds in TRUE.items():
        for term, value in seconds._asdict().items():
            if value:
                assert getattr(found.classes[name], term) == pytest.approx(value, rel=1e-3), (name, term)
    assert max(abs(one.error) for one in found.residuals) < 1e-6


def test_a_term_that_takes_no_time_is_found_to_be_none() -> None:
    found = fit_rates(operators(), UNBOUNDED)
    assert found.classes["copy"].macs == 0
    assert found.classes["copy"].special == 0
    assert found.classes["copy"].steps == pytest.approx(0, abs=1e-10)


def test_classes_stand_in_the_order_of_the_file_and_each_residual_names_its_own() -> None:
    found = fit_rates(list(reversed(operators())), UNBOUNDED)
    assert list(found.classes) == ["dense convolution", "linear", "softmax", "copy"]
    assert {one.operators for one in found.residuals} == set(TRUE)


def test_two_rows_that_are_far_off_do_not_move_it() -> None:
    rows = operators()
    rows[3] = rows[3]._replace(time_s=rows[3].time_s * 20)
    rows[29] = rows[29]._replace(time_s=rows[29].time_s / 5)
    found = fit_rates(rows, UNBOUNDED)
    assert found.classes["dense convolution"].macs == pytest.approx(TRUE["dense convolution"].macs, rel=0.05)
    assert found.classes["linear"].macs == pytest.approx(TRUE["linear"].macs, rel=0.05)
    worst = sorted(found.residuals, key=lambda one: -abs(one.error))[:2]
    assert {one.name for one in worst} == {rows[3].name, rows[29].name}


def test_nothing_is_faster_than_the_machine() -> None:
    limits = Limits(macs_per_s=2e10, bytes_per_s=4e9)
    found = fit_rates(operators(), limits)
    for each in found.classes.values():
        assert each.macs == 0 or each.macs >= 1 / 2e10
        assert each.bytes >= 1 / 4e9
    assert found.classes["copy"].macs == 0  # nothing of it multiplies


def test_a_peak_that_is_not_known_and_calls_that_cannot_be_told_apart_are_said() -> None:
    rows = [row for row in operators() if row.work[0].steps == 1]
    assert len(fit_rates(rows, UNBOUNDED).notes) == 2
    assert fit_rates(operators(), Limits(1e15, 1e15)).notes == ()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.2, 5), min_size=64, max_size=64), st.floats(1e-3, 1e3))
def test_no_coefficient_is_negative_and_all_times_scale(factors: list[float], scale: float) -> None:
    rows = [row._replace(time_s=row.time_s * factor) for row, factor in zip(operators(), factors, strict=True)]
    found = fit_rates(rows, UNBOUNDED)
    scaled = fit_rates([row._replace(time_s=row.time_s * scale) for row in rows], UNBOUNDED)
    assert found.call_s >= 0
    assert all(one >= 0 for each in found.classes.values() for one in each)
    for one, other in zip(found.residuals, scaled.residuals, strict=True):
        assert other.expected_s == pytest.approx(one.expected_s * scale, rel=1e-3)

"""Efficiencies by class come back from networks whose own are known, and few networks are drawn to one factor."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calibration.networks import EFFICIENT, networks
from weighbridge.calibration.efficiencies import STRENGTHS, Single, expected_s, fit_efficiencies


def test_known_efficiencies_are_recovered_also_above_one() -> None:
    found = fit_efficiencies(networks(40))
    assert found.strength == STRENGTHS[0]
    for name, value in EFFICIENT.items():
        assert found.of(name) == pytest.approx(value, rel=0.02), name


def test_one_factor_for_all_is_found_where_that_is_what_there_is() -> None:
    every = dict.fromkeys(EFFICIENT, 0.6)
    found = fit_efficiencies(networks(12, noise=0.15, efficient=every))
    assert found.strength >= 0.3
    assert found.common == pytest.approx(0.6, rel=0.1)
    assert all(value == pytest.approx(found.common, rel=0.2) for value in found.classes.values())


def test_a_class_that_no_network_has_gets_the_common_factor() -> None:
    found = fit_efficiencies(networks(12))
    assert found.of("recurrence") == found.common
    assert "recurrence" not in found.classes


def test_a_network_that_is_far_off_does_not_move_it() -> None:
    rows = networks(40)
    rows[7] = rows[7]._replace(time_s=rows[7].time_s * 30)
    found = fit_efficiencies(rows)
    for name, value in EFFICIENT.items():
        assert found.of(name) == pytest.approx(value, rel=0.05), name


def test_the_call_is_beside_the_efficiencies() -> None:
    one = Single("a", "a", {"linear": 1e-3}, 5e-3, 7e-3)
    found = fit_efficiencies([one, one._replace(name="b", group="b")])
    assert found.of("linear") == pytest.approx(0.5)
    assert expected_s(one, found) == pytest.approx(7e-3)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.05, 20), min_size=9, max_size=9), st.floats(1e-3, 1e3))
def test_efficiencies_are_above_zero_and_all_times_scale(factors: list[float], scale: float) -> None:
    rows = [one._replace(time_s=one.time_s * factor) for one, factor in zip(networks(9), factors, strict=True)]
    scaled = [one._replace(time_s=one.time_s * scale, call_s=one.call_s * scale) for one in rows]
    found, other = fit_efficiencies(rows, STRENGTHS[2:3]), fit_efficiencies(scaled, STRENGTHS[2:3])
    assert all(value > 0 and math.isfinite(value) for value in found.classes.values())
    for one, more in zip(rows, scaled, strict=True):
        assert expected_s(more, other) == pytest.approx(expected_s(one, found) * scale, rel=1e-3)

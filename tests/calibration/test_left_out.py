"""A network's error is told by a fit without it: what it took has no part in what it is expected to take."""

from __future__ import annotations

import pytest

from tests.calibration.networks import networks
from weighbridge.calibration.left_out import (
    LeftOut,
    constant_left_out,
    errors_of,
    expected_left_out,
    interval_of,
)


def test_what_a_network_took_does_not_move_what_it_is_expected_to_take() -> None:
    rows = networks(10, noise=0.1)
    before = expected_left_out(rows)
    rows[4] = rows[4]._replace(time_s=rows[4].time_s * 3)
    after = expected_left_out(rows)
    assert after[4].expected_s == before[4].expected_s
    assert after[4].measured_s == 3 * before[4].measured_s
    assert [one.name for one in after] == [one.name for one in rows]


def test_a_group_is_left_out_as_a_whole() -> None:
    rows = networks(8, noise=0.1)
    rows += [one._replace(name=f"{one.name} again") for one in rows]
    found = expected_left_out(rows)
    assert [one.expected_s for one in found[:8]] == [one.expected_s for one in found[8:]]
    rows[9] = rows[9]._replace(time_s=rows[9].time_s * 9)
    again = expected_left_out(rows)
    assert again[1].expected_s == found[1].expected_s
    assert again[2].expected_s != found[2].expected_s


def test_of_one_group_the_others_say_nothing() -> None:
    (only,) = expected_left_out(networks(1))
    assert only.expected_s is None
    assert only.error is None
    assert errors_of([only]) is None
    assert interval_of([only]) is None


def test_efficiencies_by_class_beat_one_constant_where_classes_differ() -> None:
    rows = networks(20, noise=0.03)
    fitted = errors_of(expected_left_out(rows))
    constant = errors_of(constant_left_out(rows, [sum(one.by.values()) for one in rows]))
    assert fitted is not None
    assert constant is not None
    assert fitted.median < 0.05
    assert constant.median > 2 * fitted.median


def test_one_constant_is_the_median_of_what_the_others_take() -> None:
    rows = [one._replace(time_s=time_s) for one, time_s in zip(networks(4), (2.0, 4.0, 6.0, 100.0), strict=True)]
    found = constant_left_out(rows, [2.0, 2.0, 2.0, None])
    assert [one.expected_s for one in found] == [5.0, 4.0, 3.0, None]


def test_the_distribution_has_sizes_and_a_sign() -> None:
    found = errors_of([LeftOut(str(place), 1.0, 1 + error) for place, error in enumerate((-0.5, -0.1, 0.1, -0.2, 0.3))])
    assert found is not None
    assert found.networks == 5
    assert found.median == pytest.approx(0.2)
    assert found.bias == pytest.approx(-0.1)
    assert found.mean == pytest.approx(0.24)
    assert (found.worst, found.worst_error) == ("0", pytest.approx(-0.5))
    assert found.median < found.p90 < found.p99 < 0.5


def test_the_interval_holds_four_of_five_and_of_few_all() -> None:
    few = [LeftOut(str(place), ratio, 1.0) for place, ratio in enumerate((0.8, 1.1, 1.3))]
    assert interval_of(few) == (0.8, 1.3)
    many = [LeftOut(str(place), 1 + place / 99, 1.0) for place in range(99)]
    low, high = interval_of(many) or (0, 0)
    assert sum(low <= one.measured_s <= high for one in many) == 81

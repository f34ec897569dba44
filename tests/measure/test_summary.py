"""The figures of samples, and whether the interval of the median holds it as often as it says: by simulation, with fixed seeds."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.measure.machines import alike
from weighbridge.measure.summary import Interval, correlation_time, median_interval, quantile, summary


def held(count: int, correlation: float, cases: int = 400) -> tuple[float, float]:
    """Of how many simulated measurements there is an interval, and of how many of those it holds the median."""
    found = [median_interval(alike(seed, count, correlation)) for seed in range(cases)]
    there = [one for one in found if one is not None]
    return len(there) / cases, sum(one.low_s <= 1 <= one.high_s for one in there) / len(there)


@pytest.mark.parametrize("count", [6, 7, 10, 30, 101])
def test_of_samples_that_do_not_depend_on_each_other_the_interval_holds_the_median(count: int) -> None:
    _, share = held(count, 0.0)
    assert share >= 0.95 - 0.02


@pytest.mark.parametrize(("count", "least"), [(30, 0.89), (100, 0.91), (400, 0.92)])
def test_of_samples_that_depend_on_each_other_it_holds_it_as_often_as_is_written(count: int, least: float) -> None:
    _, share = held(count, 0.5)
    assert share >= least


def test_of_many_that_hardly_differ_from_the_one_before_it_holds_it_in_nine_of_ten() -> None:
    _, share = held(400, 0.9, 200)
    assert 0.86 <= share <= 0.96


def test_without_the_correlation_it_would_hold_it_in_half_of_them() -> None:
    """The simulation can tell: an interval by ranks alone is far too short."""
    hits = 0
    for seed in range(200):
        ordered = sorted(alike(seed, 400, 0.9))
        hits += ordered[179] <= 1 <= ordered[219]
    assert hits / 200 < 0.6


@pytest.mark.parametrize(
    ("count", "low", "high"), [(6, 1, 6), (7, 1, 7), (9, 2, 8), (10, 2, 9), (15, 4, 12), (25, 8, 18), (100, 40, 61)]
)
def test_the_ranks_are_those_of_the_tables(count: int, low: int, high: int) -> None:
    """Of the exact binomial distribution; the samples are taken in an order in which neighbours differ."""
    values = [float(one) for one in range(1, count + 1)]
    for seed in range(50):
        random.Random(seed).shuffle(values)
        if correlation_time(values) == 1:
            assert median_interval(values) == Interval(float(low), float(high))
            return
    raise AssertionError("no order in which the samples look independent")


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_samples_have_no_interval(count: int) -> None:
    assert median_interval([1.0] * count) is None
    assert summary([1.0] * count).relative_width is None


def test_a_higher_confidence_takes_a_longer_interval() -> None:
    samples = alike(5, 200, 0)
    narrow, wide = median_interval(samples, 0.9), median_interval(samples, 0.99)
    assert narrow is not None
    assert wide is not None
    assert wide.low_s < narrow.low_s < narrow.high_s < wide.high_s


@pytest.mark.parametrize(("correlation", "least", "most"), [(0.0, 1, 2), (0.5, 1.5, 3.5), (0.9, 6, 25)])
def test_the_correlation_time_is_that_of_the_signs(correlation: float, least: float, most: float) -> None:
    """A sign follows its neighbour by 2/pi arcsin of what the value does: 1.9 and 12 samples for 0.5 and 0.9."""
    found = sorted(correlation_time(alike(seed, 1000, correlation)) for seed in range(15))[7]
    assert least <= found <= most


def test_samples_that_are_all_the_same_depend_on_nothing() -> None:
    assert correlation_time([2.0] * 50) == 1
    assert median_interval([2.0] * 50) == Interval(2, 2)


def test_quantiles_are_numpys() -> None:
    values = sorted(alike(2, 57, 0))
    for share in (0.0, 0.25, 0.5, 0.9, 0.99, 1.0):
        assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)))


def test_an_outlier_is_counted_and_stays_in_every_figure() -> None:
    quiet = [1.0, 1.01, 1.02, 1.03] * 30
    found = summary([*quiet, 9.0])
    assert (found.samples, found.outliers, found.most_s) == (121, 1, 9.0)
    assert found.fence_s < 9
    assert found.mean_s > summary(quiet).mean_s
    assert summary(quiet).outliers == 0


def test_a_quantile_that_nothing_lies_beyond_is_not_told() -> None:
    few, some, many = summary([1.0] * 9), summary([1.0] * 99), summary([1.0] * 100)
    assert (few.p90_s, few.p99_s) == (None, None)
    assert (some.p90_s, some.p99_s) == (1, None)
    assert (many.p90_s, many.p99_s) == (1, 1)


def test_no_samples_have_no_figures() -> None:
    with pytest.raises(ValueError, match="no samples"):
        summary([])


def summed(samples: list[float]) -> float:
    """The correlation time as it is written, each product by itself."""
    middle = float(np.median(samples))
    signs = np.sign(np.array(samples) - middle)
    each = [float((signs[: len(signs) - lag] * signs[lag:]).sum()) for lag in range(len(signs))]
    if not each[0]:
        return 1
    total, last = 0.0, float("inf")
    for lag in range(0, len(samples) // 2, 2):
        pair = (each[lag] + each[lag + 1]) / each[0]
        if pair <= 0:
            break
        last = min(last, pair)
        total += last
    return max(1.0, 2 * total - 1)


@pytest.mark.parametrize("digits", [1, 2, 12])
@pytest.mark.parametrize("correlation", [0.0, 0.7, 0.97])
def test_the_correlation_time_is_the_sum_as_it_is_written(correlation: float, digits: int) -> None:
    """Of samples many of which are the median itself, too; in 54 of these cases a pair grows, which counts as the one before it."""
    for seed, count in enumerate([1, 2, 3, 6, 7, 31, 64, 65, 200] * 6):
        samples = [round(one, digits) for one in alike(seed, count, correlation)]
        assert correlation_time(samples) == pytest.approx(summed(samples), rel=1e-12)


def test_a_sample_lies_far_out_beyond_three_times_the_distance_of_the_quartiles() -> None:
    quartiles_1_and_2 = [0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    at, beyond = summary([*quartiles_1_and_2, 5.0]), summary([*quartiles_1_and_2, 5.1])
    assert (at.fence_s, at.outliers) == (5, 0)
    assert (beyond.fence_s, beyond.outliers) == (5, 1)


def test_a_quantile_of_just_enough_samples_is_told() -> None:
    assert summary([1.0] * 10).p90_s == 1
    assert summary([1.0] * 100).p99_s == 1


def test_the_relative_width_is_half_the_interval() -> None:
    found = summary([1.0, 4.0, 2.0, 5.0, 3.0, 4.5, 1.5])
    assert found.median_interval == Interval(1, 5)
    assert found.relative_width == pytest.approx(2 / 3)

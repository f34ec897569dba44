"""Variances, running extremes, order statistics and counts, executed value by value."""

from __future__ import annotations

import bisect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, least_of, shape_of, typed, work_of
from tests.operators.test_elementwise import accumulate, log_sum_exp
from tests.operators.test_selection import Compared
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def variance(t, row, rooted):
    mean = t.div(accumulate(t.add, row), len(row))
    apart = [t.sub(x, mean) for x in row]
    found = t.div(accumulate(t.add, [t.mul(x, x) for x in apart]), len(row))
    return t.special(math.sqrt, found) if rooted else found


@given(st.integers(1, 4), st.integers(1, 5), st.booleans(), st.booleans())
def test_variance(rows, size, rooted, keep):
    x, t = np.arange(rows * size).reshape(rows, size) % 5 + 0.5, Tally()
    values = [variance(t, list(row), rooted) for row in x]
    np.testing.assert_allclose(values, (np.std if rooted else np.var)(x, 1))
    attributes = {"axes": (1,), "rooted": rooted, "keep_dims": keep, "outputs": ("variance", "mean")}
    found = call("variance", attributes, x=x.shape)
    assert shape_of(found) == shape_of(found, 1) == np.var(x, 1, keepdims=keep).shape
    assert work_of("variance", found) == t.work


@given(SHAPES, st.data())
def test_running_extremes(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    t, lines = Tally(), np.moveaxis(np.zeros(shape), axis, -1).reshape(-1, shape[axis])
    for line in lines:
        accumulate(t.maximum, list(line))
    for name in ("cumulative_max", "cumulative_min"):
        found = call(name, {"axis": axis, "outputs": ("y", "indices")}, x=shape)
        assert found.outputs == (typed(shape), typed(shape, "int64"))
        assert work_of(name, found) == t.work


def test_a_running_log_of_sums_adds_one_exponential_after_the_other():
    """Of two values what the pair takes: larger one, difference, two exponentials less one that is 1, sum, log, sum."""
    t = Tally()
    log_sum_exp(t, [0.25, 0.5])
    assert t.work == Work(add=4, compare=1, special=3)
    assert work_of("cumulative_log_sum_exp", call("cumulative_log_sum_exp", {"axis": 0}, x=(2,))) == work_of(
        "log_add_exp", call("log_add_exp", {}, a=(), b=())
    )


@given(st.permutations(range(12)), st.integers(1, 12))
def test_the_kth_smallest_takes_no_fewer_comparisons_than_stated(values, k):
    Compared.count, best = 0, []
    for value in map(Compared, values):
        if len(best) == k and not value < best[-1]:
            continue
        bisect.insort(best, value, hi=min(len(best), k - 1))
        del best[k:]
    found = call("kth_value", {"k": k}, x=(12,))
    assert best[-1].value == k - 1
    assert Compared.count >= least_of("kth_value", found).compare == 11
    # The smallest and the largest take as many in any order.
    assert work_of("kth_value", found) == (least_of("kth_value", found) if k in (1, 12) else None)
    assert shape_of(found) == ()


def test_the_kth_smallest_along_an_axis():
    for keep, shape in ((False, (2, 4)), (True, (2, 1, 4))):
        found = call("kth_value", {"k": 2, "axis": 1, "keep_dims": keep, "outputs": ("y", "indices")}, x=(2, 3, 4))
        assert found.outputs == (typed(shape), typed(shape, "int64"))
    with pytest.raises(GraphError):
        call("kth_value", {"k": 4, "axis": 1}, x=(2, 3, 4))


@given(st.integers(1, 20), st.integers(-1, 20))
def test_a_place_among_boundaries_is_found_by_halving(count, value):
    Compared.count = 0
    bisect.bisect_left([Compared(one) for one in range(count)], Compared(value))
    found = call("search_sorted", {}, x=(1,), boundaries=(count,))
    assert found.outputs == (typed((1,), "int64"),)
    least, stated = least_of("search_sorted", found), work_of("search_sorted", found)
    assert least.compare <= Compared.count <= least.compare + 1
    assert stated in (None, Work(compare=Compared.count))
    assert (stated is not None) == ((count + 1).bit_count() == 1)


def test_boundaries_belong_to_rows():
    assert shape_of(call("search_sorted", {}, x=(2, 5), boundaries=(2, 3))) == (2, 5)
    with pytest.raises(GraphError):
        call("search_sorted", {}, x=(2, 5), boundaries=(3, 3))


def test_counts():
    t, counts = Tally(), [0] * 4
    for value in (0.1, 0.4, 0.9):
        place = t.mul(t.sub(value, 0.0), 4.0)
        place = t.minimum(t.maximum(place, 0), 3)
        counts[int(place)] = t.add(counts[int(place)], 1)
    found = call("histogram", {"bins": 4}, x=(3,))
    assert counts == list(np.histogram([0.1, 0.4, 0.9], 4, (0, 1))[0])
    assert (shape_of(found), work_of("histogram", found)) == ((4,), t.work)
    assert work_of("bin_count", call("bin_count", {}, x=typed((7,), "int64"))) == Work(add=7)
    repeated = call("repeated_positions", {}, repeats=typed((7,), "int64"))
    assert work_of("repeated_positions", repeated) == Work(add=7)

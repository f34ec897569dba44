"""Distances and cross products, executed."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, macs_of, shape_of, work_of
from weighbridge.errors import GraphError

SIZES = st.integers(1, 3)


def norm(values, p, t):
    """The p-norm of a row by its definition."""
    if p == "infinite":
        parts = [t.maximum(value, -value) for value in values]
    elif p == 0:
        parts = [t.select(value != 0, 1, 0) for value in values]
    elif p == 2:
        parts = [t.mul(value, value) for value in values]
    else:
        parts = [t.maximum(value, -value) for value in values]
        parts = parts if p == 1 else [t.special(pow, part, p) for part in parts]
    total = parts[0]
    for part in parts[1:]:
        total = t.maximum(total, part) if p == "infinite" else t.add(total, part)
    return total if p in ("infinite", 0, 1) else t.special(pow, total, 1 / p)


@settings(deadline=None, max_examples=60)
@given(st.lists(SIZES, max_size=1), SIZES, SIZES, SIZES, st.sampled_from(["infinite", 0, 1, 2, 3, 0.5]))
def test_distances_count_what_their_execution_does(batch, m, n, k, p):
    a, b = np.sin(np.arange(math.prod(batch) * m * k)).reshape(*batch, m, k), np.cos(np.arange(n * k)).reshape(n, k)
    t, result = Tally(), np.zeros((*batch, m, n))
    for *lead, i, j in everywhere(result.shape):
        row = [t.sub(x, y) for x, y in zip(a[(*lead, i)], b[j], strict=True)]
        result[(*lead, i, j)] = norm(row, p, t)
    found = call("distance_matrix", {"p": p}, a=a.shape, b=b.shape)
    assert shape_of(found) == result.shape
    assert work_of("distance_matrix", found) == t.work
    assert macs_of("distance_matrix", found) == 0
    order = math.inf if p == "infinite" else p
    difference = a[..., :, None, :] - b
    if order >= 1 or order == 0:
        np.testing.assert_allclose(
            result, np.linalg.norm(difference, ord=order, axis=-1) if k > 1 or order else difference[..., 0] != 0
        )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 4), SIZES, st.sampled_from(["infinite", 0, 1, 2, 3]))
def test_distances_within_a_set_count_what_their_execution_does(n, k, p):
    """By execution, every pair once."""
    a, t = np.sin(np.arange(n * k)).reshape(n, k), Tally()
    pairs = list(combinations(a, 2))
    for first, second in pairs:
        norm([t.sub(x, y) for x, y in zip(first, second, strict=True)], p, t)
    found = call("distances_within", {"p": p}, a=a.shape)
    assert shape_of(found) == (len(pairs),)
    assert work_of("distances_within", found) == t.work


def test_distances_within_are_those_of_rows():
    with pytest.raises(GraphError):
        call("distances_within", {}, a=(2, 3, 4))


@settings(deadline=None, max_examples=30)
@given(SIZES, SIZES)
def test_a_cross_product_counts_what_its_execution_does(n, m):
    a, b = np.sin(np.arange(n * 3 * m)).reshape(n, 3, m), np.cos(np.arange(3)).reshape(1, 3, 1)
    t, result = Tally(), np.zeros(a.shape)
    for row, column in everywhere((n, m)):
        x, y = a[row, :, column], b[0, :, 0]
        for axis in range(3):
            j, k = (axis + 1) % 3, (axis + 2) % 3
            result[row, axis, column] = t.sub(t.mul(x[j], y[k]), t.mul(x[k], y[j]))
    found = call("cross", {"axis": 1}, a=a.shape, b=b.shape)
    assert shape_of(found) == result.shape
    assert work_of("cross", found) == t.work
    np.testing.assert_allclose(result, np.cross(a, np.broadcast_to(b, a.shape), axis=1))


@pytest.mark.parametrize(
    ("operator", "attributes", "a", "b"),
    [
        ("distance_matrix", {}, (2, 3), (2, 4)),
        ("distance_matrix", {}, (3,), (2, 3)),
        ("distance_matrix", {"p": -1}, (2, 3), (2, 3)),
        ("distance_matrix", {"p": math.inf}, (2, 3), (2, 3)),
        ("cross", {}, (2, 4), (2, 4)),
        ("cross", {}, (), ()),
        ("cross", {"axis": 3}, (3,), (3,)),
    ],
)
def test_a_contradiction_is_an_error(operator, attributes, a, b):
    with pytest.raises(GraphError):
        call(operator, attributes, a=a, b=b)

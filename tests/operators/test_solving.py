"""Substitution, executed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, macs_of, shape_of, work_of
from weighbridge.errors import GraphError


@given(st.integers(1, 4), st.integers(1, 3), st.booleans(), st.booleans(), st.integers(1, 2))
def test_substitution_counts_what_its_execution_does(n, k, left, unit_diagonal, batch):
    a = np.tril(np.sin(np.arange(1, n * n + 1)).reshape(n, n)) + 2 * np.eye(n)
    if unit_diagonal:
        np.fill_diagonal(a, 1)
    b = np.cos(np.arange(batch * n * k)).reshape((batch, n, k) if left else (batch, k, n))
    t, x = Tally(), np.zeros_like(b)
    for place in range(batch):
        rows, sides = (x[place], b[place]) if left else (x[place].T, b[place].T)
        matrix = a if left else a.T
        order = range(n) if left else range(n - 1, -1, -1)
        for side in range(k):
            for i in order:
                known = range(i) if left else range(i + 1, n)
                value = sides[i, side]
                for j in known:
                    value = t.sub(value, t.mul(matrix[i, j], rows[j, side]))
                rows[i, side] = value if unit_diagonal else t.div(value, matrix[i, i])
    found = call("triangular_solve", {"left": left, "unit_diagonal": unit_diagonal}, a=a.shape, b=b.shape)
    assert shape_of(found) == x.shape
    assert work_of("triangular_solve", found) == t.work
    assert macs_of("triangular_solve", found) == 0
    np.testing.assert_allclose(a @ x if left else x @ a, b, atol=1e-12)


@pytest.mark.parametrize(
    ("left", "a", "b"),
    [
        (True, (3, 2), (3, 1)),
        (True, (3, 3), (2, 3)),
        (False, (3, 3), (3, 2)),
        (True, (3,), (3, 1)),
        (True, (2, 3, 3), (5, 3, 1)),
    ],
)
def test_what_is_no_system_is_refused(left, a, b):
    with pytest.raises(GraphError):
        shape_of(call("triangular_solve", {"left": left}, a=a, b=b))

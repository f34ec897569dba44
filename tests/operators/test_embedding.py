"""Lookups in a table, executed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import call, everywhere, integers, macs_of, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work
from weighbridge.operators.table import OPERATORS

SIZES = st.integers(1, 4)


@settings(deadline=None, max_examples=50)
@given(st.lists(SIZES, min_size=1, max_size=3), st.lists(SIZES, max_size=2))
def test_a_lookup_reads_the_rows_it_needs(table, indices):
    """As many different rows as there are lookups, as long as the table has so many."""
    w = integers(table)
    result = np.zeros((*indices, *table[1:]), dtype=object)
    read = set()
    for number, place in enumerate(everywhere(indices)):
        row = number % table[0]
        for column in everywhere(table[1:]):
            result[(*place, *column)] = w[(row, *column)]
            read.add((row, *column))
    found = call("embedding", {}, w=tuple(table), indices=typed(indices, "int64"))
    assert shape_of(found) == result.shape
    traffic = OPERATORS["embedding"].traffic(found)
    assert traffic.read_bytes == 4 * len(read) + 8 * len(list(everywhere(indices)))
    assert traffic.write_bytes == 4 * result.size
    assert macs_of("embedding", found) == 0
    assert work_of("embedding", found) == Work()


def test_a_table_of_another_type_may_give_floats():
    found = call("embedding", {"output_dtype": "float32"}, w=typed((10, 32), "q8_0"), indices=typed((2,), "int64"))
    assert found.outputs[0] == typed((2, 32))
    assert OPERATORS["embedding"].traffic(found).read_bytes == 2 * 34 + 2 * 8


def test_a_scalar_is_no_table():
    with pytest.raises(GraphError):
        call("embedding", {}, w=(), indices=(2,))

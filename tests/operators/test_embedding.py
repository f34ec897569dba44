"""Lookups in a table, executed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, integers, macs_of, shape_of, typed, work_of
from weighbridge.dtypes import DTYPES
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


@settings(deadline=None, max_examples=60)
@given(
    SIZES,
    SIZES,
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.sampled_from(["sum", "mean", "max"]),
    st.booleans(),
    st.booleans(),
)
def test_a_bag_counts_what_its_execution_does(rows, columns, lengths, mode, weighted, last):
    """A bag starts empty, and each row that is looked up joins it; those of a mean are divided, empty ones too."""
    table, t = integers((rows, columns)), Tally()
    result = np.zeros((len(lengths), columns), dtype=object)
    read, number = set(), 0
    for bag, length in enumerate(lengths):
        for _ in range(length):
            row = number % rows
            number += 1
            for column in range(columns):
                read.add((row, column))
                value = t.mul(table[row, column], 2) if weighted else table[row, column]
                join = t.maximum if mode == "max" else t.add
                result[bag, column] = join(result[bag, column], value)
        if mode == "mean":
            result[bag] = [t.div(value, max(length, 1)) for value in result[bag]]
    found = call(
        "embedding_bag",
        {"mode": mode, "include_last_offset": last},
        w=(rows, columns),
        indices=typed((number,), "int64"),
        offsets=typed((len(lengths) + last,), "int64"),
        **({"sample_weights": (number,)} if weighted else {}),
    )
    assert shape_of(found) == result.shape
    assert work_of("embedding_bag", found) == t.work
    assert macs_of("embedding_bag", found) == 0
    others = 8 * (number + len(lengths) + last) + (4 * number if weighted else 0)
    assert OPERATORS["embedding_bag"].traffic(found).read_bytes == 4 * len(read) + others


def test_bags_may_be_rows_of_indices():
    assert shape_of(call("embedding_bag", {}, w=(50, 8), indices=typed((3, 2), "int64"))) == (3, 8)


@pytest.mark.parametrize(
    ("attributes", "operands"),
    [
        ({"mode": "median"}, {"w": (5, 8), "indices": (3, 2)}),
        ({}, {"w": (5,), "indices": (3, 2)}),
        ({}, {"w": (5, 8), "indices": (3,)}),
        ({}, {"w": (5, 8), "indices": (3, 2), "offsets": (2,)}),
        ({}, {"w": (5, 8), "indices": (3,), "offsets": (2, 1)}),
        ({}, {"w": (5, 8), "indices": (3,), "offsets": (2,), "sample_weights": (4,)}),
        ({"include_last_offset": True}, {"w": (5, 8), "indices": (3,), "offsets": (0,)}),
    ],
)
def test_bags_that_do_not_fit_are_an_error(attributes, operands):
    with pytest.raises(GraphError):
        call("embedding_bag", attributes, **operands)


def test_renormalisation_depends_on_values():
    found = call("embedding_renorm", {}, w=(50, 8), indices=typed((3,), "int64"))
    assert shape_of(found) == (50, 8)
    assert work_of("embedding_renorm", found) is None
    with pytest.raises(GraphError):
        call("embedding_renorm", {}, w=(50,), indices=typed((3,), "int64"))


@settings(deadline=None, max_examples=60)
@given(SIZES, st.lists(SIZES, min_size=1, max_size=2), st.lists(SIZES, min_size=1, max_size=3), SIZES, st.data())
def test_bags_of_a_sparse_tensor_count_what_their_execution_does(rows, tail, dense, many, data):
    """Every row joins the bag of its place by its weight; the bags, empty ones too, are divided by what their mode says."""
    mode = data.draw(st.sampled_from(["sum", "mean", "root"]))
    table, t = integers((rows, *tail)), Tally()
    result = np.zeros((*dense[:-1], *tail), dtype=object)
    whole = dict.fromkeys(everywhere(dense[:-1]), 0)
    places = [place for place, _ in zip(list(everywhere(dense)) * many, range(many), strict=False)]
    for row, (*bag, _) in enumerate(places):
        if mode == "mean":
            whole[tuple(bag)] = t.add(whole[tuple(bag)], 2)
        if mode == "root":
            whole[tuple(bag)] = t.add(whole[tuple(bag)], t.mul(2, 2))
        for column in everywhere(tail):
            place = (*bag, *column)
            result[place] = t.add(result[place], t.mul(table[(row % rows, *column)], 2))
    for bag, weight in whole.items():
        divisor = t.special(np.sqrt, float(weight)) if mode == "root" else weight
        for column in everywhere(tail) if mode != "sum" else ():
            t.div(result[(*bag, *column)], divisor or 1)
    operands = {"w": (rows, *tail), "ids": typed((many,), "int32"), "places": typed((many, len(dense)), "int32")}
    attributes = {"mode": mode, "shape": tuple(dense)}
    found = call("sparse_embedding_bag", attributes, **operands, sample_weights=(many,))
    assert shape_of(found) == result.shape
    assert work_of("sparse_embedding_bag", found) == t.work
    read = 4 * min(many, rows) * int(np.prod(tail)) + 4 * many * (2 + len(dense))
    assert OPERATORS["sparse_embedding_bag"].traffic(found).read_bytes == read
    assert call(
        "sparse_embedding_bag", {**attributes, "shape": "unknown"}, **operands, sample_weights=(many,)
    ).outputs == (DTYPES["float32"],)


def test_rows_by_keys_are_found_or_not():
    keys = {"indices": typed((3,), "int32"), "keys": typed((10,), "int32")}
    found = call("keyed_embedding", {}, w=typed((10, 8)), **keys)
    assert found.outputs == (typed((3, 8)), typed((3,), "uint8"))
    traffic = OPERATORS["keyed_embedding"].traffic(found)
    assert (traffic.read_bytes, traffic.write_bytes) == (4 * 3 * 8 + 4 * 10 + 4 * 3, 4 * 3 * 8 + 3)
    assert call("keyed_embedding", {}, w=typed((10,), "string"), **keys).outputs[0] == typed((3,), "string")


SPARSE = {"w": (5, 8), "ids": (3,), "places": (3, 2), "sample_weights": (3,)}


@pytest.mark.parametrize(
    ("operator", "attributes", "operands"),
    [
        ("sparse_embedding_bag", {"shape": (4, 6), "mode": "max"}, SPARSE),
        ("sparse_embedding_bag", {"shape": (4, 6, 2)}, SPARSE),
        ("sparse_embedding_bag", {"shape": ()}, {**SPARSE, "places": (3, 0)}),
        ("sparse_embedding_bag", {"shape": (4, 6)}, {**SPARSE, "w": (5,)}),
        ("sparse_embedding_bag", {"shape": (4, 6)}, {**SPARSE, "places": (4, 2)}),
        ("sparse_embedding_bag", {"shape": (4, 6)}, {**SPARSE, "sample_weights": (4,)}),
        ("keyed_embedding", {}, {"w": (5, 8), "indices": (3,), "keys": (4,)}),
        ("keyed_embedding", {}, {"w": (), "indices": (3,), "keys": (4,)}),
    ],
)
def test_lookups_that_do_not_fit_are_an_error(operator, attributes, operands):
    with pytest.raises(GraphError):
        call(operator, attributes, **operands)

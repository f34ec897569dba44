"""Operators that pick, place, sort and select, against numpy and against what their definitions say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite.build import graph, load, model, one, op, roles, shapes, tensor
from tests.tflite.single import operand, result, runs, single, stored, work
from weighbridge import weigh
from weighbridge.graph import UNKNOWN, Role
from weighbridge.operators.record import Work

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
FEW = settings(max_examples=25)


@FEW
@given(SHAPES, st.data())
def test_gather(shape, data):
    """Every batch has indices of its own; numpy takes them batch by batch."""
    batch = data.draw(st.integers(0, len(shape) - 1))
    axis = data.draw(st.integers(batch, len(shape) - 1))
    own = tuple(data.draw(st.lists(st.integers(1, 3), max_size=2)))
    indices = np.zeros((*shape[:batch], *own), int)
    rows = [np.take(np.zeros(shape)[at], indices[at], axis - batch) for at in np.ndindex(*shape[:batch])]
    given_axis = axis - len(shape) if data.draw(st.booleans()) else axis
    given_batch = batch - indices.ndim if own and data.draw(st.booleans()) else batch
    operands = [operand("x", shape, "INT8"), operand("i", indices.shape, "INT32")]
    found = single("GATHER", operands, {"axis": given_axis, "batch_dims": given_batch}, ["INT8"])
    assert (result(found), runs(found)) == (((*shape[:batch], *rows[0].shape), "int8"), ["gather"])


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "INT8", "INT4"])
def test_rows_of_a_stored_table_are_an_embedding(dtype):
    scales = {"scales": 1} if dtype.startswith("INT") else {}
    tensors = [
        tensor("w", (50, 6), dtype, data=True, **scales),
        operand("i", (2, 3), "INT32"),
        tensor("y", None, dtype),
    ]
    found = one(tensors, op("GATHER", "w i", "y"))
    assert (result(found), runs(found)) == (((2, 3, 6), dtype.lower()), ["embedding"])
    assert roles(found) == {"w": Role.PARAMETER}
    assert weigh(found).facts.weights == 300


def test_rows_of_stored_whole_numbers_are_no_embedding():
    """Positions and sizes are looked up as well."""
    tensors = [tensor("w", (50, 6), "INT32", data=True), operand("i", (2,), "INT32"), tensor("y", None, "INT32")]
    found = one(tensors, op("GATHER", "w i", "y"))
    assert (runs(found), roles(found)) == (["gather"], {"w": Role.CONSTANT})


@FEW
@given(SHAPES, st.integers(1, 4), st.data())
def test_indices_over_several_axes(shape, count, data):
    depth = data.draw(st.integers(1, len(shape)))
    indices = np.zeros((count, depth), int)
    picked = np.zeros(shape)[tuple(indices.T)]
    x, at = operand("x", shape), operand("i", indices.shape, "INT32")
    assert result(single("GATHER_ND", [x, at]))[0] == picked.shape
    updates = operand("u", picked.shape, "INT8")
    found = single("SCATTER_ND", [at, updates, stored("s", shape)], types=["INT8"])
    assert (result(found), runs(found)) == ((shape, "int8"), ["scatter_zeros"])
    assert work(found) == Work(add=picked.size), "what falls on one place is added up"
    assert result(single("SCATTER_ND", [at, updates, operand("s", (2,), "INT32")], types=["INT8"])) == (None, "int8")


def test_sparse_to_dense():
    operands = [
        operand("i", (3, 2), "INT32"),
        stored("s", [4, 5]),
        operand("v", (3,), "INT8"),
        operand("d", (), "INT8"),
    ]
    found = single("SPARSE_TO_DENSE", operands, types=["INT8"])
    assert (result(found), runs(found)) == (((4, 5), "int8"), ["sparse_to_dense"])


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
def test_one_hot(axis):
    operands = [operand("i", (2, 3), "INT32"), stored("d", 5), operand("a", (), "INT8"), operand("b", (), "INT8")]
    found = single("ONE_HOT", operands, {"axis": axis}, ["INT8"])
    wanted = np.expand_dims(np.zeros((2, 3)), axis).repeat(5, axis).shape
    assert (result(found), runs(found)) == ((wanted, "int8"), ["one_hot"])


def test_how_many_hold_only_the_values_say():
    """Stated sizes would only fill the place: the runtime makes room when it knows."""
    tensors = [operand("x", (4, 5), "BOOL"), tensor("y", (1, 2), "INT64")]
    assert shapes(one(tensors, op("WHERE", "x", "y"))) == [None]
    known = single("WHERE", [stored("x", [[True, False, True], [False, True, True]], "BOOL")], types=["INT64"])
    assert result(known) == (np.argwhere(np.array([[1, 0, 1], [0, 1, 1]])).shape, "int64")
    assert runs(known) == ["non_zero"]


def test_select_chooses_rows_and_its_successor_stretches():
    condition, x, other = operand("c", (3,), "BOOL"), operand("x", (3, 4)), operand("z", (3, 4))
    found = single("SELECT", [condition, x, other])
    assert (result(found)[0], runs(found)) == ((3, 4), ["unsqueeze", "where"])
    wide = single("SELECT_V2", [operand("c", (4,), "BOOL"), x, operand("z", ())])
    assert (result(wide)[0], runs(wide)) == (np.where(np.zeros(4), np.zeros((3, 4)), 0).shape, ["where"])
    same = single("SELECT", [operand("c", (3, 4), "BOOL"), x, other])
    assert (result(same)[0], runs(same)) == ((3, 4), ["where"])
    (node,) = single("SELECT_V2", [condition, x, other]).nodes
    assert node.operator == UNKNOWN


def test_the_largest_and_where_they_stand():
    found = single("TOPK_V2", [operand("x", (2, 7), "INT8"), stored("k", 3)], types=["INT8", "INT32"])
    assert [result(found, place) for place in range(2)] == [((2, 3), "int8"), ((2, 3), "int32")]
    assert weigh(found).memory.peak_bytes["pair"] == 14 + 6 + 24, "positions are int32 in this file"


@pytest.mark.parametrize(
    ("shape", "signature", "wanted"),
    [
        ((2, 3), None, (2, 3)),
        ((2, 3), (2, -1), None),
        ((3,), None, None),
        ((5, 3), None, None),
        ((2, 9), None, UNKNOWN),
    ],
)
def test_how_many_are_largest_may_be_stated_alone(shape, signature, wanted):
    """As long as the rest of the shape is that of x, and x has as many."""
    results = [tensor(name, shape, kind, signature=signature) for name, kind in (("y", "INT8"), ("p", "INT32"))]
    found = one([operand("x", (2, 7), "INT8"), operand("k", (), "INT32"), *results], op("TOPK_V2", "x k", "y p"))
    if wanted == UNKNOWN:
        assert [node.operator for node in found.nodes] == [UNKNOWN]
    else:
        assert (shapes(found), runs(found)) == ([wanted, wanted], ["top_k"])
        assert weigh(found).facts.exact


def test_distinct_values():
    found = single("UNIQUE", [operand("x", (9,))], {"idx_out_type": 2}, ["FLOAT32", "INT32"])
    assert [result(found, place) for place in range(2)] == [(None, "float32"), ((9,), "int32")]
    assert runs(found) == ["unique"]


def test_segments():
    x = operand("x", (6, 4))
    found = single("SEGMENT_SUM", [x, stored("s", [0, 0, 1, 2, 2, 4])])
    assert (result(found)[0], work(found)) == ((5, 4), Work(add=24))
    assert result(single("SEGMENT_SUM", [x, operand("s", (6,), "INT32")]))[0] is None
    kinds = {"SUM": Work(add=24), "PROD": Work(mul=24), "MAX": Work(compare=24), "MIN": Work(compare=24)}
    for name, done in kinds.items():
        found = single(f"UNSORTED_SEGMENT_{name}", [x, operand("s", (6,), "INT32"), stored("n", 9)])
        assert (result(found)[0], work(found), runs(found)) == ((9, 4), done, ["unsorted_segments"])


def test_boxes_filled_up_to_a_number():
    boxes, scores = operand("b", (20, 4)), operand("s", (20,))
    rest = [stored("n", 5), operand("o", ()), operand("t", ())]
    found = single("NON_MAX_SUPPRESSION_V4", [boxes, scores, *rest], types=["INT32", "INT32"])
    assert [result(found, place) for place in range(2)] == [((5,), "int32"), ((), "int32")]
    softly = single(
        "NON_MAX_SUPPRESSION_V5", [boxes, scores, *rest, operand("g", ())], types=["INT32", "FLOAT32", "INT32"]
    )
    assert [result(softly, place) for place in range(3)] == [((5,), "int32"), ((5,), "float32"), ((), "int32")]
    assert runs(softly) == ["padded_non_max_suppression"]


def test_boundaries_that_are_an_option():
    """Halving 7 boundaries takes 3 comparisons, whatever the value; they lie in the file and are no parameter."""
    found = single("BUCKETIZE", [operand("x", (2, 5))], {"boundaries": [float(n) for n in range(7)]}, ["INT32"])
    assert (result(found), work(found)) == (((2, 5), "int32"), Work(compare=30))
    assert set(roles(found).values()) == {Role.CONSTANT}
    facts = weigh(found).facts
    assert (facts.parameters, facts.constant_bytes) == (0, 28)


def test_boundaries_of_a_subgraph_that_is_called_twice_are_one_tensor():
    x, y = operand("x", (4,)), tensor("y", (4,), "INT32")
    inner = graph([x, y], [op("BUCKETIZE", "x", "y", {"boundaries": [0.0, 1.0, 2.0]})], "x", "y", "inner")
    outs = [tensor(name, (4,), "INT32") for name in ("a", "b")]
    main = graph([x, *outs], [op("CALL", "x", name, {"subgraph": 1}) for name in ("a", "b")], "x", "a b")
    found = load(model(main, inner))
    assert len(roles(found)) == 1
    assert runs(found) == ["search_sorted"] * 2

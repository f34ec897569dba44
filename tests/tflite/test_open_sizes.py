"""Sizes that a file leaves open: what only fills their place is not taken for them, and a batch is followed."""

from __future__ import annotations

import pytest

from tests.tflite.build import Tensor, graph, load, model, op, shapes, tensor
from weighbridge import weigh
from weighbridge.graph import Graph


def around(x: Tensor, y: Tensor, **sizes: int) -> Graph:
    """A custom operator that nobody knows, and a layer of 6 x 4 behind it."""
    tensors = [x, y, tensor("w", (4, 6), data=True), tensor("z", None)]
    operators = [op("Mystery", "x", "y"), op("FULLY_CONNECTED", "y w -", "z")]
    return load(model(graph(tensors, operators, "x", "z")), **sizes)


def test_a_batch_goes_through_an_operator_that_nobody_knows() -> None:
    """Every tensor of such a file has its first size open; it is weighed at what is stored, and so is what comes out."""
    found = around(tensor("x", (1, 8), signature=(-1, 8)), tensor("y", (1, 6), signature=(-1, 6)))
    facts = weigh(found).facts
    assert (shapes(found), facts.macs, facts.exact) == ([(1, 4)], 24, False)
    assert [one.operator for one in facts.uncounted] == ["CUSTOM.Mystery"]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (tensor("x", (1, 8)), tensor("y", (1, 6), signature=(-1, 6))),
        (tensor("x", (2, 8), signature=(-1, 8)), tensor("y", (1, 6), signature=(-1, 6))),
        (tensor("x", (1, 8), signature=(-1, 8)), tensor("y", (1, 1), signature=(-1, -1))),
        (tensor("x", (1, 8), signature=(-1, 8)), tensor("y", None)),
    ],
    ids=["not open before", "another size before", "more than the first", "no shape"],
)
def test_other_open_sizes_are_unknown_behind_it(x: Tensor, y: Tensor) -> None:
    found = around(x, y)
    assert [found.tensors[name].shape for name in ("y", "z")] == [None, None]
    assert len(weigh(found).facts.uncounted) == 2


def test_another_batch_is_not_what_the_file_stores() -> None:
    found = around(tensor("x", (1, 8), signature=(-1, 8)), tensor("y", (1, 6), signature=(-1, 6)), batch=5)
    assert shapes(found) == [None]


def test_sizes_that_are_said_are_taken_behind_an_unknown_operator() -> None:
    found = around(tensor("x", (3, 8)), tensor("y", (3, 6)))
    assert (shapes(found), weigh(found).facts.macs) == ([(3, 4)], 72)


def test_a_size_that_may_change_contradicts_nothing() -> None:
    """What our rules tell is compared only with sizes that the file states."""
    x = tensor("x", (1, 4), signature=(-1, 4))
    y = tensor("y", (1, 1, 9), signature=(-1, -1, 9))
    target = tensor("s", (2,), "INT32", data=[2, 2])
    found = load(model(graph([x, target, y], [op("RESHAPE", "x s", "y")], "x", "y")))
    assert [note for note in found.notes if "contradict" in note] == [
        "shapes that the file states and its operators contradict: y is 2x2, the file says ?x?x9"
    ]
    fine = y._replace(shape=(1, 1), signature=(-1, -1))
    found = load(model(graph([x, target, fine], [op("RESHAPE", "x s", "y")], "x", "y")))
    assert not [note for note in found.notes if "contradict" in note]


def test_the_element_type_is_the_one_that_the_file_states() -> None:
    """Positions are int64 in most formats; a file says what they are in it, and that is what they take."""
    tensors = [tensor("x", (2, 7)), tensor("a", (), "INT32", data=[1]), tensor("y", (2,), "INT32")]
    found = load(model(graph(tensors, [op("ARG_MAX", "x a", "y", {"output_type": 2})], "x", "y")))
    assert found.tensors["y"].dtype.name == "int32"
    assert weigh(found).memory.peak_bytes["pair"] == 2 * 7 * 4 + 2 * 4

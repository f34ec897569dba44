"""A graph whose parts do not fit is refused when it is made."""

from __future__ import annotations

import pytest

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import MAX_DIMENSION, MAX_RANK, Graph, Node, Role, Tensor

FLOAT = DTYPES["float32"]


def tensors(*ids: str, role: Role = Role.ACTIVATION) -> dict[str, Tensor]:
    return {name: Tensor(name, (2, 3), FLOAT, role) for name in ids}


def relu(name: str, source: str, result: str) -> Node:
    return Node(name, "relu", (("x", source),), (result,))


def test_a_graph_that_fits_answers_who_reads_and_what_is_stored() -> None:
    nodes = (relu("n1", "x", "y"), Node("n2", "mul", (("a", "y"), ("b", "y")), ("z",)), relu("n3", "y", "w"))
    graph = Graph("g", {**tensors("x", "y", "z", "w"), **tensors("p", role=Role.PARAMETER)}, nodes, ("x",), ("z", "w"))
    assert graph.readers() == {"x": [0], "y": [1, 2]}
    assert [tensor.id for tensor in graph.stored()] == ["p"]


@pytest.mark.parametrize(
    ("nodes", "outputs", "message"),
    [
        ((relu("n", "y", "z"),), ("z",), "made later"),
        ((relu("n", "nowhere", "z"),), ("z",), "does not exist"),
        ((relu("n", "x", "nowhere"),), (), "not among the tensors"),
        ((relu("n", "x", "y"), relu("n", "y", "z")), ("z",), "two nodes"),
        ((relu("n", "x", "y"), relu("m", "x", "y")), ("y",), "exists already"),
        ((relu("n", "x", "x"),), ("x",), "exists already"),
        ((relu("n", "x", "w"),), ("w",), "exists already"),
        ((relu("n", "y", "z"), relu("m", "z", "y")), ("y",), "made later"),  # a circle
        ((), ("y",), "nothing makes"),
        ((), ("nowhere",), "nothing makes"),
    ],
)
def test_parts_that_do_not_fit(nodes: tuple[Node, ...], outputs: tuple[str, ...], message: str) -> None:
    held = {**tensors("x", "y", "z"), **tensors("w", role=Role.PARAMETER)}
    with pytest.raises(GraphError, match=message):
        Graph("g", held, nodes, ("x",), outputs)


def test_an_input_that_is_no_tensor() -> None:
    with pytest.raises(GraphError, match="not among the tensors"):
        Graph("g", {}, (), ("x",), ())


@pytest.mark.parametrize("size", [-1, MAX_DIMENSION + 1, 2**62])
def test_absurd_dimensions(size: int) -> None:
    with pytest.raises(GraphError, match="dimension"):
        Graph("g", {"x": Tensor("x", (1, size), FLOAT)}, (), (), ())


def test_more_dimensions_than_anything_has() -> None:
    """Sizes of such tensors have more digits than Python prints: they are refused before a rule can word an error with one."""
    most = Tensor("x", (MAX_DIMENSION,) * MAX_RANK, FLOAT)
    assert len(str(most.bytes)) < 1000
    assert Graph("g", {"x": most}, (), ("x",), ("x",)).outputs == ("x",)
    more = (MAX_DIMENSION,) * (MAX_RANK + 1)
    with pytest.raises(GraphError, match="65 dimensions, more than 64"):
        Graph("g", {"x": Tensor("x", more, FLOAT)}, (), (), ())
    with pytest.raises(GraphError, match="65 dimensions, more than 64"):
        Builder("g").input("x", more, FLOAT)


def test_a_tensor_under_another_name() -> None:
    with pytest.raises(GraphError, match="filed under"):
        Graph("g", {"x": Tensor("y", (1,), FLOAT)}, (), (), ())


def test_sizes_follow_shape_and_type() -> None:
    assert (Tensor("x", (), FLOAT).elements, Tensor("x", (), FLOAT).bytes) == (1, 4)
    assert (Tensor("x", (0, 5), FLOAT).elements, Tensor("x", (0, 5), FLOAT).bytes) == (0, 0)
    assert (Tensor("x", None, FLOAT).elements, Tensor("x", None, FLOAT).bytes, Tensor("x", None, FLOAT).type) == (
        None,
    ) * 3
    assert Tensor("x", (MAX_DIMENSION,) * 4, FLOAT).bytes == 4 * 2**192  # exact, whatever the size
    assert Tensor("x", (3,), DTYPES["string"]).bytes is None

"""What is computed from stored tensors alone is stored, unless that would add to what was learned."""

from __future__ import annotations

from collections.abc import Iterator, Set

from weighbridge import counts
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import LOOP, Body, Role, TensorType
from weighbridge.passes import deploy, fold_stored, static_tensors

FLOAT, INT64 = DTYPES["float32"], DTYPES["int64"]


def test_a_transposed_weight_is_stored_transposed_with_its_role() -> None:
    builder = Builder("transposed")
    x, w = builder.input("x", (4, 6), FLOAT), builder.stored("w", (5, 6), FLOAT)
    (t,) = builder.add("transpose", [("x", w)], outputs=["t"])
    (y,) = builder.add("matmul", [("x", x), ("w", t)], outputs=["y"])
    graph = fold_stored(builder.graph([y]))
    assert [node.operator for node in graph.nodes] == ["matmul"]
    assert (graph.tensors["t"].shape, graph.tensors["t"].role) == ((6, 5), Role.PARAMETER)


def test_roles_parameter_before_buffer_before_constant() -> None:
    builder = Builder("roles")
    x = builder.input("x", (3,), FLOAT)
    parameter, buffer, constant = (
        builder.stored(role.value, (3,), FLOAT, role) for role in (Role.PARAMETER, Role.BUFFER, Role.CONSTANT)
    )
    ends = []
    for pair in ((parameter, constant), (buffer, constant), (constant, constant)):
        (s,) = builder.add("add", list(zip("ab", pair, strict=True)), outputs=[f"s{len(ends)}"])
        ends += builder.add("mul", [("a", x), ("b", s)])
    graph = fold_stored(builder.graph(ends))
    assert [graph.tensors[f"s{n}"].role for n in range(3)] == [Role.PARAMETER, Role.BUFFER, Role.CONSTANT]


def test_a_tied_weight_counts_once_deployed() -> None:
    """An embedding whose table, transposed, is the output layer too."""
    builder = Builder("tied")
    tokens, w = builder.input("tokens", (1, 7), INT64), builder.stored("table", (50, 8), FLOAT)
    (h,) = builder.add("embedding", [("w", w), ("indices", tokens)])
    (t,) = builder.add("transpose", [("x", w)])
    (y,) = builder.add("matmul", [("x", h), ("w", t)])
    held = builder.graph([y])
    facts = counts.count(held, deploy(held))
    assert (facts.parameters, facts.weights, facts.deployed_parameters, facts.macs) == (400, 400, 400, 7 * 8 * 50)
    assert [(node.operator, node.weights) for node in facts.nodes] == [("embedding", 400), ("matmul", 400)]


def test_a_weight_that_a_body_shares_is_not_doubled_by_turning_it_around() -> None:
    inner = Builder("body")
    x, w = inner.input("x", (2, 6), FLOAT), inner.stored("w", (6, 6), FLOAT)
    (turned,) = inner.add("transpose", [("x", w)], name="turned")
    (y,) = inner.add("matmul", [("x", x), ("w", turned)], name="inside")
    body = Body("body", inner.graph([y]), 2)
    builder = Builder("shared")
    x, w = builder.input("x", (2, 6), FLOAT), builder.stored("w", (6, 6), FLOAT)
    builder.opaque(LOOP, [("captures", x)], [TensorType((2, 6), FLOAT)], name="loop", bodies=[body])
    (y,) = builder.add("matmul", [("x", "loop"), ("w", w)], name="outside")
    graph = builder.graph([y])
    facts = counts.count(graph, deploy(graph))
    assert (facts.parameters, facts.deployed_parameters) == (36, 36)


def test_a_weight_transposed_for_several_layers_is_transposed_once() -> None:
    builder = Builder("repeated")
    y, w = builder.input("x", (4, 6), FLOAT), builder.stored("w", (6, 6), FLOAT)
    for _ in range(3):
        (t,) = builder.add("transpose", [("x", w)])
        (y,) = builder.add("matmul", [("x", y), ("w", t)])
    held = builder.graph([y])
    deployed = deploy(held)
    assert [node.operator for node in deployed.nodes] == ["matmul"] * 3
    assert counts.count(held, deployed).deployed_parameters == 36


def test_an_expanded_token_stays_as_small_as_it_was_learned() -> None:
    builder = Builder("token")
    x, token = builder.input("x", (8, 4, 16), FLOAT), builder.stored("token", (1, 1, 16), FLOAT)
    (grown,) = builder.add("expand", [("x", token)], {"shape": (8, 1, 16)})
    (y,) = builder.add("concat", [("xs", grown), ("xs", x)], {"axis": 1})
    held = builder.graph([y])
    facts = counts.count(held, deploy(held))
    assert (facts.parameters, facts.deployed_parameters) == (16, 16)
    assert [node.operator for node in facts.nodes] == ["concat"]
    assert facts.activations.total == 8 * 4 * 16 + 8 * 5 * 16


def test_a_split_weight_is_not_doubled() -> None:
    builder = Builder("split")
    x, w = builder.input("x", (4, 6), FLOAT), builder.stored("w", (6, 10), FLOAT)
    ends = [
        builder.add("matmul", [("x", x), ("w", part)])[0]
        for part in builder.add("split", [("x", w)], {"axis": 1, "parts": 2})
    ]
    held = builder.graph(ends)
    facts = counts.count(held, deploy(held))
    assert (facts.weights, facts.deployed_parameters, facts.macs) == (60, 60, 4 * 6 * 10)


def test_shapes_are_known_before_anything_runs() -> None:
    builder = Builder("shapes")
    x = builder.input("x", (2, 3, 4), FLOAT)
    (y,) = builder.add("relu", [("x", x)], outputs=["y"])
    (s,) = builder.add("shape", [("x", y)], outputs=["s"])
    (first,) = builder.add("gather", [("x", s), ("indices", builder.stored("zero", (1,), INT64, Role.CONSTANT))])
    (z,) = builder.add("reshape", [("x", y), ("shape", first)], {"shape": (24,)})
    graph = builder.graph([z])
    assert {"s", first} <= static_tensors(graph)
    deployed = deploy(graph)
    assert [node.operator for node in deployed.nodes] == ["relu", "reshape"]
    assert deployed.tensors[first].role is Role.CONSTANT
    assert counts.count(graph, deployed).activations.total == 48


def test_the_shape_of_a_weight_is_no_parameter() -> None:
    builder = Builder("weight's shape")
    x, w = builder.input("x", (30,), FLOAT), builder.stored("w", (5, 6), FLOAT)
    (s,) = builder.add("shape", [("x", w)], outputs=["s"])
    (y,) = builder.add("reshape", [("x", x), ("shape", s)], {"shape": (5, 6)})
    (z,) = builder.add("mul", [("a", y), ("b", w)])
    held = builder.graph([z])
    deployed = deploy(held)
    assert deployed.tensors["s"].role is Role.CONSTANT
    assert counts.count(held, deployed).deployed_parameters == 30


def test_random_numbers_are_made_anew() -> None:
    builder = Builder("noise")
    (noise,) = builder.add("random_normal", [], {"shape": (3,)}, outputs=["noise"])
    graph = builder.graph([noise])
    assert "noise" not in static_tensors(graph)
    assert fold_stored(graph) is graph


class Outside(Set):
    """Static tensors of an enclosing graph that are too many to be walked through for every body."""

    def __contains__(self, name: object) -> bool:
        return name == "k"

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("walked through")

    def __len__(self) -> int:
        return 1 << 40


def test_a_body_asks_only_for_what_it_takes_from_outside() -> None:
    builder = Builder("body")
    x, k = builder.input("x", (2,), FLOAT), builder.input("k", (2,), FLOAT)
    (y,) = builder.add("relu", [("x", k)], name="once")
    builder.add("add", [("a", x), ("b", y)], name="each")
    assert static_tensors(builder.graph(["each"]), outside=Outside()) == {"k", "once"}

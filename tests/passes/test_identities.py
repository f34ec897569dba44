"""Identities leave the deployed graph, unless something hangs on them."""

from __future__ import annotations

import pytest

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import LOOP, Attribute, Body, Graph, Role, Tensor, TensorType
from weighbridge.passes import bit_rules, drop_identities, set_bits

FLOAT = DTYPES["float32"]


def test_a_chain_of_identities_is_gone_and_its_readers_read_the_start() -> None:
    builder = Builder("chain")
    x = builder.input("x", (2, 3), FLOAT)
    (y,) = builder.add("identity", [("x", x)])
    (y,) = builder.add("dropout", [("x", y)])
    (y,) = builder.add("relu", [("x", y)], outputs=["y"])
    graph = drop_identities(builder.graph([y]))
    assert [(node.operator, node.inputs) for node in graph.nodes] == [("relu", ("x",))]
    assert set(graph.tensors) == {"x", "y"}


def test_an_output_made_by_an_identity_becomes_what_the_identity_read() -> None:
    builder = Builder("tail")
    x = builder.input("x", (2,), FLOAT)
    (y,) = builder.add("relu", [("x", x)], name="y")
    (z,) = builder.add("identity", [("x", y)])
    (w,) = builder.add("identity", [("x", x)])
    assert drop_identities(builder.graph([z, w])).outputs == ("y", "x")


def test_a_dropout_whose_mask_is_read_stays() -> None:
    builder = Builder("mask")
    x = builder.input("x", (2,), FLOAT)
    y, mask = builder.add("dropout", [("x", x)], {"outputs": ("y", "mask")})
    graph = builder.graph([y, mask])
    assert drop_identities(graph) is graph


def test_an_identity_that_a_body_reads_by_name_stays() -> None:
    builder = Builder("captured")
    x = builder.input("x", (2,), FLOAT)
    (y,) = builder.add("identity", [("x", x)], name="y")
    inner = Builder("body")
    inner.input(y, (2,), FLOAT)
    (z,) = inner.add("relu", [("x", y)], name="inner")
    builder.opaque(
        LOOP, [("captures", y)], [TensorType((2,), FLOAT)], name="l", bodies=[Body("b", inner.graph([z]), 2)]
    )
    graph = builder.graph(["l"])
    assert drop_identities(graph) is graph


def test_bodies_are_rewritten_too() -> None:
    inner = Builder("body")
    x = inner.input("x", (2,), FLOAT)
    (y,) = inner.add("identity", [("x", x)])
    (y,) = inner.add("relu", [("x", y)])
    tensors = {"x": Tensor("x", (2,), FLOAT, Role.INPUT)}
    builder = Builder("outer")
    builder.tensors, builder.inputs = tensors, ["x"]
    builder.opaque(
        LOOP, [("captures", "x")], [TensorType((2,), FLOAT)], name="l", bodies=[Body("b", inner.graph([y]), 2)]
    )
    graph: Graph = drop_identities(builder.graph(["l"]))
    assert [node.operator for node in graph.nodes[0].bodies[0].graph.nodes] == ["relu"]


@pytest.mark.parametrize(
    ("pool", "attributes"),
    [
        ("adaptive_average_pool", {"output_size": (8, 8)}),
        ("adaptive_max_pool", {"output_size": 8}),
        ("max_pool", {"kernel": 1, "stride": 1}),
        ("average_pool", {"kernel": (1, 1), "stride": 1}),
    ],
)
def test_a_pool_of_single_values_is_gone(pool: str, attributes: dict[str, Attribute]) -> None:
    builder = Builder("pool")
    x = builder.input("x", (1, 3, 8, 8), FLOAT)
    (y,) = builder.add(pool, [("x", x)], attributes)
    (y,) = builder.add("relu", [("x", y)])
    graph = drop_identities(builder.graph([y]))
    assert [(node.operator, node.inputs) for node in graph.nodes] == [("relu", ("x",))]


@pytest.mark.parametrize(
    ("pool", "attributes"),
    [
        ("adaptive_average_pool", {"output_size": (8, 4)}),
        ("max_pool", {"kernel": 1, "stride": 2}),
        ("max_pool", {"kernel": 3, "stride": 1, "padding": 1}),
        ("lp_pool", {"kernel": 1, "stride": 1}),
        ("global_average_pool", {}),
    ],
)
def test_a_pool_that_changes_something_stays(pool: str, attributes: dict[str, Attribute]) -> None:
    builder = Builder("pool")
    (y,) = builder.add(pool, [("x", builder.input("x", (1, 3, 8, 8), FLOAT))], attributes)
    graph = builder.graph([y])
    assert drop_identities(graph) is graph


@pytest.mark.parametrize("bits", [None, 8], ids=["as it is", "with activations of 8 bits"])
def test_a_cast_to_the_type_that_is_there_is_gone(bits: int | None) -> None:
    """At another width of the activations the attribute names a type that they no longer have."""
    builder = Builder("cast")
    x = builder.input("x", (2, 3), FLOAT)
    (y,) = builder.add("cast", [("x", x)], {"dtype": "float32"})
    (y,) = builder.add("cast_like", [("x", y), ("like", x)])
    (y,) = builder.add("relu", [("x", y)])
    graph = drop_identities(set_bits(builder.graph([y]), bit_rules(activations=bits)))
    assert [(node.operator, node.inputs) for node in graph.nodes] == [("relu", ("x",))]


def test_a_cast_to_another_type_stays() -> None:
    builder = Builder("cast")
    (y,) = builder.add("cast", [("x", builder.input("x", (2, 3), FLOAT))], {"dtype": "float16"})
    graph = builder.graph([y])
    assert drop_identities(graph) is graph

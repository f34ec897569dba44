"""A function of one tensor is applied by the operator that makes it, if nobody else reads it."""

from __future__ import annotations

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.passes import fuse_activations

FLOAT = DTYPES["float32"]


def conv(builder: Builder) -> str:
    x, w = builder.input("x", (1, 3, 8, 8), FLOAT), builder.stored("w", (5, 3, 1, 1), FLOAT)
    return builder.add("conv", [("x", x), ("w", w)], name="conv")[0]


def test_a_chain_of_functions_is_fused_in_order() -> None:
    builder = Builder("chain")
    (y,) = builder.add("sigmoid", [("x", conv(builder))], name="first")
    (y,) = builder.add("relu", [("x", y)], name="second")
    graph = fuse_activations(builder.graph([y]))
    (node,) = graph.nodes
    assert (node.name, node.outputs, [f.name for f in node.fused]) == ("conv", ("second",), ["first", "second"])
    assert set(graph.tensors) == {"x", "w", "second"}


def test_a_result_with_two_readers_is_not_fused() -> None:
    builder = Builder("swish")
    y = conv(builder)
    (gate,) = builder.add("sigmoid", [("x", y)])
    (z,) = builder.add("mul", [("a", y), ("b", gate)])
    graph = builder.graph([z])
    assert fuse_activations(graph) is graph


def test_a_result_that_is_an_output_too_is_not_fused() -> None:
    builder = Builder("output")
    y = conv(builder)
    (z,) = builder.add("relu", [("x", y)])
    graph = builder.graph([y, z])
    assert fuse_activations(graph) is graph


def test_a_result_that_one_node_reads_twice_is_not_fused() -> None:
    builder = Builder("square")
    y = conv(builder)
    (z,) = builder.add("mul", [("a", y), ("b", y)])
    (z,) = builder.add("relu", [("x", z)])
    graph = builder.graph([z])
    assert fuse_activations(graph) is graph


def test_a_pool_takes_no_function() -> None:
    builder = Builder("pool")
    x = builder.input("x", (1, 3, 8, 8), FLOAT)
    (y,) = builder.add("max_pool", [("x", x)], {"kernel": 2, "stride": 2})
    (y,) = builder.add("relu", [("x", y)])
    graph = builder.graph([y])
    assert fuse_activations(graph) is graph

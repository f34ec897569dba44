"""Bodies as deep as a front end lets them be, and graphs as long as there are."""

from __future__ import annotations

import sys

import pytest

from tests.steps import steps
from weighbridge import counts, memory
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.frontends.onnx_control import MAX_DEPTH
from weighbridge.graph import LOOP, Body, Graph, TensorType
from weighbridge.graph_json import graph_from_json, graph_to_json
from weighbridge.passes import bit_rules, deploy, set_bits

FLOAT = DTYPES["float32"]


def nested(depth: int) -> Graph:
    """A layer of 36 MACs, inside ``depth`` loops of one trip, each with such a layer of its own."""
    inner: Graph | None = None
    for level in range(depth + 1):
        builder = Builder(f"level{level}")
        x = builder.input("x", (1, 6), FLOAT)
        (y,) = builder.add("linear", [("x", x), ("w", builder.stored(f"w{level}", (6, 6), FLOAT))], name=f"fc{level}")
        (y,) = builder.add("identity", [("x", y)], name=f"same{level}")
        if inner is not None:
            body = Body("body", inner)
            builder.opaque(LOOP, [("captures", x)], [TensorType((1, 6), FLOAT)], name=f"loop{level}", bodies=[body])
            (y,) = builder.add("add", [("a", y), ("b", f"loop{level}")], name=f"sum{level}")
        inner = builder.graph([y])
    assert inner is not None
    return inner


def test_the_deepest_bodies_are_counted_within_the_stack() -> None:
    graph = nested(MAX_DEPTH)
    limit = sys.getrecursionlimit()
    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    sys.setrecursionlimit(used + 800)  # the command line and what else stands below leaves as much
    try:
        deployed = deploy(set_bits(graph, bit_rules(["8"], 8)))
        facts = counts.count(graph, deployed)
        plan = memory.plan(deployed)
    finally:
        sys.setrecursionlimit(limit)
    assert (facts.macs, facts.exact, facts.weights) == (36 * (MAX_DEPTH + 1), True, 36 * (MAX_DEPTH + 1))
    assert plan.exact
    text = graph_to_json(deployed)
    assert graph_to_json(graph_from_json(text)) == text


def chain(blocks: int) -> Graph:
    """Convolution, ReLU, and a sum that keeps the input of the block alive."""
    builder = Builder("chain")
    y = builder.input("x", (1, 4, 2, 2), FLOAT)
    for index in range(blocks):
        w = builder.stored(f"w{index}", (4, 4, 1, 1), FLOAT)
        (z,) = builder.add("conv", [("x", y), ("w", w)])
        (z,) = builder.add("relu", [("x", z)])
        (y,) = builder.add("add", [("a", y), ("b", z)])
    return builder.graph([y])


def joined(parts: int) -> Graph:
    """One node with so many operands."""
    builder = Builder("joined")
    xs = [("xs", builder.input(f"x{index}", (1, 2), FLOAT)) for index in range(parts)]
    return builder.graph(builder.add("concat", xs, {"axis": 0}))


@pytest.mark.parametrize(("built", "size"), [(chain, 200), (joined, 2500)])
def test_work_grows_with_the_number_of_nodes_and_operands_and_not_faster(built, size: int) -> None:
    def of(blocks: int) -> int:
        def work() -> None:
            graph = built(blocks)
            deployed = deploy(graph)
            counts.count(graph, deployed)
            memory.plan(deployed)

        work()
        return steps(work)

    assert of(4 * size) < 4.4 * of(size)  # quadratic would be 16 times

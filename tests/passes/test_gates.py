"""A product of a tensor and its own gate is one function, however the file spells it."""

from __future__ import annotations

import pytest

from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Graph
from weighbridge.passes import deploy
from weighbridge.passes.gates import recognise_gates

FLOAT = DTYPES["float32"]


def gated(gate: str, *, swapped: bool = False, read_again: bool = False, **attributes: float) -> Graph:
    """A convolution, and its result times a gate computed from it."""
    builder = Builder("gated")
    x, w = builder.input("x", (1, 3, 8, 8), FLOAT), builder.stored("w", (5, 3, 1, 1), FLOAT)
    (y,) = builder.add("conv", [("x", x), ("w", w)], name="conv")
    (g,) = builder.add(gate, [("x", y)], attributes, name="gate")
    a, b = (g, y) if swapped else (y, g)
    (z,) = builder.add("mul", [("a", a), ("b", b)], name="product")
    return builder.graph([z, g] if read_again else [z])


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("gate", "attributes", "function"),
    [("sigmoid", {}, "silu"), ("hard_sigmoid", {"alpha": 1 / 6, "beta": 0.5}, "hard_swish")],
)
def test_a_gate_becomes_the_function(gate: str, attributes: dict[str, float], function: str, swapped: bool) -> None:
    taken_apart = gated(gate, swapped=swapped, **attributes)
    graph = recognise_gates(taken_apart)
    assert [node.operator for node in graph.nodes] == ["conv", function]
    assert (graph.nodes[1].name, graph.nodes[1].operands, graph.outputs) == ("product", (("x", "conv"),), ("product",))
    assert [function.operator for function in deploy(taken_apart).nodes[0].fused] == [function]


def test_silu_costs_what_its_parts_do() -> None:
    apart = gated("sigmoid")
    whole = recognise_gates(apart)
    assert count(whole, whole).work == count(apart, apart).work


@pytest.mark.parametrize(
    "graph",
    [
        gated("sigmoid", read_again=True),
        gated("hard_sigmoid", alpha=0.2, beta=0.5),
        gated("hard_sigmoid", alpha=1 / 6, beta=0.4),
        gated("tanh"),
    ],
    ids=["the gate has another reader", "another slope", "another offset", "another function"],
)
def test_what_is_no_gate_stays(graph: Graph) -> None:
    assert recognise_gates(graph) is graph


def test_the_gate_of_another_tensor_stays() -> None:
    builder = Builder("squeeze and excite")
    x, s = builder.input("x", (1, 3, 8, 8), FLOAT), builder.input("s", (1, 3, 1, 1), FLOAT)
    (g,) = builder.add("sigmoid", [("x", s)])
    (z,) = builder.add("mul", [("a", x), ("b", g)])
    graph = builder.graph([z])
    assert recognise_gates(graph) is graph

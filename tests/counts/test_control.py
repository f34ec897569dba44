"""Control flow: one branch, a body times its trips, and what neither can know."""

from __future__ import annotations

import pytest

from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.graph import BRANCH, LOOP, UNKNOWN, Body, Graph, Tensor, TensorType
from weighbridge.operators.record import Work

FLOAT = DTYPES["float32"]


def body(name: str, size: int, layers: int, trips: int | None = 1) -> Body:
    """``layers`` linear layers of ``size`` to ``size`` with the outer weight ``w`` (36) or one of their own."""
    builder = Builder(name)
    y = builder.input("x", (2, 6), FLOAT)
    w = builder.stored("w", (6, 6), FLOAT)
    for _ in range(layers):
        (y,) = builder.add("linear", [("x", y), ("w", w)], name=builder.unused(f"{name}.fc"))
    if size != 6:
        (y,) = builder.add("linear", [("x", y), ("w", builder.stored(f"{name}.v", (size, 6), FLOAT))])
    return Body(name, builder.graph([y]), trips)


def with_bodies(operator: str, *bodies: Body) -> Graph:
    builder = Builder("control")
    x, w = builder.input("x", (2, 6), FLOAT), builder.stored("w", (6, 6), FLOAT)
    builder.opaque(
        operator, [("captures", x)], [TensorType((2, 6), FLOAT)], name="control", bodies=bodies, origin="Control"
    )
    (y,) = builder.add("linear", [("x", "control"), ("w", w)])
    return builder.graph([y])


def test_of_an_if_the_branch_with_more_macs_counts_and_parameters_of_both() -> None:
    graph = with_bodies(BRANCH, body("then", 6, 1), body("else", 4, 2))
    facts = count(graph, graph)
    assert (facts.macs, facts.exact) == (72 + 2 * 72 + 48, True)
    assert facts.parameters == 36 + 24
    assert "else" in facts.notes[0]
    assert (facts.nodes[0].parameters, facts.nodes[0].macs) == (60, 192)
    assert facts.activations.total == 12 + (12 + 12 + 8) + 12


@pytest.mark.parametrize("reverse", [False, True])
def test_of_branches_without_macs_the_one_with_more_work_counts(reverse: bool) -> None:
    """One branch hands its input on, the other computes a softmax: what is counted does not depend on which comes first."""
    bodies = []
    for name in ("same", "other"):
        inner = Builder(name)
        y = inner.input("x", (8,), FLOAT)
        if name == "other":
            (y,) = inner.add("softmax", [("x", y)], name="softmax")
        bodies.append(Body(name, inner.graph([y])))
    builder = Builder("if")
    builder.input("x", (8,), FLOAT)
    if reverse:
        bodies.reverse()
    y = builder.opaque(BRANCH, [("captures", "x")], [TensorType((8,), FLOAT)], name="if", bodies=bodies)
    graph = builder.graph(y)
    facts = count(graph, graph)
    assert facts.work == Work(add=16, compare=8, special=8, div=8)
    assert (facts.activations.total, facts.notes[0]) == (
        16,
        "if: counted is the branch other, which has no MACs but the most other work",
    )


def test_work_that_nobody_knows_in_a_branch_that_is_not_taken_still_shows() -> None:
    """Which branch runs only the values tell: the work of the one counted is a lower bound, the MACs are not."""
    lost = Builder("else")
    lost.input("x", (2, 6), FLOAT)
    lost.tensors["t"] = Tensor("t", None, FLOAT)
    lost.inputs.append("t")
    other = Body("else", lost.graph(lost.add("relu", [("x", "t")], name="relu")))
    graph = with_bodies(BRANCH, body("then", 6, 1), other)
    facts = count(graph, graph)
    assert (facts.exact, facts.work_exact) == (True, False)


def test_a_loop_counts_its_trips() -> None:
    graph = with_bodies(LOOP, body("body", 6, 2, 5))
    facts = count(graph, graph)
    assert (facts.macs, facts.parameters, facts.exact) == (72 + 5 * 2 * 72, 36, True)
    assert facts.nodes[0].read_bytes == 5 * 2 * 4 * (12 + 36)
    assert facts.activations.total == 12 + 5 * 24 + 12


def test_a_loop_of_unknown_trips_counts_one_and_says_so() -> None:
    graph = with_bodies(LOOP, body("body", 6, 2, None))
    facts = count(graph, graph)
    assert (facts.macs, facts.exact) == (72 + 2 * 72, False)
    assert [(u.node, u.operator) for u in facts.uncounted] == [("control", "Control")]
    assert facts.activations.total is None
    assert facts.nodes[0].macs == 144


def test_an_unknown_operator_in_a_branch_that_is_not_taken_still_shows() -> None:
    builder = Builder("else")
    x = builder.input("x", (2, 6), FLOAT)
    builder.opaque(UNKNOWN, [("x", x)], [TensorType((2, 6), FLOAT)], name="odd")
    graph = with_bodies(BRANCH, body("then", 6, 1), Body("else", builder.graph(["odd"])))
    facts = count(graph, graph)
    assert (facts.macs, facts.exact) == (144, False)
    assert [u.node for u in facts.uncounted] == ["control/else/odd"]


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_nested_loops_multiply(trips: int) -> None:
    builder = Builder("outer body")
    x, w = builder.input("x", (2, 6), FLOAT), builder.stored("w", (6, 6), FLOAT)
    builder.opaque(LOOP, [("captures", x)], [TensorType((2, 6), FLOAT)], name="inner", bodies=[body("body", 6, 1, 4)])
    assert w in builder.tensors
    graph = with_bodies(LOOP, Body("outer", builder.graph(["inner"]), trips))
    assert count(graph, graph).macs == 72 + trips * 4 * 72

"""What a network asks by class of operators: nothing is lost between the classes, and what is unknown is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.counts.test_control import body, with_bodies
from tests.random_graphs import graphs
from weighbridge.api import class_work_of, load
from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.estimates import demand
from weighbridge.estimates.class_work import ClassWork, class_work
from weighbridge.graph import BRANCH, LOOP, UNKNOWN, Body, Graph, TensorType
from weighbridge.memory import plan
from weighbridge.operators.time_class import TIME_CLASSES
from weighbridge.passes import deploy

FLOAT = DTYPES["float32"]


def of(graph: Graph) -> dict[str, ClassWork]:
    return {one.operators: one for one in class_work(graph, count(graph, graph))}


@settings(max_examples=100, deadline=None)
@given(graph=graphs())
@pytest.mark.parametrize("fuses", [True, False])
def test_the_classes_together_are_the_network(fuses: bool, graph: Graph) -> None:
    """Their MACs and special functions are those of the network, bodies times their trips included."""
    found = class_work_of(graph, fuses)
    runs = deploy(graph) if fuses else graph
    facts = count(runs, runs)
    assert [one.operators for one in found] == [
        one for one in TIME_CLASSES if one in {each.operators for each in found}
    ]
    assert sum(one.macs for one in found) == facts.macs
    if facts.work_exact:
        assert sum(one.special for one in found) == facts.work.special
    if not facts.exact:
        assert not all(one.exact for one in found)


@pytest.mark.parametrize("name", ["alexnet", "mobilenet_v2", "resnet18", "mcunet_in3"])
def test_the_bytes_are_those_that_every_node_moves(name: str) -> None:
    """Of networks whose views alone take no time, the classes move what all nodes of the demand do."""
    deployed = deploy(load(name))
    facts = count(deployed, deployed)
    needs = demand(deployed, facts, plan(deployed))
    moved = sum(node.stored_bytes + node.running_bytes for node in needs.nodes)
    assert sum(one.bytes for one in class_work(deployed, facts)) == moved
    assert all(one.exact for one in class_work(deployed, facts))


def test_what_a_runtime_merges_is_there_as_written_alone() -> None:
    fused = {one.operators: one for one in class_work_of(load("mobilenet_v2"), fuses=True)}
    written = {one.operators: one for one in class_work_of(load("mobilenet_v2"), fuses=False)}
    assert "normalisation" not in fused
    assert (written["normalisation"].nodes, written["elementwise"].nodes - fused["elementwise"].nodes) == (52, 35)
    assert fused["depthwise convolution"].macs == written["depthwise convolution"].macs == 20_716_416


def test_a_body_counts_as_often_as_it_runs() -> None:
    once, often = of(with_bodies(LOOP, body("body", 6, 2, 1))), of(with_bodies(LOOP, body("body", 6, 2, 5)))
    assert (once["linear"].nodes, often["linear"].nodes) == (3, 11)
    assert (once["linear"].macs, often["linear"].macs) == (72 * 3, 72 * 11)
    assert often["linear"].bytes == 11 * (36 + 12 + 12) * 4
    assert all(one.exact for one in often.values())


def test_loops_in_loops_multiply_and_one_that_never_runs_asks_nothing() -> None:
    builder = Builder("outer body")
    x, _ = builder.input("x", (2, 6), FLOAT), builder.stored("w", (6, 6), FLOAT)
    builder.opaque(LOOP, [("captures", x)], [TensorType((2, 6), FLOAT)], name="inner", bodies=[body("body", 6, 1, 4)])
    outer = builder.graph(["inner"])
    assert of(with_bodies(LOOP, Body("outer", outer, 3)))["linear"].nodes == 1 + 3 * 4
    assert of(with_bodies(LOOP, Body("outer", outer, 0)))["linear"].nodes == 1


def test_of_an_if_the_branch_that_is_counted_asks() -> None:
    found = of(with_bodies(BRANCH, body("then", 6, 1), body("else", 4, 2)))
    assert (found["linear"].nodes, found["linear"].macs) == (1 + 3, 72 + 2 * 72 + 48)


def test_unknown_trips_and_operators_are_told() -> None:
    unknown = of(with_bodies(LOOP, body("body", 6, 2, None)))
    assert (unknown["linear"].nodes, unknown["linear"].exact) == (3, False)
    builder = Builder("odd")
    x = builder.input("x", (2, 6), FLOAT)
    builder.opaque(UNKNOWN, [("x", x)], [TensorType((2, 6), FLOAT)], name="odd")
    (y,) = builder.add("relu", [("x", "odd")])
    found = of(builder.graph([y]))
    assert (found["other"].nodes, found["other"].exact) == (1, False)
    assert (found["elementwise"].bytes, found["elementwise"].exact) == (96, True)


def test_a_convolution_of_unknown_size_is_of_no_class_that_could_be_told() -> None:
    builder = Builder("unknown")
    x, w = builder.input("x", None, FLOAT), builder.stored("w", (8, 4, 3, 3), FLOAT)
    found = of(builder.graph(builder.add("conv", [("x", x), ("w", w)])))
    assert found == {"other": ClassWork("other", 0, 0, 0, 1, 1, exact=False)}


def test_a_lookup_moves_its_rows_and_not_its_table() -> None:
    builder = Builder("lookup")
    ids = builder.input("ids", (1, 3), DTYPES["int64"])
    table = builder.stored("table", (1000, 8), FLOAT)
    found = of(builder.graph(builder.add("embedding", [("w", table), ("indices", ids)])))
    assert found["lookup"].bytes == 3 * 8 * 4 + 3 * 8 + 3 * 8 * 4


def test_a_recurrence_takes_as_many_steps_as_time_has() -> None:
    builder = Builder("recurrent")
    x = builder.input("x", (7, 3, 5), FLOAT)
    w, r = builder.stored("w", (2, 8, 5), FLOAT), builder.stored("r", (2, 8, 2), FLOAT)
    found = of(builder.graph(builder.add("lstm", [("x", x), ("w", w), ("r", r)])))
    assert (found["recurrence"].nodes, found["recurrence"].steps) == (1, 14)


def test_what_depends_on_no_input_asks_nothing() -> None:
    builder = Builder("static")
    w = builder.stored("w", (6, 6), FLOAT)
    (turned,) = builder.add("transpose", [("x", w)], {"permutation": (1, 0)})
    (y,) = builder.add("matmul", [("x", builder.input("x", (2, 6), FLOAT)), ("w", turned)])
    found = of(builder.graph([y]))
    assert {name: one.nodes for name, one in found.items()} == {"linear": 1}

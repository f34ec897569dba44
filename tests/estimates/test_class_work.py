"""What a network asks by class of operators: nothing is lost between the classes, and what is unknown is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.counts.test_control import body, with_bodies
from tests.random_graphs import graphs
from weighbridge.api import load, node_works_of
from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.estimates import demand
from weighbridge.estimates.class_work import ClassWork, NodeWork, class_work, node_works
from weighbridge.graph import BRANCH, LOOP, UNKNOWN, Body, Graph, TensorType
from weighbridge.memory import plan
from weighbridge.operators.time_class import TIME_CLASSES
from weighbridge.passes import deploy

FLOAT = DTYPES["float32"]


def of(graph: Graph) -> dict[str, ClassWork]:
    return {one.operators: one for one in class_work(node_works(graph, count(graph, graph)))}


@settings(max_examples=100, deadline=None)
@given(graph=graphs())
@pytest.mark.parametrize("fuses", [True, False])
def test_the_classes_together_are_the_network(fuses: bool, graph: Graph) -> None:
    """Their MACs and special functions are those of the network, bodies times their trips included."""
    found = class_work(node_works_of(graph, fuses))
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
    assert sum(one.bytes for one in class_work(node_works(deployed, facts))) == moved
    assert all(one.exact for one in class_work(node_works(deployed, facts)))


def test_what_a_runtime_merges_is_there_as_written_alone() -> None:
    fused = {one.operators: one for one in class_work(node_works_of(load("mobilenet_v2"), fuses=True))}
    written = {one.operators: one for one in class_work(node_works_of(load("mobilenet_v2"), fuses=False))}
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
    assert found == {"other": ClassWork("other", nodes=1, steps=1, exact=False)}


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
    stored, values = (2 * 8 * 5 + 2 * 8 * 2) * 4, (7 * 3 * 5 + 7 * 2 * 3 * 2) * 4
    assert found["recurrence"].bytes == 7 * stored + values  # each direction reads half of what is stored


def test_what_depends_on_no_input_asks_nothing() -> None:
    builder = Builder("static")
    w = builder.stored("w", (6, 6), FLOAT)
    (turned,) = builder.add("transpose", [("x", w)], {"permutation": (1, 0)})
    (y,) = builder.add("matmul", [("x", builder.input("x", (2, 6), FLOAT)), ("w", turned)])
    found = of(builder.graph([y]))
    assert {name: one.nodes for name, one in found.items()} == {"linear": 1}


def test_what_a_node_moves_is_far_beyond_the_nearest_memory() -> None:
    """Of values what the node's own exceed it by; of stored tensors the share that all of them exceed it by, as each run needs all."""
    works = [
        NodeWork("copy", running_bytes=400),
        NodeWork("copy", running_bytes=80, stored_bytes=500, streamed_bytes=500),
        NodeWork("linear", stored_bytes=700, streamed_bytes=700),
    ]
    linear, copy = class_work(works, near_bytes=100)
    assert copy.far_bytes == pytest.approx(300 + 500 * (1 - 100 / 1600))
    assert linear.far_bytes == pytest.approx(700 * (1 - 100 / 1600))
    assert [one.far_bytes for one in class_work(works, near_bytes=1600)] == [0, 0]
    assert [one.far_bytes for one in class_work(works)] == [0, 0]


def test_a_recurrence_reads_its_weights_again_in_each_step_and_finds_them_near_where_they_have_room() -> None:
    steps = NodeWork("recurrence", stored_bytes=60, streamed_bytes=600, steps=10)
    more = NodeWork("copy", stored_bytes=60, streamed_bytes=60)
    assert class_work([steps], 60)[0].far_bytes == 0
    found = class_work([steps, more], 60)[0]
    assert (found.bytes, found.far_bytes) == (600, 30)  # once a run, as the other's weights are read between
    assert class_work([steps], 30)[0].far_bytes == 300


@pytest.mark.parametrize(
    ("taken", "made", "groups", "lanes"),
    [
        (32, 48, 1, 1),
        (24, 24, 1, 32 * 32 / 24 / 24),
        (3, 16, 1, 1),
        (4, 16, 1, 1),
        (5, 16, 1, 16 / 5),
        (64, 64, 8, 4),
        (24, 24, 24, 32 / 24),
        (32, 8, 1, 2),
    ],
)
def test_channels_are_padded_to_whole_lanes(taken: int, made: int, groups: int, lanes: float) -> None:
    builder = Builder("conv")
    x = builder.input("x", (1, taken, 5, 5), FLOAT)
    w = builder.stored("w", (made, taken // groups, 3, 3), FLOAT)
    graph = builder.graph(builder.add("conv", [("x", x), ("w", w)], {"groups": groups, "padding": 1}))
    works = node_works(graph, count(graph, graph))
    (plain,), (padded,) = class_work(works, lanes=1), class_work(works, lanes=16)
    assert plain.macs == works[0].macs
    assert padded.macs == pytest.approx(lanes * plain.macs)


def test_the_columns_of_a_product_are_padded_and_its_rows_are_not() -> None:
    builder = Builder("linear")
    x, w = builder.input("x", (3, 6), FLOAT), builder.stored("w", (6, 10), FLOAT)
    graph = builder.graph(builder.add("matmul", [("x", x), ("w", w)]))
    (work,) = node_works(graph, count(graph, graph))
    assert work.lane_macs == (3 * 6 * 10, 3 * 6 * 16, 3 * 6 * 16)


def test_nodes_that_are_alike_move_their_bytes_one_after_the_other() -> None:
    trips = NodeWork("copy", 5, (5, 8, 16), running_bytes=90, stored_bytes=10, streamed_bytes=10).times(4)
    assert (trips.macs, trips.lane_macs, trips.running_bytes, trips.nodes) == (20, (20, 32, 64), 360, 4)
    assert class_work([trips._replace(stored_bytes=0, streamed_bytes=0)], 90)[0].far_bytes == 0
    assert class_work([trips], 130)[0].far_bytes == 0  # 40 stored, and 90 of a node's values at a time


def test_a_matrix_product_takes_a_step_for_each_of_its_matrices() -> None:
    builder = Builder("product")
    x, y = builder.input("x", (2, 3, 5, 7), FLOAT), builder.input("y", (2, 3, 7, 9), FLOAT)
    (found,) = of(builder.graph(builder.add("matmul", [("x", x), ("w", y)]))).values()
    assert (found.operators, found.nodes, found.steps) == ("matrix product", 1, 6)


def test_a_window_computes_for_each_of_its_values() -> None:
    builder = Builder("pool")
    x = builder.input("x", (1, 4, 8, 8), FLOAT)
    (y,) = builder.add("max_pool", [("x", x)], {"kernel": (2, 2), "stride": (2, 2)})
    (z,) = builder.add("average_pool", [("x", y)], {"kernel": (4, 4), "stride": (4, 4)})
    found = of(builder.graph([z]))
    assert (found["pooling"].compares, found["pooling"].operations) == (3 * 64, 0)
    assert found["reduction"].operations == 16 * 4
    builder = Builder("rows")
    x = builder.input("x", (1, 4, 8, 2), FLOAT)
    (rows,) = of(builder.graph(builder.add("max_pool", [("x", x)], {"kernel": (2, 2), "stride": (2, 2)})))
    assert rows == "pooling"  # one column of windows is no whole map

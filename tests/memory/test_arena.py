"""The policy arena_tflm: records made by hand, graphs of any kind, and what both must hold."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.memory.arenas import FLOAT, FRAGMENTED, REFERENCE, chain, recorded
from tests.random_graphs import PLAIN, QUANTISED, graphs
from weighbridge import memory, weigh
from weighbridge.arena import Arena, ArenaBuffer, PersistentBytes
from weighbridge.builder import Builder
from weighbridge.graph import BRANCH, LOOP, UNKNOWN, Body, Graph, TensorType
from weighbridge.memory import ARENA
from weighbridge.memory.arena import planned
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy


def test_a_record_is_planned_as_it_is() -> None:
    plan = memory.plan(recorded("one", "two", "three"))
    arena = plan.arena
    assert [(one.name, one.aligned_bytes, one.offset) for one in arena.buffers] == [
        ("x", 96, 0),
        ("a", 64, 160),
        ("b", 160, 0),
        ("one: sums", 16, 96),
    ]
    assert plan.peak_bytes[ARENA] == arena.bytes == 224
    assert arena.no_reuse_bytes == 96 + 64 + 160 + 16
    assert (arena.lower_bound_bytes, arena.excess_bytes) == (224, 0)
    assert (arena.source, arena.scratch) == ("runtime", "")
    assert [one.is_scratch for one in arena.buffers] == [False, False, False, True]


def test_the_peak_is_the_fullest_scope_in_which_the_highest_end_is_in_use() -> None:
    arena = memory.plan(recorded("one", "two", "three")).arena
    assert (arena.peak_scope, arena.peak_node, arena.fragmentation_bytes) == (2, "two", 0)


def test_what_is_free_below_the_highest_end_at_the_peak_is_fragmentation() -> None:
    """The largest and the input lie at 0, b behind the largest, and a, which meets input and b, behind that: as in [tflm_arena]."""
    buffers = (
        ArenaBuffer("x", 96, 0, 1),
        ArenaBuffer("a", 64, 1, 2, "one"),
        ArenaBuffer("b", 64, 2, 3, "two"),
        ArenaBuffer("largest", 128, 3, 4, "three"),
    )
    arena = planned(Arena(buffers, ("", "one", "two", "three", "four")), "runtime")
    assert [one.offset for one in arena.buffers] == [0, 192, 128, 0]
    assert (arena.bytes, arena.lower_bound_bytes, arena.excess_bytes) == (256, 192, 64)
    assert (arena.peak_node, arena.fragmentation_bytes) == ("one", 256 - 96 - 64)


def test_the_profile_has_the_highest_end_in_use_around_each_node() -> None:
    plan = memory.plan(recorded("one", "two", "three"))
    assert plan.profile[ARENA] == (224, 224, 224)
    late = FRAGMENTED._replace(buffers=tuple(one for one in FRAGMENTED.buffers if one.name in ("x", "b")))
    assert memory.plan(replace(chain("one", "two", "three"), arena=late)).profile[ARENA] == (96, 160, 160)


def test_a_node_that_deployment_took_away_is_in_the_figure_of_the_one_before() -> None:
    plan = memory.plan(recorded("one", "three"))
    assert plan.profile[ARENA] == (224, 224)
    assert plan.peak_node[ARENA] == "two"


def test_a_node_that_the_runtime_does_not_know_goes_with_the_next() -> None:
    assert len(memory.plan(recorded("one", "new", "two", "three")).profile[ARENA]) == 4


def test_nodes_in_another_order_have_no_profile() -> None:
    plan = memory.plan(recorded("three", "two", "one"))
    assert plan.peak_bytes[ARENA] == 224
    assert ARENA not in plan.profile


def test_the_tensors_of_the_plan_have_the_offsets_of_their_buffers() -> None:
    plan = memory.plan(recorded("one", "two", "three"))
    assert [(span.name, span.offset) for span in plan.tensors][:2] == [("x", 0), ("one", None)]


def test_what_no_operator_touches_is_planned_beside_everything() -> None:
    arena = FRAGMENTED._replace(buffers=(*FRAGMENTED.buffers, ArenaBuffer("spare", 500, -1, -1)))
    plan = planned(arena, "runtime")
    assert (plan.bytes, plan.lower_bound_bytes) == (512, 512)
    assert plan.buffers[-1][3:6] == (0, None, None)
    assert (plan.peak_scope, plan.peak_node) == (None, None)


def test_inputs_that_nobody_reads_can_be_the_peak_of_no_node() -> None:
    plan = planned(Arena((ArenaBuffer("x", 64, 0, 0), ArenaBuffer("y", 16, 1, 1, "one")), ("", "one")), "runtime")
    assert (plan.bytes, plan.peak_scope, plan.peak_node) == (64, 0, None)


def test_where_the_file_puts_two_in_one_place_they_count_once() -> None:
    buffers = (
        ArenaBuffer("x", 64, 0, 1, offset=32),
        ArenaBuffer("y", 64, 1, 2, "one", offset=48),
        ArenaBuffer("z", 32, 2, 2, "two"),
    )
    plan = planned(Arena(buffers, ("", "one", "two")), "runtime")
    assert [one.offset for one in plan.buffers] == [32, 48, 0]
    assert (plan.bytes, plan.lower_bound_bytes, plan.excess_bytes) == (112, 96, 16)
    assert plan.fragmentation_bytes == 112 - (48 + 32)


def test_a_plan_of_the_file_that_begins_before_the_arena_is_none() -> None:
    buffers = (ArenaBuffer("x", 64, 0, 1), ArenaBuffer("y", 64, 1, 1, "one", offset=-16))
    plan = memory.plan(replace(chain("one"), arena=Arena(buffers, ("", "one"))))
    assert plan.inapplicable[ARENA] == "the plan in the file puts y before the beginning of the arena"


def test_a_runtime_that_refuses_a_model_has_no_plan_and_says_why() -> None:
    plan = memory.plan(replace(chain("one"), arena=Arena(reason="there is no kernel")))
    assert plan.inapplicable[ARENA] == "there is no kernel"
    assert plan.arena is None
    assert ARENA not in plan.profile
    assert plan.peak_bytes.get(ARENA) is None


@pytest.mark.parametrize(
    ("persistent", "total"),
    [
        ((), None),
        ((REFERENCE._replace(pointer_bytes=8),), None),
        ((REFERENCE._replace(library="CMSIS-NN"), REFERENCE), 1234),
        ((REFERENCE._replace(kernel_bytes=None),), None),
    ],
)
def test_persistent_bytes_are_those_of_reference_kernels_and_pointers_of_32_bits(
    persistent: tuple[PersistentBytes, ...], total: int | None
) -> None:
    plan = memory.plan(replace(chain("one"), arena=FRAGMENTED._replace(persistent=persistent)))
    assert plan.persistent == persistent
    assert plan.persistent_bytes == total
    assert any("estimate" in note for note in plan.notes) == (total is not None)


@settings(max_examples=150)
@given(graphs(kinds=(*PLAIN, *QUANTISED)))
@pytest.mark.parametrize("as_written", [True, False])
def test_of_a_graph_the_storages_of_live_are_packed(as_written: bool, graph: Graph) -> None:
    graph = graph if as_written else deploy(graph)
    plan = memory.plan(graph)
    if not plan.arena.scopes:
        assert plan.peak_bytes[ARENA] == 0
        return
    assert [(one.name, one.bytes, one.first, one.last) for one in plan.arena.buffers] == [
        tuple(span[:4]) for span in plan.tensors
    ]
    assert {span.name: span.offset for span in plan.tensors} == {one.name: one.offset for one in plan.arena.buffers}
    assert plan.arena.scopes == tuple(node.name for node in lifetimes(graph, OPERATORS).nodes)
    assert plan.arena.source == "graph"
    assert plan.peak_bytes[ARENA] >= plan.peak_bytes["live"]
    for figure, live in zip(plan.profile[ARENA], plan.profile["live"], strict=True):
        assert figure >= live


@settings(max_examples=150)
@given(graphs())
def test_the_figures_of_a_plan_belong_together(graph: Graph) -> None:
    """With bodies of control flow: no two buffers that are alive at once overlap, bodies and what surrounds them included."""
    plan = memory.plan(deploy(graph))
    arena = plan.arena
    if arena is None:
        return
    for place in range(len(arena.scopes)):
        alive = [one for one in arena.buffers if one.first <= place <= one.last]
        pieces = sorted((one.offset, one.offset + one.aligned_bytes) for one in alive)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(pieces))
        assert sum(one.aligned_bytes for one in alive) <= arena.lower_bound_bytes <= arena.bytes
        if place == arena.peak_scope:
            assert arena.fragmentation_bytes == arena.bytes - sum(one.aligned_bytes for one in alive)
    assert arena.excess_bytes == arena.bytes - arena.lower_bound_bytes
    assert arena.bytes <= arena.no_reuse_bytes
    assert max(plan.profile[ARENA], default=0) == plan.peak_bytes[ARENA] == arena.bytes
    assert plan.peak_node[ARENA] in (None, *(node.name for node in deploy(graph).nodes))
    assert arena.bytes >= plan.peak_bytes["live"]


def with_body(operator: str, count: int) -> Graph:
    """A node with ``count`` bodies, each a chain of two functions of something of 1,024 B from outside."""
    builder = Builder("outer")
    x = builder.input("x", (16, 16), FLOAT)
    (y,) = builder.add("relu", [("x", x)], name="y")
    bodies = []
    for number in range(count):
        inner = Builder(f"body{number}")
        inner.inputs.append(y)
        inner.tensors[y] = builder.tensors[y]
        (z,) = inner.add("relu", [("x", y)], name=f"z{number}")
        (z,) = inner.add("relu", [("x", z)], name=f"last{number}")
        bodies.append(Body(f"body{number}", inner.graph([z]), 1))
    builder.opaque(operator, [("captures", y)], [TensorType((16, 16), FLOAT)], name="control", bodies=bodies)
    return builder.graph(["control"])


def test_a_body_runs_in_scopes_of_its_own_while_what_surrounds_it_stays() -> None:
    plan = memory.plan(with_body(BRANCH, 2))
    arena = plan.arena
    assert arena.scopes == ("y", "control", "z0", "last0", "z1", "last1")
    assert {one.name: (one.first, one.last) for one in arena.buffers} == {
        "x": (0, 0),
        "y": (0, 5),
        "control": (1, 5),
        "z0": (2, 3),
        "last0": (3, 3),
        "z1": (4, 5),
        "last1": (5, 5),
    }
    assert arena.bytes == 4 * 1024  # y, control and two values of a body
    assert plan.peak_node[ARENA] == "control"
    assert plan.profile[ARENA] == (4096, 4096)  # y, which is placed last, lies on top


def test_a_loop_needs_its_body_once() -> None:
    assert memory.plan(with_body(LOOP, 1)).arena.bytes == 4 * 1024


def test_a_size_that_is_not_known_is_a_reason() -> None:
    builder = Builder("unknown")
    builder.opaque(UNKNOWN, [("x", builder.input("x", (4,), FLOAT))], [None], name="odd")
    (y,) = builder.add("relu", [("x", "odd")], name="late")
    plan = memory.plan(builder.graph([y]))
    assert plan.inapplicable[ARENA] == "the size of odd is unknown"
    assert plan.arena is None


def test_measured_arenas(shared: Path) -> None:
    """The files of which TensorFlow Lite Micro's own figure is known, variables apart."""
    with (shared / "facts" / "tflm.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 26
    found = {row["file"]: weigh(shared / "data" / row["file"]).memory for row in rows}
    assert {file: plan.peak_bytes[ARENA] for file, plan in found.items()} == {
        row["file"]: int(row["arena_nonpersistent_bytes"]) for row in rows
    }


def test_alive_at_once_is_less_than_the_arena_of_visual_wake_words(shared: Path) -> None:
    plan = weigh(shared / "data" / "tflite" / "mlperf_tiny" / "vww_96_int8.tflite").memory
    assert plan.arena.source == "runtime"
    assert (plan.arena.lower_bound_bytes, plan.arena.bytes, plan.arena.excess_bytes) == (55_296, 73_728, 18_432)
    assert plan.peak_bytes["live"] == 55_296

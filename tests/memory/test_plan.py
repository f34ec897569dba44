"""Peaks and lifetimes against a simulation that allocates and frees, and against published figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import pytest
from hypothesis import given, settings

from tests.random_graphs import PLAIN, QUANTISED, graphs
from weighbridge import memory
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import BRANCH, LOOP, UNKNOWN, Body, Graph, Role, Tensor, TensorType
from weighbridge.passes import deploy, static_tensors

FLOAT, STRING = DTYPES["float32"], DTYPES["string"]
T = TypeVar("T")


def plain(by_policy: Mapping[str, T]) -> dict[str, T]:
    """What has nothing overwritten or held."""
    return {policy: by_policy[policy] for policy in ("pair", "live")}


def simulated(graph: Graph) -> tuple[list[int], list[int]]:
    """(pair, live) in bytes at each node, by asking at every node of every tensor whether somebody will still read it."""
    static = static_tensors(graph)
    nodes = [node for node in graph.nodes if not static.issuperset(node.outputs)]

    def storage(tensor: str) -> str:
        for node in nodes:
            if tensor in node.outputs and node.operator in ("reshape", "flatten"):
                return storage(node.inputs[0])
        return tensor

    def size(names: set[str]) -> int:
        return sum(graph.tensors[name].bytes for name in names)

    pair, live = [], []
    for place, node in enumerate(nodes):
        own = {storage(t) for t in (*node.inputs, *node.outputs) if t not in static}
        pair.append(size(own))
        existing = set(graph.inputs) | {t for earlier in nodes[: place + 1] for t in earlier.outputs}
        wanted = {t for later in nodes[place:] for t in later.inputs} | set(graph.outputs)
        alive = {storage(t) for t in existing & wanted if t not in static} | {storage(t) for t in node.outputs}
        if place == 0:
            alive |= set(graph.inputs)
        live.append(size(alive))
    return pair, live


@settings(max_examples=150, deadline=None)
@given(graph=graphs(kinds=(*PLAIN, *QUANTISED)))
@pytest.mark.parametrize("as_written", [True, False])
def test_profiles_are_those_of_a_simulation(as_written: bool, graph: Graph) -> None:
    graph = graph if as_written else deploy(graph)
    plan = memory.plan(graph)
    pair, live = simulated(graph)
    assert plain(plan.profile) == {"pair": tuple(pair), "live": tuple(live)}
    assert plain(plan.peak_bytes) == {"pair": max(pair, default=0), "live": max(live, default=0)}
    static = static_tensors(graph)
    names = [node.name for node in graph.nodes if not static.issuperset(node.outputs)]
    for policy, profile in (("pair", pair), ("live", live)):
        assert plan.peak_node[policy] == (names[profile.index(max(profile))] if names else None)
    assert plan.exact
    assert (plan.variable_bytes, plan.persistent_bytes, plan.training) == (0, None, None)


@settings(max_examples=100, deadline=None)
@given(graph=graphs())
def test_live_is_no_more_than_everything(graph: Graph) -> None:
    plan = memory.plan(deploy(graph))
    if any(node.bodies for node in graph.nodes):
        return
    everything = sum(tensor.bytes for tensor in plan.tensors)
    assert all(live <= everything for live in plan.profile["live"])


@settings(max_examples=60, deadline=None)
@given(graph=graphs(kinds=(*PLAIN, *QUANTISED)))
def test_spans_add_up_to_the_profile(graph: Graph) -> None:
    plan = memory.plan(graph)
    for place, live in enumerate(plan.profile["live"]):
        assert live == sum(span.bytes for span in plan.tensors if span.first <= place <= span.last)


def test_elements_and_bytes_may_peak_at_different_nodes() -> None:
    builder = Builder("types")
    x = builder.input("x", (10,), FLOAT)
    (y,) = builder.add("cast", [("x", x)], {"dtype": "float64"}, name="widen")
    (z,) = builder.add("cast", [("x", y)], {"dtype": "int8"}, name="narrow")
    (w,) = builder.add("concat", [("xs", z), ("xs", z), ("xs", z)], {"axis": 0}, name="thrice")
    plan = memory.plan(builder.graph([w]))
    assert plan.profile["live"] == (120, 90, 40)
    assert (plan.peak_bytes["live"], plan.peak_node["live"], plan.peak_elements["live"]) == (120, "widen", 40)


def test_an_input_that_nobody_reads_is_there_at_the_start_and_one_given_out_to_the_end() -> None:
    builder = Builder("inputs")
    spare, kept, x = (builder.input(name, (1,), FLOAT) for name in ("spare", "kept", "x"))
    (y,) = builder.add("relu", [("x", x)])
    (y,) = builder.add("relu", [("x", y)])
    plan = memory.plan(builder.graph([y, kept]))
    assert spare in {span.name for span in plan.tensors}
    assert plain(plan.profile) == {"pair": (8, 8), "live": (16, 12)}


def test_a_residual_keeps_its_input_alive_and_a_shared_input_counts_once() -> None:
    builder = Builder("residual")
    x = builder.input("x", (4,), FLOAT)
    (a,) = builder.add("relu", [("x", x)])
    (b,) = builder.add("relu", [("x", a)])
    (c,) = builder.add("add", [("a", x), ("b", b)])
    (d,) = builder.add("mul", [("a", c), ("b", c)])
    plan = memory.plan(builder.graph([d]))
    assert plain(plan.profile) == {"pair": (32, 32, 48, 32), "live": (32, 48, 48, 32)}


def test_a_view_takes_no_room_and_keeps_what_it_views_alive() -> None:
    builder = Builder("view")
    x = builder.input("x", (2, 3), FLOAT)
    (v,) = builder.add("reshape", [("x", x)], {"shape": (6,)})
    (y,) = builder.add("relu", [("x", x)])
    (z,) = builder.add("concat", [("xs", v), ("xs", v)], {"axis": 0})
    plan = memory.plan(builder.graph([y, z]))
    assert plain(plan.profile) == {"pair": (24, 48, 72), "live": (24, 48, 96)}
    assert [span.name for span in plan.tensors] == [x, y, z]


def test_a_view_that_is_given_out_keeps_its_storage_to_the_end() -> None:
    builder = Builder("view out")
    x = builder.input("x", (2, 3), FLOAT)
    (v,) = builder.add("flatten", [("x", x)])
    (y,) = builder.add("relu", [("x", x)])
    (z,) = builder.add("relu", [("x", y)])
    assert memory.plan(builder.graph([v, z])).profile["live"] == (24, 48, 72)


def test_unknown_sizes_give_no_peak_and_name_the_tensor() -> None:
    builder = Builder("unknown")
    x = builder.input("x", (4,), FLOAT)
    builder.opaque(UNKNOWN, [("x", x)], [None], name="odd")
    builder.add("relu", [("x", x)], name="late")
    plan = memory.plan(builder.graph(["late"]))
    assert (plain(plan.peak_bytes), plain(plan.peak_elements)) == (
        {"pair": None, "live": None},
        {"pair": None, "live": None},
    )
    assert plain(plan.peak_node) == {"pair": None, "live": None}
    assert plain(plan.profile) == {"pair": (None, 32), "live": (None, 32)}
    assert not plan.exact
    assert "odd" in plan.notes[0]


def test_text_has_elements_but_no_bytes() -> None:
    builder = Builder("text")
    x = builder.input("x", (4,), STRING)
    (y,) = builder.add("concat", [("xs", x), ("xs", x)], {"axis": 0})
    plan = memory.plan(builder.graph([y]))
    assert (plan.peak_bytes["live"], plan.peak_elements["live"], plan.exact) == (None, 12, False)


def test_a_tensor_of_unknown_shape_is_as_large_as_a_view_of_it() -> None:
    tensors = {"x": Tensor("x", None, FLOAT, Role.INPUT)}
    builder = Builder("view")
    builder.tensors, builder.inputs = tensors, ["x"]
    (y,) = builder.add("flatten", [("x", "x")], declared=[TensorType((1, 12), FLOAT)])
    plan = memory.plan(builder.graph([y]))
    assert (plan.peak_bytes["live"], plan.exact) == (48, True)


def test_variables_stand_beside_the_peaks() -> None:
    builder = Builder("state")
    x = builder.input("x", (4,), FLOAT)
    builder.tensors["memory"] = Tensor("memory", (100,), FLOAT, Role.STATE)
    builder.inputs.append("memory")
    (y,) = builder.add("concat", [("xs", x), ("xs", "memory")], {"axis": 0})
    plan = memory.plan(builder.graph([y]))
    assert (plan.variable_bytes, plan.peak_bytes["live"]) == (400, 16 + 416)


def test_a_graph_in_which_nothing_runs_has_no_peak_node() -> None:
    builder = Builder("empty")
    builder.input("x", (4,), FLOAT)
    plan = memory.plan(builder.graph(["x"]))
    assert (plain(plan.peak_bytes), plain(plan.peak_node)) == ({"pair": 0, "live": 0}, {"pair": None, "live": None})


def control(operator: str, *widths: int, trips: int | None = 1) -> Graph:
    """A tensor of 4 B that waits, a control node over x (8 B) with a body a width (8 B to width to 8 B), and a use of both."""
    builder = Builder("control")
    x, waits = builder.input("x", (2,), FLOAT), builder.input("waits", (1,), FLOAT)
    bodies = []
    for width in widths:
        inner = Builder(f"body{width}")
        inner.input("x", (2,), FLOAT)
        (wide,) = inner.add(
            "linear", [("x", "x"), ("w", inner.stored(f"w{width}", (width, 2), FLOAT))], name=f"up{width}"
        )
        w = inner.stored(f"v{width}", (2, width), FLOAT)
        (back,) = inner.add("linear", [("x", wide), ("w", w)], name=f"down{width}")
        bodies.append(Body(inner.name, inner.graph([back]), trips))
    builder.opaque(operator, [("captures", x)], [TensorType((2,), FLOAT)], name="control", bodies=bodies)
    (y,) = builder.add("add", [("a", "control"), ("b", waits)])
    return builder.graph([y])


def test_an_if_has_the_room_of_its_worst_branch() -> None:
    plan = memory.plan(control(BRANCH, 3, 10))
    # In the wider branch: x and 40 B, or 40 B and the result of 8 B.  Outside, 4 B wait; x is alive in the node all the while.
    assert plan.profile["pair"] == (48, 20)
    assert plan.profile["live"] == (4 + 8 + 40 + 8, 8 + 4 + 8)


def test_a_loop_has_room_for_its_body_beside_its_own_results() -> None:
    plan = memory.plan(control(LOOP, 10, trips=7))
    assert plan.profile["live"] == (4 + 8 + 8 + 40 + 8, 20)
    assert plan.profile["pair"] == (48, 20)


def test_an_unknown_size_inside_a_body_is_unknown_outside() -> None:
    inner = Builder("body")
    inner.input("x", (2,), FLOAT)
    inner.opaque(UNKNOWN, [("x", "x")], [None], name="inside")
    builder = Builder("outer")
    builder.input("x", (2,), FLOAT)
    body = Body("body", inner.graph(["inside"]), 3)
    builder.opaque(LOOP, [("captures", "x")], [TensorType((2,), FLOAT)], name="control", bodies=[body])
    plan = memory.plan(builder.graph(["control"]))
    assert (plain(plan.peak_bytes), plan.exact) == ({"pair": None, "live": None}, False)
    assert "inside" in plan.notes[0]


def test_int8_mobilenet_v2_has_the_published_pair() -> None:
    """96 x 112 x 112 + 96 x 56 x 56, the depthwise layer of the second block (MCUNetV2, without its in-place trick)."""
    from weighbridge.passes import bit_rules, set_bits
    from weighbridge.textbook import find

    graph = set_bits(find("mobilenet_v2"), bit_rules(["8"], 8))
    plan = memory.plan(deploy(graph))
    assert plan.peak_bytes["pair"] == 1_505_280


def test_alexnet_peaks_at_its_first_layer_and_the_image_is_free_at_the_pool() -> None:
    from weighbridge.textbook import find

    deployed = deploy(find("alexnet"))
    plan = memory.plan(deployed)
    assert (plan.peak_elements["live"], plan.peak_node["live"]) == (440_928, "conv1")
    names = [node.name for node in deployed.nodes]
    assert plan.profile["live"][names.index("pool1")] == 4 * 360_384


def test_a_view_of_a_stored_tensor_takes_no_room() -> None:
    """Its shape comes in at run time, so it is made anew each time, and yet lies where the tensor is stored."""
    builder = Builder("view")
    shape, w = builder.input("shape", (2,), DTYPES["int64"]), builder.stored("w", (4, 6), FLOAT)
    (v,) = builder.add("reshape", [("x", w), ("shape", shape)], {"shape": (6, 4)}, name="view")
    (y,) = builder.add("softmax", [("x", v)], name="softmax")
    plan = memory.plan(builder.graph([y]))
    assert plain(plan.profile) == {"pair": (16, 96), "live": (16, 96)}
    assert [span.name for span in plan.tensors] == ["shape", "softmax"]


def test_many_unknown_sizes_are_one_note() -> None:
    builder = Builder("net")
    x = builder.input("x", (1, 4), FLOAT)
    for name in "abcde":
        (x,) = builder.opaque(UNKNOWN, [("x", x)], [FLOAT], name=name, origin="my.Op", outputs=[name])
    (note,) = memory.plan(builder.graph([x])).notes
    assert note == ("the sizes of a, b, c and 2 more tensors are unknown, so memory figures that need them are missing")

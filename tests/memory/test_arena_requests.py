"""What is asked of an arena beside its tensors: scratch on request, and a record that is kept, written, read and dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.memory.arenas import FLOAT, FRAGMENTED, INT8, REFERENCE, chain, recorded
from weighbridge import BadSpec, memory
from weighbridge.arena import Arena, ArenaBuffer
from weighbridge.builder import Builder
from weighbridge.graph import LOOP, Body, Graph, TensorType
from weighbridge.graph_json import graph_from_dict, graph_from_json, graph_to_dict, graph_to_json
from weighbridge.memory import ARENA
from weighbridge.passes import bit_rules, set_bits


def convolution(kernel: int = 3, *, groups: int = 1, stride: int = 1, channels: int = 4, dtype=INT8) -> Graph:
    builder = Builder("convolution")
    x = builder.input("x", (2, channels, 8, 8), dtype)
    w = builder.stored("w", (8, channels // groups, kernel, kernel), dtype)
    attributes = {"groups": groups, "stride": stride, "padding": kernel // 2}
    (y,) = builder.add("conv", [("x", x), ("w", w)], attributes, name="conv")
    return builder.graph([y])


def scratch_of(graph: Graph, scratch: str = "im2col") -> list[tuple[str, int, int]]:
    plan = memory.plan(graph, scratch=scratch).arena
    return [(one.name, one.bytes, one.first) for one in plan.buffers if one.is_scratch]


@pytest.mark.parametrize(
    ("graph", "size"),
    [
        (convolution(), 2 * 4 * 9 * 8 * 8),
        (convolution(dtype=FLOAT), 4 * 2 * 4 * 9 * 8 * 8),
        (convolution(groups=2), 2 * 4 * 9 * 8 * 8),
        (convolution(stride=2), 2 * 4 * 9 * 4 * 4),
        (convolution(1, stride=2), 2 * 4 * 4 * 4),
        (convolution(channels=1), 2 * 9 * 8 * 8),
        (convolution(1), None),
        (convolution(groups=4), None),
        (convolution(1, groups=4), None),
        (chain("one"), None),
    ],
)
def test_im2col_is_the_unrolled_input_where_it_has_to_be_made(graph: Graph, size: int | None) -> None:
    assert scratch_of(graph) == ([] if size is None else [("conv: im2col", size, 0)])
    assert scratch_of(graph, "") == []


def test_im2col_is_in_no_other_policy() -> None:
    without, with_it = memory.plan(convolution()), memory.plan(convolution(), scratch="im2col")
    unlike = [policy for policy in without.peak_bytes if without.peak_bytes[policy] != with_it.peak_bytes[policy]]
    assert unlike == [ARENA]
    assert with_it.peak_bytes[ARENA] == 512 + 1024 + 4608
    assert with_it.arena.scratch == "im2col"


def test_im2col_joins_the_requests_of_a_runtime_in_the_scope_of_its_node() -> None:
    buffers = (ArenaBuffer("x", 512, 0, 1), ArenaBuffer("y", 1024, 1, 1, "conv"))
    graph = replace(convolution(), arena=Arena(buffers, ("", "conv")))
    assert scratch_of(graph) == [("conv: im2col", 4608, 1)]
    assert memory.plan(graph, scratch="im2col").arena.buffers[-1].node == "conv"
    lost = replace(graph, arena=Arena(buffers, ("", "another")))
    assert "conv" in memory.plan(lost, scratch="im2col").inapplicable[ARENA]


def test_im2col_of_a_body_is_in_its_scope() -> None:
    inner = convolution()
    builder = Builder("outer")
    builder.input("x", (2, 4, 8, 8), INT8)
    builder.opaque(
        LOOP, [("captures", "x")], [TensorType((2, 8, 8, 8), INT8)], name="loop", bodies=[Body("b", inner, 3)]
    )
    assert scratch_of(builder.graph(["loop"])) == [("conv: im2col", 4608, 1)]


def test_im2col_of_an_unknown_size_is_a_reason() -> None:
    graph = convolution()
    tensors = {**graph.tensors, "w": replace(graph.tensors["w"], shape=None)}
    plan = memory.plan(replace(graph, tensors=tensors), scratch="im2col")
    assert plan.inapplicable[ARENA] == "the size of the im2col of conv is unknown"


def test_a_record_survives_json() -> None:
    offline = ArenaBuffer("z", 3, 2, 3, "two", offset=32)
    arena = FRAGMENTED._replace(
        buffers=(*FRAGMENTED.buffers, offline, ArenaBuffer("spare", 4, -1, -1)), persistent=(REFERENCE,)
    )
    for one in (arena, Arena(reason="no kernel"), Arena()):
        graph = replace(chain("one", "two"), arena=one)
        assert graph_from_json(graph_to_json(graph)) == graph
    assert "arena" not in graph_to_dict(chain("one"))


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("buffers", [["x", 1, 0, 9, "", None, False]], "$.arena.buffers[0][3]"),
        ("buffers", [["x", -1, 0, 1, "", None, False]], "$.arena.buffers[0]"),
        ("buffers", [["x", 1, -2, 1, "", None, False]], "$.arena.buffers[0]"),
        ("buffers", [["x", 1, 2, 1, "", None, False]], "$.arena.buffers[0]"),
        ("buffers", [["x", 1, 0, 1, "", -3, False]], "$.arena.buffers[0]"),
        ("buffers", [["x", 1, 0, 1, "", None, 1]], "$.arena.buffers[0][6]"),
        ("buffers", [["x", 1, 0, 1]], "$.arena.buffers[0]"),
        ("persistent", [["x", 4, -1, None, ""]], "$.arena.persistent[0]"),
        ("persistent", [["x", 4, 1, "many", ""]], "$.arena.persistent[0][3]"),
        ("persistent", [["x", 4]], "$.arena.persistent[0]"),
        ("scopes", [1], "$.arena.scopes[0]"),
        ("reason", None, "$.arena.reason"),
        ("more", 1, "$.arena"),
    ],
)
def test_a_damaged_record_says_where(field: str, value: object, path: str) -> None:
    document = graph_to_dict(recorded("one"))
    document["arena"][field] = value
    with pytest.raises(BadSpec) as caught:
        graph_from_dict(document)
    assert caught.value.where == path


def test_other_widths_drop_the_record_and_say_so_and_the_same_ones_keep_it() -> None:
    graph = recorded("one", "two", "three")
    narrow = set_bits(graph, bit_rules(activations=8))
    assert narrow.arena == Arena()
    assert not narrow.arena.is_known
    assert any("arena_tflm" in note for note in narrow.notes)
    assert memory.plan(narrow).arena.source == "graph"
    assert set_bits(graph, bit_rules(activations=32)).arena == FRAGMENTED

"""A stage row by row computes what the whole does, with rings of just so many rows, each row of each layer once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import assume, given, settings

from tests.patches.executed import run, values_of
from tests.patches.networks import branched, deployed
from tests.patches.random_stages import random_stages
from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.operators.halo import Span, whole
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.part import part_of
from weighbridge.patches.rows import NodeRows, RowRules, rows_in
from weighbridge.patches.stage import Stage, stage_to
from weighbridge.patches.streamed import Ring, in_rows, ran


class Overwritten(Exception):
    """A row that is read is not in its ring any more."""


class Rings:
    """Of each tensor the rows that its ring holds, the oldest overwritten by the newest."""

    def __init__(self, graph: Graph, axes: Mapping[str, int | None], held: Mapping[str, int]) -> None:
        self.graph, self.axes, self.held = graph, axes, held
        self.slots: dict[str, dict[int, tuple[int, np.ndarray]]] = {name: {} for name in held}
        self.made: dict[str, int] = dict.fromkeys(held, 0)

    def put(self, name: str, row: int, values: np.ndarray) -> None:
        if not self.held[name]:
            raise Overwritten(name)
        self.slots[name][self.made[name] % self.held[name]] = row, values
        self.made[name] += 1

    def read(self, name: str, box: tuple[Span, ...]) -> np.ndarray:
        axis, by_row = self.axes[name], dict(self.slots[name].values())
        if axis is None:
            wanted, rest = [0], box
        else:
            wanted, rest = list(range(*box[axis])), (*box[:axis], Span(0, 1), *box[axis + 1 :])
        if any(row not in by_row for row in wanted):
            raise Overwritten(name)
        cut = [by_row[row][tuple(slice(*span) for span in rest)] for row in wanted]
        return cut[0] if axis is None else np.concatenate(cut, axis)


def by_rows(graph: Graph, stage: Stage, less: str | None = None) -> np.ndarray:
    """The stage's result, its layers run in turn on rows in rings; the ring of ``less`` is a row too small."""
    nodes, axes, _ = rows_in(stage, RowRules(graph, OPERATORS))
    turns, held = ran(nodes, stage)
    held = {name: rows - (name == less) for name, rows in held.items()}
    values, rings = values_of(graph), Rings(graph, axes, held)
    result = np.full(graph.tensors[stage.output].shape, np.nan)
    for place, span in turns:
        for name, made in one_turn(graph, stage, nodes[place], (span, axes), rings, values).items():
            axis = axes[name]
            if name == stage.output:
                result[(slice(None),) * axis + (slice(*span),)] = made
            elif name in held:
                for row in range(span.size):
                    rings.put(name, span.start + row, made if axis is None else np.take(made, [row], axis))
    return result


def a_stage(graph: Graph, last: str) -> Stage:
    """What hypothesis made, where it runs row by row: not where a row is not to be had by itself, nor where there are none."""
    try:
        stage = stage_to(graph, last, OPERATORS)
        rows_in(stage, RowRules(graph, OPERATORS))
    except BadSpec:
        assume(False)
    return stage


def one_turn(graph: Graph, stage: Stage, rows: NodeRows, asked, rings: Rings, values) -> dict[str, np.ndarray]:
    """What one node makes of the rows that are in the rings."""
    (span, axes), (node, _, _) = asked, rows
    axis = axes[node.outputs[0]]
    alone = stage._replace(nodes=(node,), output=node.outputs[0])
    box = list(whole(graph.tensors[alone.output].shape))
    if axis is not None:
        box[axis] = span
    part = part_of(graph, alone, tuple(box), OPERATORS)
    given = {}
    for name, tensor in part.graph.tensors.items():
        if tensor.elements == 0:
            given[name] = np.empty(tensor.shape)
        elif name in rings.held and name not in node.outputs:
            given[name] = rings.read(name, part.boxes[name])
        elif name in values:
            cut = values[name]
            given[name] = cut if name in stage.static else cut[tuple(slice(*one) for one in part.boxes[name])]
    made = run(part.graph, given)
    return {name: made[name] for name in node.outputs}


@settings(max_examples=100, deadline=None)
@given(random_stages())
def test_any_stage_by_rows_is_the_stage_and_no_ring_is_a_row_too_large(made: tuple[Graph, str]) -> None:
    graph, last = made
    stage = a_stage(graph, last)
    expected = run(graph, values_of(graph), stage.nodes)[stage.output]
    np.testing.assert_allclose(by_rows(graph, stage), expected, atol=1e-9)
    for ring in in_rows(graph, last, RowRules(graph, OPERATORS)).rings:
        with pytest.raises(Overwritten):
            by_rows(graph, stage, less=ring.name)


NETWORKS = (
    ("lenet5", "s4"),
    ("mobilenet_v2:resolution=32", "block5.add"),
    ("resnet18:resolution=32", "layer2.0.add"),
    ("squeezenet:resolution=43", "fire3.concat"),
)


@pytest.mark.parametrize(("name", "last"), NETWORKS)
def test_known_networks_by_rows(name: str, last: str) -> None:
    graph = deployed(name)
    stage = stage_to(graph, last, OPERATORS)
    expected = run(graph, values_of(graph), stage.nodes)[stage.output]
    np.testing.assert_allclose(by_rows(graph, stage), expected, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(random_stages())
def test_no_row_is_computed_twice(made: tuple[Graph, str]) -> None:
    graph, last = made
    stage = a_stage(graph, last)
    nodes, _, _ = rows_in(stage, RowRules(graph, OPERATORS))
    rows = [(place, row) for place, span in ran(nodes, stage).turns for row in range(*span)]
    assert len(rows) == len(set(rows))
    of_stage = sum(
        one.macs or 0 for one in count(graph, graph).nodes if one.name in {node.name for node in stage.nodes}
    )
    assert in_rows(graph, last, RowRules(graph, OPERATORS)).macs <= of_stage


def test_the_rows_of_a_residual_by_hand() -> None:
    """left needs three rows of the stem; right and the sum one."""
    graph = branched()
    found = in_rows(graph, "met", RowRules(graph, OPERATORS))
    assert found.rings == (Ring("stem", 3, 6, 3 * 48), Ring("left", 1, 6, 48), Ring("right", 1, 6, 48))
    assert (found.ring_bytes, found.buffer_bytes, found.input_bytes) == (240, 8 * 36, 3 * 144)
    behind = found.rest_bytes["live"]
    assert found.peak_bytes["live"] == max(240 + 288, behind)
    assert found.with_input_bytes["live"] == max(240 + 288 + 432, behind)
    assert found.nodes == ("stem", "left", "right", "met")


def test_a_chain_of_windows_keeps_as_many_rows_as_a_window_has() -> None:
    """And a residual around two of 3 x 3 a row for each row that they are behind."""
    builder, kind = Builder("chain"), DTYPES["int8"]
    x = builder.input("x", (1, 1, 16, 16), kind)

    def conv(name: str, given: str, taps: int, **attributes: object) -> str:
        w = builder.stored(f"{name}.w", (1, 1, taps, taps), kind)
        return builder.add("conv", [("x", given), ("w", w)], attributes, name=name)[0]

    first = conv("first", x, 1)
    second = conv("second", conv("between", first, 3, padding=1), 3, padding=1)
    met = builder.add("add", [("a", second), ("b", first)], name="met")[0]
    strided = conv("strided", met, 5, stride=2, padding=2)
    dilated = conv("dilated", strided, 3, dilation=2, padding=2)
    end = builder.add("relu", [("x", dilated)], name="end")[0]
    found = in_rows(builder.graph([end]), "dilated", RowRules(builder.graph([end]), OPERATORS))
    rows = {ring.name: ring.rows for ring in found.rings}
    assert rows == {first: 3, "between": 3, second: 1, met: 5, strided: 5}
    assert sum(ring.bytes for ring in found.rings) == 16 * (3 + 3 + 1 + 5) + 8 * 5


def test_rows_that_nobody_needs_are_not_computed() -> None:
    """A window of one tap and stride 3 reads every third row."""
    builder, kind = Builder("sparse"), DTYPES["int8"]
    x = builder.input("x", (1, 1, 9, 9), kind)
    w = builder.stored("w", (2, 1, 3, 3), kind)
    v = builder.stored("v", (2, 2, 1, 1), kind)
    first = builder.add("conv", [("x", x), ("w", w)], {"padding": 1}, name="first")[0]
    second = builder.add("conv", [("x", first), ("w", v)], {"stride": 3}, name="second")[0]
    end = builder.add("relu", [("x", second)], name="end")[0]
    found = in_rows(builder.graph([end]), "second", RowRules(builder.graph([end]), OPERATORS))
    # columns 0 to 6 of the rows 0, 3 and 6 of the first, and 3 x 3 of the second
    assert found.rings == (Ring(first, 1, 9, 2 * 7),)
    assert found.macs == 3 * 7 * 2 * 9 + 9 * 2 * 2


def test_a_single_row_needs_the_rows_under_its_window() -> None:
    """Windows as large as the map: all rows of the pooled map, and of the map before it just two."""
    graph = deployed("lenet5")
    rows = {ring.name: (ring.rows, ring.all_rows) for ring in in_rows(graph, "c5", RowRules(graph, OPERATORS)).rings}
    assert rows == {"tanh1": (2, 28), "s2": (5, 14), "tanh3": (2, 10), "s4": (5, 5)}


def test_macs_are_those_of_the_stage() -> None:
    graph = deployed("mobilenet_v2")
    found = in_rows(graph, "block4.project", RowRules(graph, OPERATORS))
    assert found.macs == 91_282_688
    assert found.ring_bytes == sum(ring.bytes for ring in found.rings) == 119_616
    assert found.peak_bytes["live_in_place"] == found.rest_bytes["live_in_place"] == 200_704


def test_what_cannot_run_row_by_row_is_named() -> None:
    with pytest.raises(BadSpec, match="needs all of its input"):
        in_rows(branched(), "gated", RowRules(branched(), OPERATORS))
    with pytest.raises(BadSpec, match="lies inside a branch"):
        in_rows(branched(), "left", RowRules(branched(), OPERATORS))


def test_a_node_is_asked_once_for_all_stages() -> None:
    graph = deployed("lenet5")
    rules = RowRules(graph, OPERATORS)
    node = next(node for node in graph.nodes if node.name == "c1")
    first = rules.of(node, 2, stage_to(graph, "s2", OPERATORS))
    assert rules.of(node, 2, stage_to(graph, "c3", OPERATORS)) is first

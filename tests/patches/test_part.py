"""A stage patch by patch computes what it computes in one piece, of exactly the halos that were predicted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.patches.executed import run, values_of
from tests.patches.random_stages import random_stages
from weighbridge.api import load
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.operators.halo import Span
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy
from weighbridge.patches.part import Part, part_of
from weighbridge.patches.stage import Stage, stage_to, stages


def cut(array: np.ndarray, box: tuple[Span, ...]) -> np.ndarray:
    return array[tuple(slice(*span) for span in box)]


def computed(graph: Graph, stage: Stage, part: Part, held: dict[str, np.ndarray]) -> np.ndarray:
    """What a part makes of what is stored, and of the boxes of the inputs that it says it needs."""
    made = {tensor for node in stage.nodes for tensor in node.outputs}
    given = {
        name: held[name] if name in stage.static else cut(held[name], part.boxes[name])
        for name in part.graph.tensors
        if name in held and name not in made
    }
    given |= {name: np.empty(one.shape) for name, one in part.graph.tensors.items() if one.elements == 0}
    return run(part.graph, given)[stage.output]


def boxes(graph: Graph, stage: Stage, rows: int, columns: int):
    shape = graph.tensors[stage.output].shape
    down, across = (shape[axis] for axis in stage.axes)
    for i in range(rows):
        for j in range(columns):
            box = [Span(0, size) for size in shape]
            box[stage.axes[0]] = Span(i * down // rows, (i + 1) * down // rows)
            box[stage.axes[1]] = Span(j * across // columns, (j + 1) * across // columns)
            yield tuple(box)


def agrees(graph: Graph, stage: Stage, rows: int, columns: int) -> None:
    held = run(graph, values_of(graph), stage.nodes)
    for box in boxes(graph, stage, rows, columns):
        try:
            part = part_of(graph, stage, box, OPERATORS)
        except BadSpec as error:
            assert error.where == "grid", error
            assert stage.last.operator in ("depth_to_space", "reshape")
            continue
        np.testing.assert_allclose(computed(graph, stage, part, held), cut(held[stage.output], box), atol=1e-9)


@settings(max_examples=300, deadline=None)
@given(random_stages(), st.integers(1, 4), st.integers(1, 4))
def test_any_stage_in_patches_is_the_stage(made: tuple[Graph, str], rows: int, columns: int) -> None:
    graph, last = made
    stage = stage_to(graph, last, OPERATORS)
    down, across = (graph.tensors[stage.output].shape[axis] for axis in stage.axes)
    agrees(graph, stage, min(rows, down), min(columns, across))


@settings(max_examples=150, deadline=None)
@given(random_stages(), st.data())
def test_every_row_of_a_halo_is_needed(made: tuple[Graph, str], data: st.DataObject) -> None:
    """The box of the input is the smallest: a change in its first or last row or column changes the part."""
    graph, last = made
    if any(node.operator in ("slice", "max_pool", "relu", "clip") for node in graph.nodes):
        return  # these may let a change go unseen
    stage = stage_to(graph, last, OPERATORS)
    box = data.draw(st.sampled_from(list(boxes(graph, stage, 2, 2)) if min_size(graph, stage) > 1 else [None]))
    if box is None:
        return
    held = run(graph, values_of(graph), stage.nodes)
    part = part_of(graph, stage, box, OPERATORS)
    (name,) = graph.inputs
    if name not in part.boxes or any(span.size == 0 for span in part.boxes[name]):
        return
    before = computed(graph, stage, part, held)
    rank = len(graph.tensors[name].shape)
    for axis in (2, 3) if rank == 4 else ():
        for place in (part.boxes[name][axis].start, part.boxes[name][axis].stop - 1):
            changed = held[name].copy()
            changed[(slice(None),) * axis + (place,)] += 1.0
            assert not np.allclose(computed(graph, stage, part, {**held, name: changed}), before)


def min_size(graph: Graph, stage: Stage) -> int:
    return min(graph.tensors[stage.output].shape[axis] for axis in stage.axes)


NETWORKS = (
    ("alexnet:resolution=99", 3),
    ("lenet5", 2),
    ("mcunet_in3", 4),
    ("mcunet_in4", 3),
    ("mobilenet_v1:resolution=64", 4),
    ("mobilenet_v2:resolution=64", 4),
    ("resnet18:resolution=64", 3),
    ("resnet34:resolution=64", 2),
    ("resnet50:resolution=64", 2),
    ("squeezenet:resolution=67", 3),
    ("vgg16:resolution=48", 3),
)


@pytest.mark.parametrize(("name", "grid"), NETWORKS)
def test_the_stages_of_known_networks_in_patches_are_the_stages(name: str, grid: int) -> None:
    graph = load(name)
    known = [end for end in stages(graph, OPERATORS) if has_map(graph, end, grid)]
    assert known
    for end in {known[0], known[len(known) // 2], known[-1]}:
        agrees(graph, stage_to(graph, end, OPERATORS), grid, grid)


def has_map(graph: Graph, end: str, grid: int) -> bool:
    node = next(node for node in graph.nodes if node.name == end)
    shape = graph.tensors[node.outputs[0]].shape
    if len(shape) != 4 or min(shape[2:]) < grid:
        return False
    stage = stage_to(graph, end, OPERATORS)
    return all(OPERATORS[one.operator].halo_rule is not None for one in stage.nodes)


def test_deployed_graphs_too() -> None:
    graph = deploy(load("mobilenet_v2:resolution=64"))
    agrees(graph, stage_to(graph, "block4.project", OPERATORS), 4, 2)


def test_what_a_node_needs_whole_is_computed_whole_for_each_patch() -> None:
    """Weights of a convolution that are made of a second input, at run time."""
    builder, kind = Builder("conditional"), DTYPES["float32"]
    x, given_ = builder.input("x", (1, 2, 6, 6), kind), builder.input("kernel", (2, 2, 3, 3), kind)
    w = builder.add("tanh", [("x", given_)], name="tanh")[0]
    y = builder.add("conv", [("x", x), ("w", w)], {"padding": 1}, name="conv")[0]
    graph = builder.graph([builder.add("relu", [("x", y)])[0]])
    stage = stage_to(graph, "conv", OPERATORS)
    assert [node.name for node in stage.nodes] == ["tanh", "conv"]
    part = part_of(graph, stage, next(boxes(graph, stage, 2, 2)), OPERATORS)
    assert part.boxes["kernel"] == ((0, 2), (0, 2), (0, 3), (0, 3))
    agrees(graph, stage, 2, 2)

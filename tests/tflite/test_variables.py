"""Variables: read, assigned, shared by name, passed to subgraphs; and those that layers keep their states in."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.tflite.build import Op, Subgraph, Tensor, graph, load, model, op, operators, tensor
from tests.tflite.subgraphs import X, Y, number
from weighbridge import weigh
from weighbridge.errors import BadModel
from weighbridge.graph import Graph, Role
from weighbridge.graph_json import graph_from_json, graph_to_json
from weighbridge.passes.bits import BitRules, set_bits
from weighbridge.passes.deployment import deploy


def handle(name: str = "h") -> Tensor:
    return tensor(name, (1,), "RESOURCE")


def named(shared: str, to: str = "h", container: str = "") -> Op:
    return op("VAR_HANDLE", "", to, {"container": container, "shared_name": shared})


VALUE, SUM = tensor("v", (2, 8)), tensor("s", (2, 8))
STEP = [op("READ_VARIABLE", "h", "v"), op("ADD", "x v", "s"), op("ASSIGN_VARIABLE", "h s", "")]


def step() -> Graph:
    """v := v + x."""
    return load(model(graph([X, handle(), VALUE, SUM], [named("sum"), *STEP], "x", "s")))


def states(found: Graph) -> dict[str, tuple[int, ...] | None]:
    """The variables of a graph and its bodies."""
    here = {one.id: one.shape for one in found.tensors.values() if one.role is Role.STATE}
    for node in found.nodes:
        for body in node.bodies:
            here |= states(body.graph)
    return here


def test_a_variable_is_read_as_a_copy_and_assigned() -> None:
    found = step()
    assert operators(found) == ["read_variable", "add", "assign_variable"]
    assert states(found) == {"sum": (2, 8)}
    report = weigh(found)
    assert report.memory.variable_bytes == 64
    assert (report.facts.exact, report.facts.work_exact, report.facts.parameters) == (True, True, 0)
    assert [(node.read_bytes, node.write_bytes) for node in report.facts.nodes] == [(64, 64), (128, 64), (64, 64)]
    assert report.facts.activations.total == 3 * 16
    assert report.memory.peak_bytes["live"] == 3 * 64


def test_nothing_loses_an_assignment() -> None:
    found = step()
    assert operators(graph_from_json(graph_to_json(found))) == operators(found)
    assert operators(deploy(found)) == operators(found)
    halved = deploy(set_bits(found, BitRules(activations=8)))
    assert operators(halved) == operators(found)
    assert halved.tensors["sum"].bytes == 16


def test_a_name_is_one_variable_and_a_container_tells_names_apart() -> None:
    def two(first: Op, second: Op) -> int | None:
        more = [tensor("w", (2, 8)), tensor("y", (2, 8)), handle("g")]
        reads = [op("READ_VARIABLE", "h", "v"), op("READ_VARIABLE", "g", "w"), op("ADD", "v w", "y")]
        found = load(model(graph([X, handle(), VALUE, *more], [first, second, *reads], "x", "y")))
        return weigh(found).memory.variable_bytes

    assert two(named("a"), named("a", "g")) == 64
    assert two(named("a"), named("b", "g")) == 128
    assert two(named("a"), named("a", "g", "other")) == 128
    assert two(named(""), named("", "g")) == 64


def test_a_variable_whose_file_does_not_state_its_shape_has_that_of_what_is_assigned() -> None:
    unstated = tensor("v", (1, 8), signature=(-1, 8))
    operators_ = [named("kept"), op("ASSIGN_VARIABLE", "h x", ""), op("READ_VARIABLE", "h", "v")]
    found = load(model(graph([X, handle(), unstated], operators_, "x", "v")))
    assert states(found) == {"kept": (2, 8)}
    assert found.tensors[found.outputs[0]].shape == (2, 8)


def test_a_variable_that_is_assigned_another_shape_is_told() -> None:
    other = tensor("o", (4, 8))
    operators_ = [named("kept"), op("ASSIGN_VARIABLE", "h x", ""), op("ASSIGN_VARIABLE", "h o", "")]
    found = load(model(graph([X, handle(), other], operators_, "x o", "x")))
    assert any("the variable kept is 2x8 and is assigned 4x8" in note for note in found.notes)


def inside(*operators_: Op, more: tuple[Tensor, ...] = ()) -> Subgraph:
    return graph([X, handle(), VALUE, SUM, *more], operators_, "x h", "s h", "inside")


@pytest.mark.parametrize(
    "call",
    [
        op("CALL", "x h", "y g", {"subgraph": 1}),
        op("IF", "c x h", "y g", {"then_subgraph_index": 1, "else_subgraph_index": 1}),
    ],
    ids=lambda one: one.op,
)
def test_a_handle_is_passed_to_a_subgraph_and_comes_back(call: Op) -> None:
    """The subgraph counts up, and what comes out of the call is read once more."""
    last = [op("READ_VARIABLE", "g", "w"), op("ADD", "y w", "z")]
    tensors = [X, Y, handle(), handle("g"), tensor("c", (), "BOOL"), tensor("w", (2, 8)), tensor("z", (2, 8))]
    main = graph(tensors, [named("sum"), call, *last], "x c", "z")
    found = load(model(main, inside(*STEP)))
    assert states(found) == {"sum": (2, 8)}
    assert weigh(found).memory.variable_bytes == 64
    assert weigh(found).facts.work_exact


def test_a_loop_counts_into_a_variable() -> None:
    truth, limit = tensor("c", (), "BOOL"), number("limit", 5)
    tests = graph([number("i"), X, handle(), limit, truth], [op("LESS", "i limit", "c")], "i x h", "c", "cond")
    body_tensors = [number("i"), X, handle(), VALUE, SUM, number("one", 1), number("next")]
    body = graph(body_tensors, [*STEP, op("ADD", "i one", "next")], "i x h", "next s h", "body")
    tensors = [X, Y, handle(), handle("g"), number("i0", 0), number("end")]
    loop = op("WHILE", "i0 x h", "end y g", {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    found = load(model(graph(tensors, [named("sum"), loop], "x", "y"), tests, body))
    (node,) = [one for one in found.nodes if one.bodies]
    assert [name for name, _ in node.operands] == ["condition", "carried", "carried"]
    assert node.bodies[0].trips == 5
    report = weigh(found)
    assert report.memory.variable_bytes == 64
    (counted,) = [one for one in report.facts.nodes if one.name == node.name]
    # The test at the end of a pass, x + v, i + 1; v is read, x + v read and written, v written.
    assert (counted.work.compare, counted.work.add) == (5, 5 * 17)
    assert counted.read_bytes == 5 * (64 + 128 + 64 + 8 + 8)


def test_a_state_of_a_layer_in_a_body_counts_once() -> None:
    features, time = tensor("f", (4, 8), data=True), tensor("t", (4, 3), data=True)
    state, out = tensor("state", (2, 12), variable=True), tensor("y", (2, 4))
    layer = op("SVDF", "x f t - state", "y", {"rank": 1})
    branch = graph([X, features, time, state, out], [layer], "x", "y", "branch")
    tensors = [X, tensor("c", (), "BOOL"), out]
    choice = op("IF", "c x", "y", {"then_subgraph_index": 1, "else_subgraph_index": 1})
    found = load(model(graph(tensors, [choice], "x c", "y"), branch))
    assert states(found) == {"state": (2, 12)}
    assert weigh(found).memory.variable_bytes == 2 * 12 * 4


def test_a_handle_is_no_tensor_of_the_graph() -> None:
    custom = op("Strange", "x h", "y")
    found = load(model(graph([X, Y, handle()], [named("kept"), custom], "x", "y h")))
    assert found.outputs == ("y",)
    assert [name for _, name in found.nodes[0].operands] == ["x"]


@pytest.mark.parametrize(
    ("operators_", "said"),
    [
        ([op("VAR_HANDLE", "", "h g")], "a handle is one result, and there are 2"),
        ([op("READ_VARIABLE", "", "v")], "read as one result"),
        ([op("READ_VARIABLE", "-", "v")], "it names no variable"),
        ([named("a"), op("ASSIGN_VARIABLE", "h", "")], "assigned one value"),
        ([named("a"), op("ASSIGN_VARIABLE", "h h", "")], "assigned one value"),
        ([op("READ_VARIABLE", "h", "v")], "no operator before it makes"),
    ],
)
def test_what_does_not_fit_is_said(operators_: list[Op], said: str) -> None:
    with pytest.raises(BadModel, match=said):
        load(model(graph([X, handle(), handle("g"), VALUE], operators_, "x", "x")))


def test_what_tensorflow_lite_micro_keeps(shared: Path) -> None:
    """Its measured figures, over 26 models."""
    with (shared / "facts" / "tflm.csv").open() as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    assert len(rows) == 26
    found = {row["file"]: weigh(shared / "data" / row["file"]).memory.variable_bytes for row in rows}
    assert found == {row["file"]: int(row["variable_bytes"]) for row in rows}

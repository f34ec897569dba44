"""SequenceMap: a body that runs once for every tensor of a sequence."""

from __future__ import annotations

import onnx
import pytest

from tests.onnx.build import BOOL, graph, load, model, node, operators, value, weight
from weighbridge import weigh
from weighbridge.errors import BadModel

X, Y = value("x", [2, 8]), value("y", None)


def _mapped(
    *before: onnx.NodeProto, inputs: tuple[str, ...] = ("s",), formals: tuple[str, ...] = ("e",)
) -> onnx.ModelProto:
    """A matrix product with a stored weight for every tensor of the sequence ``s``."""
    nodes = [node("MatMul", ["e", "w"], ["product"]), *(node("Add", ["product", one], ["sum"]) for one in formals[1:])]
    kinds = [value(one, [2, 8] if index == 0 else [4]) for index, one in enumerate(formals)]
    body = graph(nodes, kinds, [value(nodes[-1].output[0], None)])
    mapped = node("SequenceMap", inputs, ["y"], name="map", body=body)
    made = graph([*before, mapped], [X, value("z", [4])], [Y], [weight("w", 8, 4)])
    made.output[0].ClearField("type")
    return model(made, opset=18)


def test_a_body_runs_for_every_tensor_of_a_sequence() -> None:
    found = load(_mapped(node("SequenceConstruct", ["x", "x", "x"], ["s"])))
    assert operators(found) == ["sequence_construct", "scan"]
    assert found.nodes[1].bodies[0].trips == 3
    facts = weigh(found).facts
    assert (facts.macs, facts.exact, facts.parameters) == (3 * 2 * 8 * 4, True, 32)
    beside = _mapped(node("SequenceConstruct", ["x", "x"], ["s"]), inputs=("s", "z"), formals=("e", "beside"))
    facts = weigh(load(beside)).facts
    assert (facts.macs, facts.work.add) == (2 * 2 * 8 * 4, 2 * 2 * 4)


def test_a_sequence_of_unknown_length_counts_one_tensor() -> None:
    """As the body states its shape."""
    facts = weigh(load(_mapped(node("SplitToSequence", ["x"], ["s"])))).facts
    assert (facts.macs, facts.exact) == (2 * 8 * 4, False)
    assert facts.uncounted[0].reason == "how often it runs depends on values: one trip is counted"


def test_a_sequence_made_elsewhere_is_mapped_inside_a_branch() -> None:
    made = _mapped(node("SequenceConstruct", ["x", "x"], ["s"]))
    inner = made.graph.node.pop(1)
    branch = graph([inner], [], [value("y", None)])
    branch.output[0].ClearField("type")
    made.graph.node.append(node("If", ["c"], ["y"], then_branch=branch, else_branch=branch))
    made.graph.input.append(value("c", [], BOOL))
    facts = weigh(load(made)).facts
    assert (facts.macs, facts.exact) == (2 * 2 * 8 * 4, True)


@pytest.mark.parametrize("inputs", [(), ("s", "z", "z")])
def test_a_mapped_body_takes_as_many_tensors_as_it_is_given(inputs: tuple[str, ...]) -> None:
    with pytest.raises(BadModel, match="map: its body takes 1 tensors and is given"):
        load(_mapped(node("SequenceConstruct", ["x"], ["s"]), inputs=inputs))

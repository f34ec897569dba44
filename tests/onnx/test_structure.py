"""Graphs as files have them: order, names, scopes, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import helper

from tests.onnx.build import graph, load, model, node, operators, shapes, value, weight
from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_names import scope_of

X, Y = value("x", [2, 8]), value("y", None)


def test_nodes_out_of_order_are_sorted() -> None:
    nodes = [node("Tanh", ["b"], ["y"]), node("Relu", ["x"], ["a"]), node("Sigmoid", ["a"], ["b"])]
    assert operators(load(model(graph(nodes, [X], [Y])))) == ["relu", "sigmoid", "tanh"]


def test_a_body_waits_for_what_it_takes_from_outside() -> None:
    branches = {
        name: graph([node("Relu", ["late"], [name])], [], [value(name, None)])
        for name in ("then_branch", "else_branch")
    }
    nodes = [node("If", ["c"], ["y"], **branches), node("Tanh", ["x"], ["late"])]
    found = load(model(graph(nodes, [X, value("c", [], onnx.TensorProto.BOOL)], [Y])))
    assert operators(found) == ["tanh", "if"]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [
                node("Add", ["x", "b"], ["a"], name="first"),
                node("Relu", ["a"], ["b"], name="second"),
                node("Relu", ["b"], ["y"]),
            ],
            "first: waits for its own result: the graph has a cycle",
        ),
        ([node("Add", ["x", "y"], ["y"], name="self")], "self: waits for its own result"),
        ([node("Add", ["x", "gone"], ["y"], name="sum")], "sum: reads 'gone', which nothing makes"),
        ([node("Relu", ["x"], ["a"])], "the model's outputs: reads 'y', which nothing makes"),
        (
            [node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["y"], name="again")],
            "again: makes 'y', which another node makes too",
        ),
        ([node("Relu", ["y"], ["x"]), node("Relu", ["w"], ["y"])], "Relu_1: there are two tensors called 'x'"),
        ([node("Conv", ["x"], ["y"], name="half")], "half: conv lacks its operand w"),
        ([node("MatMul", ["x", "w"], ["y"], name="odd")], "odd: an input of shape .* under a weight for 3 features"),
        ([node("Clip", [], ["y"], name="none")], "none: Clip lacks its operand 0"),
    ],
)
def test_graphs_that_contradict_themselves_are_refused(nodes: list[onnx.NodeProto], message: str) -> None:
    with pytest.raises(BadModel, match=rf"model\.onnx: {message}"):
        load(model(graph(nodes, [X], [Y], [weight("w", 3, 4)])))


def test_nodes_without_names_are_numbered_and_equal_names_told_apart() -> None:
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Relu", ["a"], ["b"], name="same"),
        node("Relu", ["b"], ["c"], name="same"),
        node("Tanh", ["c"], ["d"], name="t" * 500),
        node("Relu", ["d"], ["y"]),
    ]
    names = [one.name for one in load(model(graph(nodes, [X], [Y]))).nodes]
    assert names[:3] == ["Relu_0", "same", "same#2"]
    assert len(names[3]) == 200
    assert names[4] == "Relu_1"


def test_many_equal_names_take_linear_time() -> None:
    nodes = [node("Relu", ["x" if not index else f"t{index}"], [f"t{index + 1}"], name="r") for index in range(5_000)]
    found = load(model(graph(nodes, [X], [value("t5000", None)])))
    assert found.nodes[-1].name == "r#5000"


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("/layer1/layer1.0/conv1/Conv", "layer1.0.conv1"),
        ("/features/features.1/conv/conv.0/conv.0.0/Conv", "features.1.conv.0.0"),
        ("/encoder/layer.0/attention/self/query/MatMul", "encoder.layer.0.attention.self.query"),
        ("/fc/Gemm", "fc"),
        ("/Flatten", ""),
        ("Conv_12", ""),
        ("resnet/conv1/Conv2D", ""),
        ("", ""),
    ],
)
def test_module_paths_in_names(name: str, scope: str) -> None:
    assert scope_of(name, ()) == scope


def test_module_paths_in_metadata() -> None:
    made = model(
        graph(
            [node("Conv", ["x", "w"], ["y"], name="node_conv2d_3")],
            [value("x", [1, 3, 8, 8])],
            [Y],
            [weight("w", 4, 3, 3, 3)],
        )
    )
    entry = made.graph.node[0].metadata_props.add()
    entry.key, entry.value = "pkg.torch.onnx.name_scopes", "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d_3']"
    assert load(made).nodes[0].scope == "layer1.0.conv1"


def test_results_that_are_stored_or_fed_are_results_all_the_same() -> None:
    made = graph([node("Relu", ["x"], ["h"])], [X], [value("x", None), value("w", None)], [weight("w", 3)])
    assert shapes(load(model(made))) == [(2, 8), (3,)]


def test_operators_of_the_default_domain_by_its_long_name() -> None:
    made = helper.make_model(
        graph([node("Relu", ["x"], ["y"], domain="ai.onnx")], [X], [Y]),
        opset_imports=[helper.make_opsetid("ai.onnx", 13)],
    )
    assert operators(load(made)) == ["relu"]


def test_two_inputs_of_one_name_are_refused() -> None:
    twice = [value("x", [2]), value("x", [3])]
    with pytest.raises(BadModel, match="two inputs called 'x'"):
        load(model(graph([node("Relu", ["x"], ["y"])], twice, [value("y", None)])))


@pytest.mark.parametrize(
    ("nodes", "options"),
    [
        ([node("Conv", ["x", "w"], ["y"])], {}),
        ([node("Add", ["x", "w"], ["y"])], {}),
        ([node("Relu", ["nowhere"], ["y"])], {}),
        ([node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["y"])], {}),
        ([node("Relu", ["y"], ["z"]), node("Relu", ["z"], ["y"])], {}),
        ([node("MatMul", ["x", "w"], ["y"])], {"inputs": {"x": (2, 9)}}),
    ],
)
def test_every_refusal_says_what_to_do(nodes: list[onnx.NodeProto], options: dict[str, Any]) -> None:
    made = model(graph(nodes, [value("x", [2, 8])], [value("y", None)], [weight("w", 7, 5)]))
    with pytest.raises(BadModel) as caught:
        load(made, **options)
    assert caught.value.hint
    assert "\n" not in str(caught.value)

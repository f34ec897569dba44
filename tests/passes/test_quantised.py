"""Float operators between dequantise and quantise nodes become operators on quantised tensors."""

from __future__ import annotations

import pytest

from weighbridge import counts, memory
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Graph, Role
from weighbridge.passes import deploy, fold_quantisation

FLOAT, INT8, INT32, UINT8 = (DTYPES[name] for name in ("float32", "int8", "int32", "uint8"))


class Quantised(Builder):
    def scale(self) -> str:
        return self.stored(f"scale{len(self.tensors)}", (), FLOAT, Role.BUFFER)

    def zero(self, dtype=INT8) -> str:
        return self.stored(f"zero{len(self.tensors)}", (), dtype, Role.BUFFER)

    def quantise(self, x: str, name: str = "", dtype=INT8) -> str:
        return self.add("quantize", [("x", x), ("scale", self.scale()), ("zero_point", self.zero(dtype))], name=name)[0]

    def dequantise(self, x: str, name: str = "") -> str:
        return self.add("dequantize", [("x", x), ("scale", self.scale())], name=name)[0]

    def weight(self, name: str, shape: tuple[int, ...], dtype=INT8) -> str:
        return self.dequantise(self.stored(name, shape, dtype), f"{name}.real")

    def conv(self, x: str, name: str, channels: tuple[int, int] = (3, 3)) -> str:
        w, b = self.weight(f"{name}.w", (*channels[::-1], 1, 1)), self.weight(f"{name}.b", channels[1:], INT32)
        return self.add("conv", [("x", x), ("w", w), ("b", b)], name=name)[0]


def shown(graph: Graph) -> list[tuple[str, str, str]]:
    """(name, type of the first operand, type of the first output) of every node."""
    return [
        (n.name, graph.tensors[n.inputs[0]].dtype.name, graph.tensors[n.outputs[0]].dtype.name) for n in graph.nodes
    ]


def test_a_network_between_a_float_input_and_a_float_output() -> None:
    """Conv, ReLU, max pool, conv: the quantise node of the input and the dequantise node of the output are left."""
    builder = Quantised("qdq")
    x = builder.dequantise(builder.quantise(builder.input("x", (1, 3, 8, 8), FLOAT), "enter"))
    y = builder.conv(x, "conv1")
    (y,) = builder.add("relu", [("x", y)], name="relu")
    y = builder.dequantise(builder.quantise(y, "q1"), "d1")
    (y,) = builder.add("max_pool", [("x", y)], {"kernel": 2, "stride": 2}, name="pool")
    y = builder.dequantise(builder.quantise(y, "q2"), "d2")
    y = builder.conv(y, "conv2")
    y = builder.dequantise(builder.quantise(y, "q3"), "leave")
    held = builder.graph([y])
    graph = fold_quantisation(held)
    assert shown(graph) == [
        ("enter", "float32", "int8"),
        ("conv1", "int8", "int8"),
        ("relu", "int8", "int8"),
        ("pool", "int8", "int8"),
        ("conv2", "int8", "int8"),
        ("leave", "int8", "float32"),
    ]
    conv = graph.nodes[1]
    assert conv.inputs[1:] == ("conv1.w", "conv1.b")
    deployed = deploy(held)
    assert [node.name for node in deployed.nodes] == ["enter", "conv1", "pool", "conv2", "leave"]
    facts = counts.count(held, deployed)
    assert (facts.weights, facts.weight_bytes, facts.biases, facts.parameter_bytes) == (18, 18, 6, 18 + 4 * 6)
    assert facts.macs == 9 * 64 + 9 * 16
    # The image as floats (768 B) beside its quantised copy (192 B).
    assert memory.plan(deployed).peak_bytes["live"] == 768 + 192


def test_a_residual_in_which_both_branches_are_quantised() -> None:
    builder = Quantised("residual")
    shared = builder.quantise(builder.input("x", (1, 3, 4, 4), FLOAT), "enter")
    y = builder.conv(builder.dequantise(shared, "d1"), "conv")
    y = builder.dequantise(builder.quantise(y, "q1"), "d2")
    (z,) = builder.add("add", [("a", y), ("b", builder.dequantise(shared, "d3"))], name="sum")
    graph = fold_quantisation(builder.graph([builder.dequantise(builder.quantise(z, "q2"), "leave")]))
    assert [name for name, *_ in shown(graph)] == ["enter", "conv", "sum", "leave"]
    assert graph.nodes[2].inputs == (graph.nodes[1].outputs[0], shared)


def test_one_dequantise_node_for_several_readers_of_which_one_stays_float() -> None:
    builder = Quantised("mixed")
    x = builder.dequantise(builder.quantise(builder.input("x", (1, 3, 4, 4), FLOAT), "enter"), "shared")
    y = builder.dequantise(builder.quantise(builder.conv(x, "conv"), "q1"), "leave")
    (z,) = builder.add("softmax", [("x", x)], name="softmax")  # nothing quantises its result
    graph = fold_quantisation(builder.graph([y, z]))
    assert [name for name, *_ in shown(graph)] == ["enter", "shared", "conv", "leave", "softmax"]
    assert graph.nodes[2].inputs[0] == "enter"
    assert graph.nodes[4].inputs[0] == "shared"


def test_a_result_that_is_also_read_as_a_float_keeps_its_operator_float() -> None:
    builder = Quantised("escapes")
    x = builder.dequantise(builder.quantise(builder.input("x", (1, 3, 4, 4), FLOAT), "enter"), "d")
    y = builder.conv(x, "conv")
    q = builder.dequantise(builder.quantise(y, "q"), "leave")
    graph = fold_quantisation(builder.graph([q, y]))
    assert [name for name, *_ in shown(graph)] == ["enter", "d", "conv", "q", "leave"]
    assert graph.nodes[2].inputs == ("d", "conv.w", "conv.b")  # weight-only: stored tensors are read as they are


def test_two_quantise_nodes_of_one_result_become_one_tensor() -> None:
    builder = Quantised("twice")
    x = builder.dequantise(builder.quantise(builder.input("x", (1, 3, 4, 4), FLOAT), "enter"), "d")
    y = builder.conv(x, "conv")
    one = builder.conv(builder.dequantise(builder.quantise(y, "q1"), "d1"), "left")
    two = builder.conv(builder.dequantise(builder.quantise(y, "q2"), "d2"), "right")
    ends = [builder.dequantise(builder.quantise(end, f"q{end}"), f"d{end}") for end in (one, two)]
    graph = fold_quantisation(builder.graph(ends))
    assert [name for name, *_ in shown(graph)] == ["enter", "conv", "left", "right", "dleft", "dright"]
    assert graph.nodes[2].inputs[0] == graph.nodes[3].inputs[0] == "q1"


def test_quantise_nodes_of_different_types_keep_the_operator_float() -> None:
    builder = Quantised("types")
    x = builder.dequantise(builder.quantise(builder.input("x", (1, 3, 4, 4), FLOAT), "enter"), "d")
    y = builder.conv(x, "conv")
    ends = [builder.quantise(y, "q1"), builder.quantise(y, "q2", UINT8)]
    graph = fold_quantisation(builder.graph(ends))
    assert [name for name, *_ in shown(graph)] == ["enter", "d", "conv", "q1", "q2"]


def test_two_quantised_results_that_the_graph_gives_out_stay_two() -> None:
    builder = Quantised("two outputs")
    x = builder.dequantise(builder.quantise(builder.input("x", (1, 3, 4, 4), FLOAT), "enter"), "d")
    y = builder.conv(x, "conv")
    graph = fold_quantisation(builder.graph([builder.quantise(y, "q1"), builder.quantise(y, "q2")]))
    assert graph.outputs == ("q1", "q2")
    assert [name for name, *_ in shown(graph)] == ["enter", "d", "conv", "q1", "q2"]


def test_a_quantised_result_that_the_graph_gives_out_keeps_its_name() -> None:
    builder = Quantised("out")
    x = builder.dequantise(builder.quantise(builder.input("x", (1, 3, 4, 4), FLOAT), "enter"), "d")
    graph = fold_quantisation(builder.graph([builder.quantise(builder.conv(x, "conv"), "leave")]))
    assert graph.outputs == ("leave",)
    assert shown(graph) == [("enter", "float32", "int8"), ("conv", "int8", "int8")]


def test_an_operator_with_a_float_operand_beside_quantised_ones_stays_float() -> None:
    builder = Quantised("half")
    x = builder.input("x", (1, 3, 4, 4), FLOAT)
    y = builder.dequantise(builder.quantise(x, "enter"), "d")
    (z,) = builder.add("add", [("a", x), ("b", y)], name="sum")
    held = builder.graph([builder.quantise(z, "leave")])
    assert fold_quantisation(held) == held


def test_weights_that_are_transposed_before_use_stay_quantised() -> None:
    builder = Quantised("transposed")
    x = builder.input("x", (4, 6), FLOAT)
    (w,) = builder.add("transpose", [("x", builder.weight("w", (5, 6)))], name="turned")
    (y,) = builder.add("matmul", [("x", x), ("w", w)], name="product")
    held = builder.graph([y])
    graph = fold_quantisation(held)
    assert shown(graph) == [("turned", "int8", "int8"), ("product", "float32", "float32")]
    facts = counts.count(held, deploy(held))
    assert (facts.weights, facts.weight_bytes, facts.deployed_parameters) == (30, 30, 30)
    assert facts.nodes[0].read_bytes == 4 * 24 + 30


def test_weights_that_are_computed_with_are_dequantised_first() -> None:
    builder = Quantised("computed")
    x = builder.input("x", (4, 6), FLOAT)
    w = builder.weight("w", (6, 5))
    (turned,) = builder.add("transpose", [("x", w)], {"permutation": (0, 1)}, name="turned")
    (scaled,) = builder.add("mul", [("a", turned), ("b", builder.stored("gain", (), FLOAT))], name="scaled")
    (y,) = builder.add("matmul", [("x", x), ("w", scaled)], name="product")
    graph = fold_quantisation(builder.graph([y]))
    assert [name for name, *_ in shown(graph)] == ["w.real", "turned", "scaled", "product"]
    assert shown(graph)[1] == ("turned", "float32", "float32")


@pytest.mark.parametrize("operator", ["matmul", "linear", "conv"])
@pytest.mark.parametrize("function", ["", "relu"])
@pytest.mark.parametrize("quantised", [False, True])
def test_an_addition_behind_a_layer_is_quantised_with_it(operator: str, function: str, quantised: bool) -> None:
    """The layer, the vector that a node of its own adds, and a function are one operator on int8 tensors."""
    builder = Quantised("added")
    spatial = (1, 1) if operator == "conv" else ()
    x = builder.dequantise(builder.input("x", (2, 8, *spatial), INT8))
    w = builder.weight("w", (8, 8, *spatial))
    shape = (8, *spatial)
    b = builder.weight("b", shape, INT32) if quantised else builder.stored("b", shape, FLOAT)
    (y,) = builder.add(operator, [("x", x), ("w", w)], name="layer")
    (y,) = builder.add("add", [("a", b), ("b", y)])
    if function:
        (y,) = builder.add(function, [("x", y)])
    held = builder.graph([builder.quantise(y)])
    deployed = deploy(held)
    assert [node.name for node in deployed.nodes] == ["layer"]
    assert [deployed.tensors[tensor].dtype for tensor in (*deployed.inputs, *deployed.outputs)] == [INT8, INT8]
    assert dict(deployed.nodes[0].operands)["b"] == "b"
    facts = counts.count(held, deployed)
    assert (facts.parameters, facts.weights, facts.biases, facts.weight_bytes) == (72, 64, 8, 64)
    assert facts.parameter_bytes == 64 + 4 * 8
    assert facts.activations.total_bytes == 16 + 16

"""TensorFlow Lite's convolutions and matrix products: shapes and MACs by walking them, and the same layers from ONNX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.onnx import build as onnx_build
from tests.operators.execution import starts, walked_same
from tests.tflite.build import Op, Tensor, graph, load, model, one, op, operators, roles, shapes, tensor
from weighbridge import weigh
from weighbridge.graph import UNKNOWN, Graph, Role, Shape
from weighbridge.report import Report

SIZES = st.integers(1, 3)
SAME, VALID = 0, 1


def agrees(found: Graph, *stated: Shape) -> Report:
    """Its report, once its results are those that the file states."""
    assert shapes(found) == list(stated)
    assert not [note for note in found.notes if "contradict" in note]
    assert UNKNOWN not in operators(found)
    return weigh(found)


def walked(
    sizes: Sequence[int], taps: Sequence[int], stride: Sequence[int], dilation: Sequence[int], same: bool
) -> Shape:
    """How many windows there are along each axis, found by placing them."""
    counts = []
    for size, k, s, d in zip(sizes, taps, stride, dilation, strict=True):
        reach = d * (k - 1) + 1
        padded = size + sum(walked_same(size, reach, s, behind=True)) if same else size
        counts.append(len(starts(padded, reach, s)))
    return tuple(counts)


@st.composite
def convolutions(draw: st.DrawFn, rank: int = 2, groups: st.SearchStrategy[int] = SIZES) -> dict[str, Any]:
    def axes(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))

    return {
        "batch": draw(SIZES),
        "groups": draw(groups),
        "inputs": draw(SIZES),
        "outputs": draw(SIZES),
        "sizes": axes(1, 7),
        "taps": axes(1, 3),
        "stride": axes(1, 3),
        "dilation": axes(1, 2),
        "same": draw(st.booleans()),
        "bias": draw(st.booleans()),
    }


def options(layer: Mapping[str, Any], axes: str) -> dict[str, int]:
    named = {f"stride_{axis}": stride for axis, stride in zip(axes, layer["stride"], strict=True)}
    named |= {f"dilation_{axis}_factor": dilation for axis, dilation in zip(axes, layer["dilation"], strict=True)}
    return {"padding": SAME if layer["same"] else VALID, **named}


def laid_out(layer: Mapping[str, Any], name: str, weight: Shape, channels: int) -> tuple[list[Tensor], Op, Shape]:
    """Tensors and operator of a convolution whose weight has that shape."""
    output = walked(layer["sizes"], layer["taps"], layer["stride"], layer["dilation"], layer["same"])
    assume(all(output))
    stated = (layer["batch"], *output, channels)
    tensors = [
        tensor("x", (layer["batch"], *layer["sizes"], layer["groups"] * layer["inputs"])),
        tensor("w", weight, data=True),
        tensor("b", (channels,), data=True),
        tensor("y", stated),
    ]
    axes = "dhw" if name == "CONV_3D" else "hw"
    return tensors, op(name, f"x w {'b' if layer['bias'] else '-'}", "y", options(layer, axes)), stated


@settings(max_examples=60)
@given(convolutions())
def test_a_convolution_has_the_groups_that_its_channels_say(layer: dict[str, Any]) -> None:
    channels = layer["groups"] * layer["outputs"]
    weight = (channels, *layer["taps"], layer["inputs"])
    tensors, call, stated = laid_out(layer, "CONV_2D", weight, channels)
    facts = agrees(one(tensors, call), stated).facts
    assert facts.macs == math.prod(stated) * math.prod(layer["taps"]) * layer["inputs"]
    assert facts.parameters == math.prod(weight) + (channels if layer["bias"] else 0)


@settings(max_examples=60)
@given(convolutions())
def test_a_depthwise_convolution_has_as_many_filters_a_channel_as_its_multiplier(layer: dict[str, Any]) -> None:
    layer = {**layer, "inputs": 1}
    channels = layer["groups"] * layer["outputs"]
    tensors, call, stated = laid_out(layer, "DEPTHWISE_CONV_2D", (1, *layer["taps"], channels), channels)
    call = call._replace(options={**(call.options or {}), "depth_multiplier": layer["outputs"]})
    facts = agrees(one(tensors, call), stated).facts
    assert facts.macs == math.prod(stated) * math.prod(layer["taps"])


@settings(max_examples=40)
@given(convolutions(rank=3))
def test_a_convolution_of_volumes(layer: dict[str, Any]) -> None:
    channels = layer["groups"] * layer["outputs"]
    tensors, call, stated = laid_out(layer, "CONV_3D", (*layer["taps"], layer["inputs"], channels), channels)
    facts = agrees(one(tensors, call), stated).facts
    assert facts.macs == math.prod(stated) * math.prod(layer["taps"]) * layer["inputs"]


@settings(max_examples=60)
@given(convolutions(groups=st.just(1)), st.integers(2, 3), st.booleans())
def test_a_transposed_convolution_multiplies_every_input_value_once(
    layer: dict[str, Any], rank: int, known: bool
) -> None:
    """Its result is as large as the file says, in an operand or else in the result's own shape, if a convolution's of that size
    is the input.
    """
    batch, inputs, outputs = layer["batch"], layer["inputs"], layer["outputs"]
    output = (*layer["sizes"], 5)[:rank]
    taps, stride = (*layer["taps"], 2)[:rank], (*layer["stride"], 2)[:rank]
    sizes = walked(output, taps, stride, (1,) * rank, layer["same"])
    assume(all(sizes))
    stated = (batch, *output, outputs)
    flat = rank == 2
    weight = (outputs, *taps, inputs) if flat else (*taps, outputs, inputs)
    axes = "hw" if flat else "dhw"
    given = {f"stride_{axis}": s for axis, s in zip(axes, stride, strict=True)}
    tensors = [
        tensor("sizes", (len(stated),), "INT32", data=stated if known else None),
        tensor("w", weight, data=True),
        tensor("x", (batch, *sizes, inputs)),
        tensor("b", (outputs,), data=True),
        tensor("y", stated),
    ]
    name = "TRANSPOSE_CONV" if flat else "CONV_3D_TRANSPOSE"
    call = op(name, f"sizes w x {'b' if layer['bias'] else '-'}", "y", {"padding": int(not layer["same"]), **given})
    facts = agrees(one(tensors, call), stated).facts
    assert facts.macs == batch * math.prod(sizes) * inputs * outputs * math.prod(taps)


def test_a_transposed_convolution_of_another_batch_follows_its_padding() -> None:
    """Sizes of the result that only another input would make are not those of this one."""
    tensors = [
        tensor("sizes", (4,), "INT32"),
        tensor("w", (8, 3, 3, 4), data=True),
        tensor("x", (1, 5, 5, 4)),
        tensor("y", (1, 10, 10, 8)),
    ]
    call = op("TRANSPOSE_CONV", "sizes w x", "y", {"padding": SAME, "stride_h": 2, "stride_w": 2})
    made = model(graph(tensors, [call], "sizes x", "y"))
    assert shapes(load(made)) == [(1, 10, 10, 8)]
    assert shapes(load(made, inputs={"x": (2, 6, 7, 4)})) == [(2, 12, 14, 8)]


@pytest.mark.parametrize(
    ("x", "keeps", "rows", "stated"),
    [
        ((3, 8), False, 3, (3, 4)),
        ((8,), False, 1, (1, 4)),
        ((3, 2, 4), False, 3, (3, 4)),
        ((3, 5, 8), False, 15, (15, 4)),
        ((2, 3, 5, 8), True, 30, (2, 3, 5, 4)),
        ((1, 4, 2, 1), False, 1, (1, 4)),
        ((8,), True, 1, (4,)),
    ],
)
def test_a_fully_connected_layer_takes_rows_of_features(x: Shape, keeps: bool, rows: int, stated: Shape) -> None:
    tensors = [tensor("x", x), tensor("w", (4, 8), data=True), tensor("b", (4,), data=True), tensor("y", stated)]
    facts = agrees(one(tensors, op("FULLY_CONNECTED", "x w b", "y", {"keep_num_dims": keeps})), stated).facts
    assert (facts.macs, facts.parameters) == (rows * 32, 36)


@pytest.mark.parametrize(("x", "keeps"), [((3, 3), False), ((2, 4), True)])
def test_a_fully_connected_layer_of_other_features_stays_unknown(x: Shape, keeps: bool) -> None:
    tensors = [tensor("x", x), tensor("w", (4, 8), data=True), tensor("y", (3, 4))]
    (node,) = one(tensors, op("FULLY_CONNECTED", "x w -", "y", {"keep_num_dims": keeps})).nodes
    assert (node.operator, node.reason) == (UNKNOWN, f"an input of shape {x} under a weight for 8 features")


def test_shuffled_weights_take_a_copy_of_the_input() -> None:
    tensors = [
        tensor("x", (1, 16), "UINT8", scales=1),
        tensor("w", (4, 16), "UINT8", data=True, scales=1),
        tensor("b", (4,), "INT32", data=True),
        tensor("y", (1, 4), "INT16", scales=1),
        tensor("workspace", (1, 16), "UINT8"),
    ]
    found = one(tensors, op("FULLY_CONNECTED", "x w b", "y workspace", {"weights_format": 1}))
    assert agrees(found, (1, 4), (1, 16)).facts.macs == 64
    assert found.tensors[found.outputs[0]].dtype.name == "int16"


@settings(max_examples=60)
@given(st.lists(SIZES, max_size=2), SIZES, SIZES, SIZES, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_a_product_of_batches_is_numpys(
    lead: list[int], rows: int, k: int, columns: int, adj_x: bool, adj_y: bool, stored: bool, alone: bool
) -> None:
    x: Shape = (*lead, k, rows) if adj_x else (*lead, rows, k)
    w: Shape = (columns, k) if adj_y else (k, columns)
    w = w if alone else (*lead, *w)
    left, right = np.zeros(x), np.zeros(w)
    stated = ((np.swapaxes(left, -1, -2) if adj_x else left) @ (np.swapaxes(right, -1, -2) if adj_y else right)).shape
    tensors = [tensor("x", x), tensor("w", w, data=True if stored else None), tensor("y", stated)]
    found = one(tensors, op("BATCH_MATMUL", "x w", "y", {"adj_x": adj_x, "adj_y": adj_y}))
    facts = agrees(found, stated).facts
    assert facts.macs == math.prod(stated) * k
    assert facts.weights == (math.prod(w) if stored else 0)


FORMS: Mapping[str, tuple[tuple[str, int], tuple[str, int], str, str, str]] = {
    # input, weight (with their scales), bias, result, where the scales are
    "float": (("FLOAT32", 0), ("FLOAT32", 0), "FLOAT32", "FLOAT32", "by_operands"),
    "a tensor": (("INT8", 1), ("INT8", 1), "INT32", "INT8", "in_tensors"),
    "a channel": (("INT8", 1), ("INT8", 4), "INT32", "INT8", "in_tensors"),
    "unsigned": (("UINT8", 1), ("UINT8", 1), "INT32", "UINT8", "in_tensors"),
    "16 by 8": (("INT16", 1), ("INT8", 4), "INT64", "INT16", "in_tensors"),
    "4-bit weights": (("INT8", 1), ("INT4", 4), "INT32", "INT8", "in_tensors"),
    "hybrid": (("FLOAT32", 0), ("INT8", 4), "FLOAT32", "FLOAT32", "dynamic"),
    "hybrid, 4-bit": (("FLOAT32", 0), ("INT4", 4), "FLOAT32", "FLOAT32", "dynamic"),
}
BITS = {"FLOAT32": 32, "INT8": 8, "UINT8": 8, "INT16": 16, "INT32": 32, "INT64": 64, "INT4": 4}
LAYERS: Mapping[str, tuple[Shape, Shape, Shape, str, Mapping[str, Any]]] = {
    "CONV_2D": ((1, 5, 5, 3), (4, 3, 3, 3), (1, 5, 5, 4), "x w b", {"stride_h": 1, "stride_w": 1}),
    "DEPTHWISE_CONV_2D": ((1, 5, 5, 4), (1, 3, 3, 4), (1, 5, 5, 4), "x w b", {"stride_h": 1, "stride_w": 1}),
    "TRANSPOSE_CONV": ((1, 5, 5, 3), (4, 3, 3, 3), (1, 5, 5, 4), "sizes w x b", {"stride_h": 1, "stride_w": 1}),
    "FULLY_CONNECTED": ((1, 9), (4, 9), (1, 4), "x w b", {}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layer", LAYERS)
def test_every_form_of_quantisation(layer: str, form: str) -> None:
    (kind, scales), (weight_kind, weight_scales), bias, result, where = FORMS[form]
    x, w, y, operands, more = LAYERS[layer]
    tensors = [
        tensor("sizes", (4,), "INT32", data=(1, 5, 5, 4)),
        tensor("x", x, kind, scales=scales),
        tensor("w", w, weight_kind, data=True, scales=weight_scales),
        tensor("b", (4,), bias, data=True),
        tensor("y", y, result, scales=scales),
    ]
    if layer != "TRANSPOSE_CONV":
        tensors.pop(0)
    found = one(tensors, op(layer, operands, "y", more))
    facts = agrees(found, y).facts
    node = found.nodes[-1]
    assert (node.attributes["quantisation"], found.tensors[node.outputs[0]].dtype.name) == (where, result.lower())
    assert facts.parameter_bytes == (math.prod(w) * BITS[weight_kind] + 4 * BITS[bias]) // 8
    assert {name: role for name, role in roles(found).items() if name != "sizes"} == dict.fromkeys("wb", Role.PARAMETER)
    assert (facts.weights, facts.biases) == (math.prod(w), 4)


def test_half_precision_weights_are_dequantised_before_inference() -> None:
    tensors = [
        tensor("x", (1, 9)),
        tensor("half", (4, 9), "FLOAT16", data=True),
        tensor("w", (4, 9)),
        tensor("y", (1, 4)),
    ]
    calls = [op("DEQUANTIZE", "half", "w"), op("FULLY_CONNECTED", "x w -", "y")]
    facts = weigh(load(model(graph(tensors, calls, "x", "y")))).facts
    assert (facts.macs, facts.parameters, facts.parameter_bytes) == (36, 36, 72)


def test_scales_of_blocks_are_stored_too() -> None:
    tensors = [
        tensor("x", (1, 64)),
        tensor("w", (4, 64), "INT4", data=True, scales="scales", block_size=32),
        tensor("scales", (4, 2), "FLOAT16", data=True),
        tensor("y", (1, 4)),
    ]
    found = one(tensors, op("FULLY_CONNECTED", "x w -", "y", {"keep_num_dims": True}))
    facts = agrees(found, (1, 4)).facts
    assert found.nodes[0].attributes["quantisation"] == "dynamic"
    assert (facts.macs, facts.parameter_bytes, facts.constant_bytes) == (256, 128, 16)


def onnx_model(node: str, x: Shape, weight: Shape, **attributes: Any) -> Graph:
    made = onnx_build.graph(
        [onnx_build.node(node, ["x", "w", "b"] if node != "MatMul" else ["x", "w"], ["y"], **attributes)],
        [onnx_build.value("x", x)],
        [onnx_build.value("y", None)],
        [onnx_build.weight("w", *weight), onnx_build.weight("b", 4)],
    )
    return onnx_build.load(onnx_build.model(made))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            onnx_model("Conv", (1, 3, 9, 8), (4, 3, 3, 2), auto_pad="SAME_UPPER", strides=[2, 1]),
            ("CONV_2D", (1, 9, 8, 3), (4, 3, 2, 3), (1, 5, 8, 4), {"stride_h": 2, "stride_w": 1}),
        ),
        (
            onnx_model("Conv", (1, 4, 9, 8), (4, 1, 3, 2), group=4),
            (
                "DEPTHWISE_CONV_2D",
                (1, 9, 8, 4),
                (1, 3, 2, 4),
                (1, 7, 7, 4),
                {"padding": VALID, "stride_h": 1, "stride_w": 1},
            ),
        ),
        (onnx_model("Gemm", (5, 9), (4, 9), transB=1), ("FULLY_CONNECTED", (5, 9), (4, 9), (5, 4), {})),
    ],
    ids=["convolution", "depthwise", "linear"],
)
def test_the_same_layer_from_onnx_costs_the_same(
    theirs: Graph, ours: tuple[str, Shape, Shape, Shape, dict[str, int]]
) -> None:
    name, x, w, y, more = ours
    tensors = [tensor("x", x), tensor("w", w, data=True), tensor("b", (4,), data=True), tensor("y", y)]
    facts, wanted = agrees(one(tensors, op(name, "x w b", "y", more)), y).facts, weigh(theirs).facts
    assert (facts.macs, facts.work, facts.weights, facts.biases) == (
        wanted.macs,
        wanted.work,
        wanted.weights,
        wanted.biases,
    )


@pytest.mark.parametrize(
    ("name", "tensors", "reason"),
    [
        ("CONV_2D", [tensor("x", (3,)), tensor("w", (4, 3, 3, 3), data=True)], "dimensions under a window"),
        ("CONV_2D", [tensor("x", (1, 5, 5, 4)), tensor("w", (4, 3, 3, 3), data=True)], "channels"),
        ("CONV_2D", [tensor("x", (1, 5, 5, 3)), tensor("w", (4,), data=True)], "at least 3 dimensions"),
        ("CONV_2D", [tensor("x", (1, 5, 5, 3)), tensor("w", (4, 0, 3, 3), data=True)], "at least one tap"),
        ("DEPTHWISE_CONV_2D", [tensor("x", (1, 5, 5, 3)), tensor("w", (1, 3, 3, 4), data=True)], "groups"),
        ("FULLY_CONNECTED", [tensor("x", (1, 5)), tensor("w", (4, 5, 1), data=True)], "2 dimensions"),
        ("BATCH_MATMUL", [tensor("x", (1, 5)), tensor("w", (4, 5), data=True)], "features"),
    ],
)
def test_what_contradicts_itself_stays_with_the_reason(name: str, tensors: list[Tensor], reason: str) -> None:
    more = {"stride_h": 1, "stride_w": 1} if "CONV" in name else {}
    found = one([*tensors, tensor("y", (1, 4))], op(name, "x w", "y", more))
    assert operators(found) == [UNKNOWN]
    assert reason in found.nodes[0].reason

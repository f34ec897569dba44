"""Writes small_cnn.onnx: a residual network for 32 x 32 pictures, as an exporter would write it, its batch left open."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)
weights, nodes = [], []


def stored(name, *shape):
    weights.append(numpy_helper.from_array(random.random(shape, dtype=np.float32), name))
    return name


def convolution(name, x, inputs, outputs, kernel=3, stride=1, groups=1):
    """A convolution with batch normalisation behind it."""
    w = stored(f"{name}.weight", outputs, inputs // groups, kernel, kernel)
    settings = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": groups}
    nodes.append(helper.make_node("Conv", [x, w], [f"{name}/y"], f"/{name}/Conv", **settings))
    statistics = [stored(f"{name}.bn.{part}", outputs) for part in ("weight", "bias", "running_mean", "running_var")]
    nodes.append(
        helper.make_node(
            "BatchNormalization", [f"{name}/y", *statistics], [f"{name}/n"], f"/{name}/bn/BatchNormalization"
        )
    )
    return f"{name}/n"


def relu(name, x):
    nodes.append(helper.make_node("Relu", [x], [f"{name}/r"], f"/{name}/Relu"))
    return f"{name}/r"


stem = relu("stem", convolution("stem", "image", 3, 16))
inner = relu("block/conv1", convolution("block/conv1", stem, 16, 16))
inner = convolution("block/conv2", inner, 16, 16)
nodes.append(helper.make_node("Add", [inner, stem], ["block/sum"], "/block/Add"))
x = relu("block", "block/sum")
x = relu("down/depthwise", convolution("down/depthwise", x, 16, 16, stride=2, groups=16))
x = relu("down/pointwise", convolution("down/pointwise", x, 16, 32, kernel=1))
nodes.append(helper.make_node("GlobalAveragePool", [x], ["pooled"], "/pool/GlobalAveragePool"))
nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"], "/Flatten"))
head = [stored("head.weight", 10, 32), stored("head.bias", 10)]
nodes.append(helper.make_node("Gemm", ["flat", *head], ["scores"], "/head/Gemm", transB=1))

image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 32, 32])
scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 10])
graph = helper.make_graph(nodes, "small_cnn", [image], [scores], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
onnx.checker.check_model(model)
onnx.save(model, "small_cnn.onnx")

"""ONNX files to measure with: real architectures, random weights, built with ``onnx.helper``.

python benchmarks/onnx_models.py NAME FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["chain", "resnet50", "vit_b_16"]


class _Model:
    """Nodes and random float32 weights, named as exporters name them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[onnx.NodeProto] = []
        self.stored: list[onnx.TensorProto] = []
        self.random = numpy.random.default_rng(0)

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: object) -> str | list[str]:
        scope = f"/{self.name}/{operator}_{len(self.nodes)}"
        made = [f"{scope}_output_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, made, name=scope, **attributes))
        return made[0] if outputs == 1 else made

    def weight(self, *shape: int) -> str:
        values = self.random.standard_normal(shape, dtype=numpy.float32)
        name = f"{self.name}.{len(self.stored)}.weight"
        self.stored.append(numpy_helper.from_array(values, name))
        return name

    def integers(self, *values: int) -> str:
        name = f"{self.name}.{len(self.stored)}.constant"
        self.stored.append(numpy_helper.from_array(numpy.array(values, dtype=numpy.int64), name))
        return name

    def save(self, path: Path, input_shape: list[int], output: str, output_shape: list[int]) -> None:
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, input_shape)],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, output_shape)],
            self.stored,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path.write_bytes(model.SerializeToString())


def resnet50(path: Path) -> None:
    """ResNet-50 (He et al. 2015, v1.5) as exporters write it: batch norms folded, 25,530,472 parameters, 102 MB."""
    model = _Model("resnet50")

    def conv(x: str, inputs: int, outputs: int, kernel: int, stride: int = 1, relu: bool = True) -> str:
        pads = [kernel // 2] * 4
        weights = model.weight(outputs, inputs, kernel, kernel), model.weight(outputs)
        shape = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": pads, "dilations": [1, 1], "group": 1}
        y = model.node("Conv", x, *weights, **shape)
        return model.node("Relu", y) if relu else y

    x = model.node("MaxPool", conv("input", 3, 64, 7, 2), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = conv(conv(x, channels, width, 1), width, width, 3, stride)
            y = conv(y, width, 4 * width, 1, relu=False)
            short = x if block else conv(x, channels, 4 * width, 1, stride, relu=False)
            x, channels = model.node("Relu", model.node("Add", y, short)), 4 * width
    x = model.node("Flatten", model.node("GlobalAveragePool", x), axis=1)
    y = model.node("Gemm", x, model.weight(1000, 2048), model.weight(1000), transB=1)
    model.save(path, [1, 3, 224, 224], y, [1, 1000])


def vit_b_16(path: Path) -> None:
    """ViT-B/16 (Dosovitskiy et al. 2020) as exporters write it: attention and GELU taken apart, 86,567,656 parameters, 346 MB."""
    model = _Model("vit_b_16")
    width, heads, tokens = 768, 12, 197

    def linear(x: str, inputs: int, outputs: int) -> str:
        return model.node("Add", model.weight(outputs), model.node("MatMul", x, model.weight(inputs, outputs)))

    def norm(x: str) -> str:
        return model.node("LayerNormalization", x, model.weight(width), model.weight(width), axis=-1, epsilon=1e-6)

    def attention(x: str) -> str:
        parts = model.node("Split", linear(x, width, 3 * width), outputs=3, axis=-1)
        query, key, value = (
            model.node("Transpose", model.node("Reshape", part, split_heads), perm=[0, 2, 1, 3]) for part in parts
        )
        scores = model.node("MatMul", query, model.node("Transpose", key, perm=[0, 1, 3, 2]))
        mixed = model.node("MatMul", model.node("Softmax", model.node("Mul", scores, scale), axis=-1), value)
        joined = model.node("Reshape", model.node("Transpose", mixed, perm=[0, 2, 1, 3]), join_heads)
        return linear(joined, width, width)

    def gelu(x: str) -> str:
        erf = model.node("Erf", model.node("Div", x, scale))
        return model.node("Mul", model.node("Mul", x, model.node("Add", erf, scale)), scale)

    x = model.node(
        "Conv", "input", model.weight(width, 3, 16, 16), model.weight(width), kernel_shape=[16, 16], strides=[16, 16]
    )
    batch = model.node("Gather", model.node("Shape", "input"), model.integers(0), axis=0)
    flat = model.node("Concat", batch, model.integers(width), model.integers(tokens - 1), axis=0)
    x = model.node("Transpose", model.node("Reshape", x, flat), perm=[0, 2, 1])
    first = model.node(
        "Expand", model.weight(1, 1, width), model.node("Concat", batch, model.integers(1, width), axis=0)
    )
    x = model.node("Add", model.node("Concat", first, x, axis=1), model.weight(1, tokens, width))
    split_heads = model.node("Concat", batch, model.integers(tokens, heads, width // heads), axis=0)
    join_heads = model.node("Concat", batch, model.integers(tokens, width), axis=0)
    scale = model.node("Constant", value=helper.make_tensor("scale", TensorProto.FLOAT, [], [0.125]))
    for _ in range(12):
        x = model.node("Add", attention(norm(x)), x)
        y = linear(gelu(linear(norm(x), width, 4 * width)), 4 * width, width)
        x = model.node("Add", x, y)
    x = model.node(
        "Gather", norm(x), model.node("Constant", value=helper.make_tensor("zero", TensorProto.INT64, [], [0])), axis=1
    )
    y = model.node("Gemm", x, model.weight(1000, width), model.weight(1000), transB=1)
    model.save(path, [1, 3, 224, 224], y, [1, 1000])


def chain(path: Path, nodes: int) -> None:
    """``nodes`` nodes of a narrow residual network: convolution, batch norm, rectifier, sum; its own weights at each."""
    model = _Model("chain")
    x = model.node("Conv", "input", model.weight(8, 3, 3, 3), kernel_shape=[3, 3], pads=[1] * 4)
    while len(model.nodes) < nodes:
        y = model.node("Conv", x, model.weight(8, 8, 3, 3), kernel_shape=[3, 3], pads=[1] * 4)
        y = model.node("BatchNormalization", y, *(model.weight(8) for _ in range(4)))
        x = model.node("Relu", model.node("Add", y, x))
    del model.nodes[nodes:]
    model.save(path, [1, 3, 32, 32], model.nodes[-1].output[0], [1, 8, 32, 32])


def main(name: str, path: Path) -> None:
    """Writes the model of that name: resnet50, vit_b_16, or chain_N."""
    kind, _, nodes = name.rpartition("_")
    if kind == "chain":
        chain(path, int(nodes))
    else:
        {"resnet50": resnet50, "vit_b_16": vit_b_16}[name](path)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

"""An ONNX file whose order of execution could be better: branches that widen and end narrow, a layer of all branches at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 8
GIVEN, WIDE = 2, 16


def branches(count: int = 4) -> onnx.ModelProto:
    """``count`` branches of two layers, joined at the end; the weights are numbers that tell the branches apart."""
    numbers = np.random.default_rng(0)
    nodes, weights, ends = [], [], ["x"] * count
    for step, (given, channels) in enumerate(((GIVEN, WIDE), (WIDE, 1))):
        for branch in range(count):
            values = numbers.standard_normal((channels, given, 1, 1)).astype(np.float32)
            weights.append(numpy_helper.from_array(values, f"w{step}_{branch}"))
            made = f"t{step}_{branch}"
            nodes.append(helper.make_node("Conv", [ends[branch], f"w{step}_{branch}"], [made], name=f"conv{made}"))
            ends[branch] = made
    nodes.append(helper.make_node("Concat", ends, ["y"], name="join", axis=1))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, GIVEN, SIDE, SIDE))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, count, SIDE, SIDE))
    graph = helper.make_graph(nodes, "wide", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def peaks(count: int = 4) -> tuple[int, int]:
    """The peak as written, all wide maps with the input, and of the best order: one with the input and the ends, or all ends joined."""
    area = SIDE * SIDE * 4
    return (count * WIDE + GIVEN) * area, max(WIDE + GIVEN + count - 1, 2 * count) * area


def write(path: Path, count: int = 4) -> Path:
    onnx.save(branches(count), path)
    return path

"""Measurements that nobody took, and small networks that can be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from weighbridge.measure.conditions import Conditions, Hardware, InputShape
from weighbridge.measure.record import Measurement
from weighbridge.measure.summary import summary

CONDITIONS = Conditions(
    hardware=Hardware("a processor", "x86_64", 2, 4, 2**33, "Linux 6", virtual=False),
    runtime="onnxruntime",
    version="1.20.0",
    mode="CPUExecutionProvider",
    precision="float32",
    batch=1,
    inputs=(InputShape("x", (1, 3, 16, 16), "float32", "normal numbers"),),
    threads=1,
    libraries={"numpy": "2.0"},
)


def measurement(
    milliseconds: float = 10.0, *, day: int = 1, conditions: dict[str, Any] | None = None, **changes: Any
) -> Measurement:
    """One of 60 samples about a median of so many milliseconds, in twelve rounds of five."""
    chance = Random(milliseconds)
    samples = tuple(milliseconds / 1e3 * (1 + 0.001 * chance.uniform(-1, 1)) for _ in range(60))
    made = Measurement(
        tool="weighbridge 0",
        taken_at=f"2026-01-{day:02}T00:00:00+00:00",
        name="net",
        source="net.onnx",
        sha256="a" * 64,
        conditions=CONDITIONS._replace(**(conditions or {})),
        warm_up_s=(0.02,),
        samples_s=samples,
        runs_per_sample=1,
        wanted=0.01,
        summary=summary(samples),
        load=None,
        noise=(),
        rounds=tuple(range(0, 60, 5)),
    )
    return replace(made, **changes)


def write_network(path: str, channels: int = 4, batch: int | str = "N", convolutions: int = 1) -> str:
    """A convolution of a small image, several times, with a ReLU behind; the batch is open unless it is given."""
    nodes, weights, last, width = [], [], "x", 3
    for place in range(convolutions):
        weights.append(onnx.numpy_helper.from_array(np.zeros((channels, width, 3, 3), np.float32), f"w{place}"))
        nodes.append(helper.make_node("Conv", [last, f"w{place}"], [f"c{place}"], pads=[1, 1, 1, 1]))
        last, width = f"c{place}", channels
    nodes.append(helper.make_node("Relu", [last], ["y"]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 16, 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, channels, 16, 16])
    graph = helper.make_graph(nodes, "tiny", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def refused_network(path: str) -> str:
    """One that says it has a kernel of a domain that the runtime does not know."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph([helper.make_node("Unheard", ["x"], ["y"], domain="nobody")], "odd", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("nobody", 1)]
    Path(path).write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    return path

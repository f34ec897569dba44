"""Small ONNX models for tests, and the graph that comes of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from weighbridge.frontends.from_onnx import load_onnx
from weighbridge.graph import Graph, Role, Shape

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL

node = helper.make_node


def value(name: str, shape: Sequence[int | str | None] | None, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def tensor(name: str, data: Any, dtype: str = "int64") -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(data, dtype), name)


def weight(name: str, *shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.zeros(shape, "float32"), name)


def graph(
    nodes: Iterable[onnx.NodeProto],
    inputs: Iterable[onnx.ValueInfoProto],
    outputs: Iterable[onnx.ValueInfoProto],
    stored: Iterable[onnx.TensorProto] = (),
    **more: Any,
) -> onnx.GraphProto:
    return helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(stored), **more)


def model(made: onnx.GraphProto, opset: int = 17, ir_version: int = 8, **more: Any) -> onnx.ModelProto:
    imports = [helper.make_opsetid("", opset), *more.pop("opset_imports", [])]
    return helper.make_model(made, opset_imports=imports, ir_version=ir_version, **more)


def load(made: onnx.ModelProto, **sizes: Any) -> Graph:
    """The graph of a model, written to a file and read back as a user's would be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(made.SerializeToString())
        return load_onnx(path, **sizes)


def shapes(found: Graph) -> list[Shape | None]:
    """The shapes of the outputs."""
    return [found.tensors[name].shape for name in found.outputs]


def roles(found: Graph) -> Mapping[str, Role]:
    """The roles of the stored tensors by name."""
    return {one.id: one.role for one in found.stored()}


def operators(found: Graph) -> list[str]:
    return [one.operator for one in found.nodes]

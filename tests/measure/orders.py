"""Small models, and orders to run them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weighbridge.measure.runners.runner import Order

Shapes = Mapping[str, tuple[tuple[int, ...], str]]


def order(source: str | Path, shapes: Shapes | None = None, mode: str = "", **choices: Any) -> Order:
    return Order(str(source), mode, 1, shapes or {}, {}, choices)


def onnx_file(path: Path, rows: int | str = 4, width: int = 16) -> Path:
    """A matrix product and what is above 0 of it, for so many ``rows``."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper

    weights = helper.make_tensor("w", TensorProto.FLOAT, [width, width], np.ones((width, width), "f4").ravel())
    there = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, width])
    back = helper.make_tensor_value_info("z", TensorProto.FLOAT, [rows, width])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    graph = helper.make_graph(nodes, "product", [there], [back], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    assert onnx.__version__
    return path


def endless_file(path: Path) -> Path:
    """Adds 1 to ``x`` a million million times, which no test waits for."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    def value(name: str, kind: int, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    steps = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["at", "one"], ["next"])]
    takes = [value("i", TensorProto.INT64), value("go", TensorProto.BOOL), value("at", TensorProto.FLOAT, 1)]
    gives = [value("on", TensorProto.BOOL), value("next", TensorProto.FLOAT, 1)]
    body = helper.make_graph(steps, "step", takes, gives, [numpy_helper.from_array(np.ones(1, "f4"), "one")])
    loop = helper.make_node("Loop", ["times", "yes", "x"], ["y"], body=body)
    held = [numpy_helper.from_array(np.array(10**12), "times"), numpy_helper.from_array(np.array(True), "yes")]
    graph = helper.make_graph(
        [loop], "endless", [value("x", TensorProto.FLOAT, 1)], [value("y", TensorProto.FLOAT, 1)], held
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path

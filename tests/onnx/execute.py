"""One operator of any domain executed by ONNX Runtime: the oracle for operators that onnx's own cases lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from weighbridge.dtypes import DTYPES, DType
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import Shape

onnxruntime.set_default_logger_severity(4)


class Single(NamedTuple):
    """A call of one operator: operands as arrays, attributes, how many results."""

    op: str
    arrays: Sequence[np.ndarray]
    attributes: Mapping[str, Any]
    results: int = 1
    domain: str = "ai.onnx.ml"
    version: int = 3


def dtype_number(array: np.ndarray) -> int:
    return TensorProto.STRING if array.dtype.kind in "UO" else helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(call: Single, opset: int = 18) -> onnx.ModelProto:
    """A model of this one call; of its results it states nothing."""
    names = [f"i{index}" for index in range(len(call.arrays))]
    results = [f"o{index}" for index in range(call.results)]
    node = helper.make_node(call.op, names, results, name="node", domain=call.domain, **call.attributes)
    inputs = [
        helper.make_tensor_value_info(name, dtype_number(array), array.shape)
        for name, array in zip(names, call.arrays, strict=True)
    ]
    graph = helper.make_graph([node], "one", inputs, [onnx.ValueInfoProto(name=name) for name in results])
    opsets = {"": opset, call.domain: call.version}
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def execute(call: Single) -> list[Any]:
    """What ONNX Runtime computes."""
    session = onnxruntime.InferenceSession(model_of(call).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {f"i{index}": array for index, array in enumerate(call.arrays)})


def types_of(results: Sequence[Any]) -> list[tuple[Shape | None, DType]]:
    """Shapes and element types of computed results; of what is no tensor neither."""
    return [
        (one.shape, dtype_of(dtype_number(one))) if isinstance(one, np.ndarray) else (None, DTYPES["opaque"])
        for one in results
    ]

"""One operator of any domain executed by ONNX Runtime: the oracle for operators that onnx's own cases lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from weighbridge.dtypes import DTYPES, DType
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import Shape

onnxruntime.set_default_logger_severity(4)


class Single(NamedTuple):
    """A call of one operator: operands as arrays (None for an absent one), attributes, how many results, or which.

    ``stored`` are the positions of operands that the model stores.
    """

    op: str
    arrays: Sequence[np.ndarray | None]
    attributes: Mapping[str, Any]
    results: int | Sequence[int] = 1
    domain: str = "ai.onnx.ml"
    version: int = 3
    stored: Sequence[int] = ()

    @property
    def fed(self) -> dict[str, np.ndarray]:
        """What the model is fed, by name."""
        arrays = enumerate(self.arrays)
        return {f"i{place}": array for place, array in arrays if array is not None and place not in self.stored}


def dtype_number(array: np.ndarray) -> int:
    return TensorProto.STRING if array.dtype.kind in "UO" else helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(call: Single, opset: int = 18) -> onnx.ModelProto:
    """A model of this one call; of its results it states nothing."""
    names = ["" if array is None else f"i{index}" for index, array in enumerate(call.arrays)]
    places = range(call.results) if isinstance(call.results, int) else call.results
    results = [f"o{index}" if index in places else "" for index in range(max(places) + 1)]
    node = helper.make_node(call.op, names, results, name="node", domain=call.domain, **call.attributes)
    inputs = [helper.make_tensor_value_info(name, dtype_number(array), array.shape) for name, array in call.fed.items()]
    stored = [numpy_helper.from_array(np.asarray(call.arrays[place]), f"i{place}") for place in call.stored]
    made = [onnx.ValueInfoProto(name=name) for name in results if name]
    graph = helper.make_graph([node], "one", inputs, made, stored)
    opsets = {"": opset, call.domain: call.version}
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def execute(call: Single) -> list[Any]:
    """What ONNX Runtime computes."""
    return run(model_of(call), call.fed)


def run(model: onnx.ModelProto, fed: Mapping[str, np.ndarray], library: str = "") -> list[Any]:
    """What ONNX Runtime computes with a model, with the operators of another library where its path is given."""
    options = onnxruntime.SessionOptions()
    if library:
        options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(fed))


def types_of(results: Sequence[Any]) -> list[tuple[Shape | None, DType]]:
    """Shapes and element types of computed results; of what is no tensor neither."""
    return [
        (one.shape, dtype_of(dtype_number(one))) if isinstance(one, np.ndarray) else (None, DTYPES["opaque"])
        for one in results
    ]

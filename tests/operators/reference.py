"""ONNX's reference implementation, an oracle that executes one operator on arrays."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator


def run(operator, arrays, outputs=1, opset=22, **attributes):
    """The outputs of one ONNX operator on these arrays (None for an absent operand)."""
    names = ["" if array is None else f"i{index}" for index, array in enumerate(arrays)]
    results = [f"o{index}" for index in range(outputs)]
    node = helper.make_node(operator, names, results, **attributes)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype), np.shape(array))
        for name, array in zip(names, arrays, strict=True)
        if name
    ]
    declared = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in results]
    model = helper.make_model(
        helper.make_graph([node], "one", inputs, declared), opset_imports=[helper.make_opsetid("", opset)]
    )
    feeds = {name: np.asarray(array) for name, array in zip(names, arrays, strict=True) if name}
    return ReferenceEvaluator(model).run(None, feeds)

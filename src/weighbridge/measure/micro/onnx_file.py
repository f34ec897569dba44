"""Networks of one operator as ONNX files, and products of matrices."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from weighbridge.measure.micro.record import Spec
from weighbridge.measure.micro.values import inputs, weights

__all__ = ["PRODUCTS", "product_written", "written"]

_TYPES: Final = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
_OPSET: Final = 20
_LATER: Final = {"GroupNormalization": 21, "Attention": 23}
"""Operators that are found in later sets only."""
_FILE: Final = 10
PRODUCTS: Final = {
    "float64": ("MatMul", "float64", "float64", "float64"),
    "float32": ("MatMul", "float32", "float32", "float32"),
    "float16": ("MatMul", "float16", "float16", "float16"),
    "int8": ("MatMulInteger", "uint8", "int8", "int32"),
}
"""By precision the operator, and the types of what it takes, of what is stored, and of what it puts out."""


def written(spec: Spec, folder: Path) -> Path:
    """The file of ``spec``, written into ``folder``; its weights are in it."""
    names = tuple(inputs(spec))
    given = [helper.make_tensor_value_info(name, _TYPES[kind], shape) for name, (shape, kind) in inputs(spec).items()]
    back = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(list(_nodes(spec, names)), "operator", given, [back], list(_stored(spec)))
    sets = [helper.make_opsetid("", _LATER.get(spec.operator, _OPSET))]
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=sets, ir_version=_FILE))
    path = folder / f"{spec.operator.lower()}-{zlib.crc32(spec.name.encode()):08x}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _nodes(spec: Spec, names: tuple[str, ...]) -> Iterator[Any]:
    before, *others = names
    for link in range(spec.chain):
        stored = [f"w{link}.{place}" for place in range(len(spec.weights))]
        whole = [f"n{place}" for place in range(len(spec.numbers))]
        last = link == spec.chain - 1
        after = "y" if last else f"t{link}"
        taken = [before, *others, *stored, *whole]
        if spec.operator == "Gather":
            taken = [*stored, before]
        attributes: dict[str, Any] = dict(spec.attributes)
        yield helper.make_node(spec.operator, taken, [after], f"{spec.operator.lower()}{link}", **attributes)
        before = after


def _stored(spec: Spec) -> Iterator[Any]:
    for link, arrays in enumerate(weights(spec)):
        for place, array in enumerate(arrays):
            yield numpy_helper.from_array(array, f"w{link}.{place}")
    for place, numbers in enumerate(spec.numbers):
        yield helper.make_tensor(f"n{place}", TensorProto.INT64, [len(numbers)], numbers)


def product_written(precision: str, size: int, folder: Path) -> Path:
    """The file of a product of two square matrices, the second one stored, as weights are; of int8 the first is uint8."""
    operator, taken, stored, made = PRODUCTS[precision]
    values = np.random.default_rng(size).standard_normal((size, size))
    weight = values if stored == "float64" else (values * 10 if stored == "int8" else values).astype(stored)
    kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(one)) for one in (taken, made)]
    there, back = (
        helper.make_tensor_value_info(name, kind, [size, size]) for name, kind in zip("ay", kinds, strict=True)
    )
    nodes = [helper.make_node(operator, ["a", "b"], ["y"])]
    graph = helper.make_graph(nodes, "product", [there], [back], [numpy_helper.from_array(weight, "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_FILE)
    path = folder / f"product-{precision}-{size}.onnx"
    path.write_bytes(model.SerializeToString())
    return path

"""ONNX nodes whose results are stored: constants in all their forms, and the shapes of tensors whose sizes are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_arrays import Array
from weighbridge.frontends.onnx_scope import Record, Scope
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.frontends.onnx_types import OPAQUE
from weighbridge.graph import MAX_DIMENSION, TensorType

if TYPE_CHECKING:
    from weighbridge.frontends.onnx_capture import Capture

__all__ = ["constant", "constant_of_shape", "known_shape"]


def _result(call: Foreign, record: Record) -> str:
    if not record.outputs:
        raise BadModel(f"this {record.op} has no result", where=call.name, hint="the file is damaged: export it again")
    return record.outputs[0]


def constant(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """Every form of Constant is a stored tensor."""
    name = _result(call, record)
    for key, value in call.attributes.items():
        if key == "value":
            capture.store(scope, name, value, "Constant")
        elif key == "sparse_value":
            capture.store_sparse(scope, value, name, "Constant")
        elif key in _CONSTANT_TYPES:
            shape, values = ((len(value),), value) if isinstance(value, tuple) else ((), (value,))
            capture.hold(scope, name, Array(_CONSTANT_TYPES[key], shape, values), "Constant", record.proto)
        else:
            continue
        return
    raise BadModel("the constant has no value", where=call.name, hint="the file is damaged")


_CONSTANT_TYPES = {
    "value_float": "float32",
    "value_floats": "float32",
    "value_int": "int64",
    "value_ints": "int64",
    "value_string": "string",
    "value_strings": "string",
}


def constant_of_shape(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """A stored tensor where its shape is known; many files keep weights this way."""
    sizes = call.sizes(0)
    if sizes is None or any(not 0 <= size <= MAX_DIMENSION for size in sizes):
        capture.translate(scope, call, record)
        return
    value = call.get("value")
    dtype = DTYPES["float32"] if value is None else dtype_of(value.data_type)
    stored = capture.place(scope, _result(call, record), TensorType(sizes, dtype), "ConstantOfShape")
    call.outputs = (stored,)
    capture.values.make(call, scope.frame.builder.tensors)


def known_shape(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """The shape, or its product, of a tensor whose sizes are known is a constant."""
    kind = call.type(0)
    if kind is None or kind.dtype is OPAQUE:
        capture.translate(scope, call, record)
    elif record.op == "Size":
        capture.hold(scope, _result(call, record), Array("int64", (), (kind.elements,)), "Size")
    else:
        shape = kind.shape[call.get("start", 0) : call.get("end")]
        capture.hold(scope, _result(call, record), Array("int64", (len(shape),), shape), "Shape")

"""Types as an ONNX file declares them, with their open dimensions."""

from __future__ import annotations

from typing import Any

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadModel
from weighbridge.frontends.declared import Declared
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import MAX_DIMENSION

__all__ = ["OPAQUE", "declared_type"]

OPAQUE = DTYPES["opaque"]


def declared_type(proto: Any, where: str) -> Declared:
    """A TypeProto.  An optional tensor is declared as the tensor that it may hold."""
    kind = proto.WhichOneof("value")
    while kind == "optional_type":
        proto = proto.optional_type.elem_type
        kind = proto.WhichOneof("value")
    if kind == "map_type":
        return Declared(declared_type(proto.map_type.value_type, where).dtype, None, False)
    if kind != "tensor_type":
        return Declared(OPAQUE, None, False)
    tensor = proto.tensor_type
    dtype = dtype_of(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Declared(dtype, None)
    return Declared(dtype, tuple(_dimension(size, where) for size in tensor.shape.dim))


def _dimension(proto: Any, where: str) -> int | str | None:
    """A size, a symbol, or None: many exporters write an open dimension as -1."""
    size = proto.dim_value
    if size > 0:
        if size > MAX_DIMENSION:
            raise BadModel(f"a dimension of {size}", where=where, hint="the file is damaged")
        return int(size)
    if size < -1:
        raise BadModel(f"a dimension of {size}", where=where, hint="the file is damaged")
    if proto.dim_param:
        return str(proto.dim_param)
    return 0 if size == 0 and proto.HasField("dim_value") else None

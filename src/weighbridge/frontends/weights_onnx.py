"""The values that an ONNX file stores, in it or in files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

import numpy as np

from weighbridge.dtypes import DType
from weighbridge.errors import BadModel
from weighbridge.frontends.from_onnx import Stored as StoredGraph
from weighbridge.frontends.onnx_model import OnnxModel
from weighbridge.frontends.onnx_tensors import decode, dims_of, dtype_of, is_external
from weighbridge.frontends.onnx_wire import payload_note, stored_payload
from weighbridge.frontends.weights import Stored, Values
from weighbridge.frontends.weights_values import decoded, from_varints, is_decodable
from weighbridge.graph import Tensor

__all__ = ["values_of"]

_FLOAT, _INT32, _INT64, _RAW, _DOUBLE, _UINT64 = 4, 5, 7, 9, 10, 11
_VARINT: Final = 0
_ZERO_POINTS: Final[Mapping[str, Mapping[int, int]]] = {
    "DequantizeLinear": {0: 2},
    "QLinearConv": {0: 2, 3: 5},
    "QLinearMatMul": {0: 2, 3: 5},
    "ConvInteger": {0: 2, 1: 3},
    "MatMulInteger": {0: 2, 1: 3},
    "DynamicQuantizeMatMul": {1: 3},
    "MatMulIntegerToFloat": {0: 4, 1: 5},
    "QGemm": {0: 2, 3: 5},
}
"""By operator: the operand that is the zero point of another one (ONNX operators; com.microsoft contrib operators)."""


def values_of(found: StoredGraph) -> Values:
    """The values of the parameters of a graph that was read from an ONNX file."""
    zeros = _zero_points(found)
    parameters = {tensor.id: tensor for tensor in found.graph.stored_everywhere()}
    return {
        name: _stored(found.model, message, parameters[name], zeros.get(name, 0))
        for name, message in found.messages.items()
        if name in parameters and hasattr(message, "data_type")
    }


def _stored(model: OnnxModel, message: Any, tensor: Tensor, zero: int | None) -> Stored:
    held = dtype_of(message.data_type)
    is_packed = tensor.dtype.bits != held.bits  # integers in bytes, whose blocks have zero points of their own
    dtype = tensor.dtype if is_packed else held
    if not is_decodable(dtype):
        return Stored(None, reason=f"values of {dtype.name} are not read")
    elements = tensor.elements or 0
    if elements and not _has_values(message):
        return Stored(None, reason="its values were taken out of the file")

    def read() -> Any:
        try:
            return decoded(_payload(model, message, held), dtype, elements)
        except BadModel as error:
            raise error.at(model.path.name if error.where else f"{model.path.name}: {message.name}") from None

    return Stored(read, None if is_packed else zero)


def _has_values(message: Any) -> bool:
    typed = (message.float_data, message.double_data, message.int32_data, message.int64_data, message.uint64_data)
    return is_external(message) or payload_note(message) is not None or bool(message.raw_data) or any(map(len, typed))


def _payload(model: OnnxModel, message: Any, dtype: DType) -> bytes:
    """The values as little-endian bytes, wherever and in whatever field they are."""
    if is_external(message):
        size = dtype.bytes_of(prod(dims_of(message)))
        assert size is not None  # of every type that can be decoded
        return model.external_bytes(message, size, "its values are to be read")
    if payload_note(message) is None:
        return bytes(message.raw_data) or _kept(message, dtype)
    parts: dict[int, list[bytes]] = {}
    for number, wire, content in stored_payload(model.path, message):
        parts.setdefault(number, []).append(_as_bytes(number, wire, content, dtype))
    if len(parts) != 1:
        raise BadModel("its values stand in several fields", hint="the file is damaged: export it again")
    ((_, found_parts),) = parts.items()
    return b"".join(found_parts)


def _kept(message: Any, dtype: DType) -> bytes:
    """The values of a small tensor in a typed field."""
    values = decode(message)
    if values is None:
        return b""
    kind = {"float": "f", "int": "i", "uint": "u", "bool": "u"}.get(dtype.kind)
    if dtype.name == "bfloat16":
        return (np.array(values[1], np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    if kind is None or dtype.block_bits is None:
        raise BadModel(f"values of {dtype.name} are not read")
    if dtype.block_bits < 8:
        return bytes(value & 0xFF for value in message.int32_data)
    if kind == "f":
        return np.array(values[1], f"<f{dtype.block_bits // 8}").tobytes()
    # as of large tensors, what is above the width is cut off
    above = 1 << dtype.block_bits
    return b"".join((int(value) % above).to_bytes(dtype.block_bits // 8, "little") for value in values[1])


def _as_bytes(number: int, wire: int, content: bytes, dtype: DType) -> bytes:
    """The content of a payload field as its values' bytes: varints are integers, or the bits of narrower types."""
    if number in (_RAW, _FLOAT, _DOUBLE):
        return content
    if wire == _VARINT or number in (_INT32, _INT64, _UINT64):
        return from_varints(content, max(1, (dtype.block_bits or 8) // 8))
    raise BadModel("its values are no numbers", hint="the file is damaged: export it again")


def _zero_points(found: StoredGraph) -> dict[str, int | None]:
    """By the names of stored tensors: the value that stands for 0; None where channels have different ones or none is known."""
    zeros: dict[str, int | None] = {}
    initialisers = {tensor.name: tensor for tensor in found.model.proto.graph.initializer}
    for node in found.model.proto.graph.node:
        if node.op_type == "Constant" and node.output:
            initialisers.update((node.output[0], one.t) for one in node.attribute if one.HasField("t"))
    for node in found.model.proto.graph.node:
        for operand, point in _ZERO_POINTS.get(node.op_type, {}).items():
            name = node.input[operand] if operand < len(node.input) else ""
            if name in initialisers and point < len(node.input) and node.input[point]:
                value = _one_value(found.model, initialisers.get(node.input[point]))
                zeros[name] = value if zeros.get(name, value) == value else None
    return zeros


def _one_value(model: OnnxModel, message: Any) -> int | None:
    values = None if message is None else model.integers(message)
    distinct = set() if values is None else set(values[1])
    return int(distinct.pop()) if len(distinct) == 1 else None

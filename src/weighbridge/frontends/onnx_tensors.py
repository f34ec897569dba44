"""Values and types of TensorProtos, as plain Python: no numpy, nothing larger than what the scan kept.

Source of the encodings: the comments of ``TensorProto`` in onnx-ml.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from math import prod
from typing import Any

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_wire import payload_note
from weighbridge.graph import MAX_DIMENSION, Shape, TensorType

__all__ = ["Value", "check_payload", "decode", "dims_of", "dtype_of", "is_external", "type_of", "unpack"]

Value = bool | int | float

_NAMES = {
    0: "opaque",
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1",
    24: "float8_e8m0",
    25: "uint2",
    26: "int2",
    27: "float6_e2m3",
    28: "float6_e3m2",
}
"""TensorProto.DataType as names of ``DTYPES``."""

_STRUCT_CODES = {
    "float32": "f",
    "float64": "d",
    "float16": "e",
    "uint8": "B",
    "int8": "b",
    "uint16": "H",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint32": "I",
    "uint64": "Q",
    "bool": "?",
    "bfloat16": "H",
}
_OWN_FIELD = {
    "float32": "float_data",
    "float64": "double_data",
    "int64": "int64_data",
    "uint32": "uint64_data",
    "uint64": "uint64_data",
}
_PACKED = frozenset({"int4", "uint4", "int2", "uint2"})
_RAW, _FLOAT, _INT32, _STRING, _INT64, _DOUBLE, _UINT64 = 9, 4, 5, 6, 7, 10, 11
_FIELDS = (
    (_FLOAT, "float_data"),
    (_INT32, "int32_data"),
    (_INT64, "int64_data"),
    (_DOUBLE, "double_data"),
    (_UINT64, "uint64_data"),
    (_STRING, "string_data"),
)
_EXTERNAL = 1


def dtype_of(number: int) -> DType:
    """The element type that ONNX calls ``number``.  Raises ``BadModel`` for a number that no ONNX version gives."""
    name = _NAMES.get(number)
    if name is None:
        raise BadModel(
            f"the element type {number} is not in ONNX", hint="is the file from a newer ONNX than this tool knows?"
        )
    return DTYPES[name]


def dims_of(tensor: Any) -> Shape:
    """The shape of a TensorProto.  Raises ``BadModel`` for a dimension that is negative or absurd."""
    shape = tuple(tensor.dims)
    if shape and not (min(shape) >= 0 and max(shape) <= MAX_DIMENSION):
        size = next(size for size in shape if not 0 <= size <= MAX_DIMENSION)
        raise BadModel(f"the stored tensor has a dimension of {size}", where=_name(tensor))
    return shape


def type_of(tensor: Any) -> TensorType:
    """Shape and element type of a TensorProto.  Raises ``BadModel`` where one of them is none."""
    return TensorType(dims_of(tensor), _dtype(tensor))


def is_external(tensor: Any) -> bool:
    """Whether the payload of this TensorProto is in another file."""
    return bool(tensor.data_location == _EXTERNAL)


def check_payload(tensor: Any, kind: TensorType) -> None:
    """Raises ``BadModel`` where what a TensorProto stores contradicts its type, as ``type_of`` gives it.

    A tensor that stores nothing passes: its weights were taken out, and its shape still says what it was.
    """
    note = payload_note(tensor)
    if note is not None:
        field, stored = note
    elif raw := tensor.raw_data:
        field, stored = _RAW, len(raw)
    else:
        return _check_values(tensor, kind)
    low, high = _stored_bounds(field, kind.dtype, prod(kind.shape))
    if not low <= stored <= high and not is_external(tensor):
        raise _contradiction(tensor, f"{stored:,} bytes")
    return None


def _check_values(tensor: Any, kind: TensorType) -> None:
    """``check_payload`` for kept typed fields, where elements can be counted."""
    stored = [(len(values), field) for field, name in _FIELDS if len(values := getattr(tensor, name))]
    if not stored or is_external(tensor):
        return
    count, field = stored[0]
    if len(stored) > 1 or count != _typed_count(field, kind.dtype, kind.elements):
        raise _contradiction(tensor, f"{count:,} values")


def _typed_count(field: int, dtype: DType, elements: int) -> int:
    """Entries that ``elements`` values take in a typed field."""
    if dtype.kind == "complex":
        return 2 * elements
    if field == _INT32 and dtype.block_bits in (2, 4):
        # Packed into bytes; 6-bit floats are not.
        return -(-elements * dtype.block_bits // 8)
    return elements


def _stored_bounds(field: int, dtype: DType, elements: int) -> tuple[int, int]:
    """The least and the most bytes that a payload of ``elements`` values may take in that field."""
    if field == _RAW:
        size = dtype.bytes_of(elements)
        return (0, 0) if size is None else (size, size)
    entries = _typed_count(field, dtype, elements)
    if field == _FLOAT:
        return 4 * entries, 4 * entries
    if field == _DOUBLE:
        return 8 * entries, 8 * entries
    if field in (_INT32, _INT64, _UINT64):
        return entries, 10 * entries
    # Strings have any length, and several fields at once cannot be told apart.
    return 0, 1 << 63


def _contradiction(tensor: Any, stored: str) -> BadModel:
    shape = "x".join(map(str, tensor.dims)) or "a scalar"
    what = f"stores {stored}, but its shape is {shape} of {_dtype(tensor).name}"
    return BadModel(what, where=_name(tensor), hint="the file is damaged: export or download it again")


def decode(tensor: Any) -> tuple[Shape, tuple[Value, ...]] | None:
    """Shape and values, in row-major order, of a TensorProto whose payload was kept.

    None where the values are not there (stripped, external, never stored) or are no numbers that Python has.
    Raises ``BadModel`` where the payload contradicts the shape.
    """
    kind = type_of(tensor)
    if is_external(tensor) or payload_note(tensor) is not None:
        return None
    check_payload(tensor, kind)
    shape, dtype, elements = kind.shape, kind.dtype, kind.elements
    if tensor.raw_data:
        values = unpack(tensor.raw_data, dtype, elements)
        return None if values is None else (shape, values)
    entries = _entries(tensor, dtype)
    if entries is None or (elements and not entries):
        return None
    return shape, entries[:elements]


def _entries(tensor: Any, dtype: DType) -> tuple[Value, ...] | None:
    """The values in the typed field that belongs to ``dtype``; None for a type that Python has no numbers for."""
    if dtype.name in _OWN_FIELD:
        return tuple(getattr(tensor, _OWN_FIELD[dtype.name]))
    # Everything else that is a number shares int32_data: small integers as they are, floats and packed integers as bits.
    if dtype.name in ("float16", "bfloat16"):
        words = [value & 0xFFFF for value in tensor.int32_data]
        return unpack(struct.pack(f"<{len(words)}H", *words), dtype, len(words))
    if dtype.name in _PACKED:
        data = bytes(value & 0xFF for value in tensor.int32_data)
        return unpack(data, dtype, len(data) * 8 // (dtype.block_bits or 8))
    if dtype.kind == "bool":
        return tuple(value != 0 for value in tensor.int32_data)
    return tuple(tensor.int32_data) if dtype.kind in ("int", "uint") else None


def unpack(data: bytes, dtype: DType, elements: int) -> tuple[Value, ...] | None:
    """``elements`` little-endian values of ``dtype``; None for a type that Python has no numbers for.

    ``data`` holds exactly as many bytes as they take.
    """
    if dtype.name in _PACKED:
        return tuple(_small_integers(data, dtype))[:elements]
    code = _STRUCT_CODES.get(dtype.name)
    if code is None:
        return None
    values = struct.unpack(f"<{elements}{code}", data)
    if dtype.name != "bfloat16":
        return values
    # A bfloat16 is the upper half of a float32.
    return struct.unpack(f"<{elements}f", b"".join(struct.pack("<HH", 0, word) for word in values))


def _small_integers(data: bytes, dtype: DType) -> Iterable[int]:
    """Integers of 2 or 4 bits, the first in the lowest bits of a byte."""
    bits = 2 if dtype.name.endswith("2") else 4
    mask, sign = (1 << bits) - 1, 1 << bits - 1
    for byte in data:
        for shift in range(0, 8, bits):
            value = byte >> shift & mask
            yield value - (1 << bits) if dtype.kind == "int" and value & sign else value


def _dtype(tensor: Any) -> DType:
    try:
        return dtype_of(tensor.data_type)
    except BadModel as error:
        raise error.at(_name(tensor)) from None


def _name(tensor: Any) -> str:
    name = tensor.name
    return name if isinstance(name, str) else repr(name)

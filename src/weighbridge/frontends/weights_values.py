"""Stored bytes as arrays of numbers: one tensor at a time, NumPy's types, little-endian."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weighbridge.dtypes import DType
from weighbridge.errors import BadModel

__all__ = ["decoded", "from_varints", "is_decodable"]

Array = Any
"""A NumPy array."""

_PLAIN: Final = {
    "float32": "<f4",
    "float64": "<f8",
    "float16": "<f2",
    "int8": "i1",
    "uint8": "u1",
    "int16": "<i2",
    "uint16": "<u2",
    "int32": "<i4",
    "uint32": "<u4",
    "int64": "<i8",
    "uint64": "<u8",
}
_PACKED_BITS: Final = (1, 2, 4)


def is_decodable(dtype: DType) -> bool:
    """Whether values of this type can be read."""
    return dtype.name in _PLAIN or dtype.name == "bfloat16" or _is_packed(dtype)


def decoded(data: Any, dtype: DType, elements: int) -> Array:
    """The ``elements`` values in ``data``, a buffer of bytes, in one dimension; 16-bit floats as 32-bit ones.

    Raises ``BadModel`` where the bytes are not as many as they take.
    """
    if dtype.bytes_of(elements) != len(data):
        what = f"{len(data):,} bytes are stored for {elements:,} values of {dtype.name}"
        raise BadModel(what, hint="the file is damaged: download or export it again")
    if _is_packed(dtype):
        return _unpacked(np.frombuffer(data, np.uint8), dtype, elements)
    if dtype.name == "bfloat16":
        # A bfloat16 is the upper half of a float32.
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    values = np.frombuffer(data, _PLAIN[dtype.name])
    if dtype.name != "float16":
        return values
    with np.errstate(invalid="ignore"):  # what is no number stays none
        return values.astype(np.float32)


def _is_packed(dtype: DType) -> bool:
    return dtype.kind in ("int", "uint") and dtype.block_length == 1 and dtype.block_bits in _PACKED_BITS


def _unpacked(data: Array, dtype: DType, elements: int) -> Array:
    """Integers of less than a byte, the first in its lowest bits."""
    bits = dtype.block_bits or 8
    values = np.empty((len(data), 8 // bits), np.int8)
    for place in range(8 // bits):
        part = (data >> (place * bits)) & ((1 << bits) - 1)
        values[:, place] = part
    if dtype.kind == "int":
        values[values >= 1 << bits - 1] -= 1 << bits
    return values.reshape(-1)[:elements]


def from_varints(data: bytes, width: int) -> bytes:
    """Packed varints of protobuf as little-endian integers of ``width`` bytes, the upper ones cut off.

    Raises ``BadModel`` where the last one does not end, or one takes more than 10 bytes.
    """
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    lengths = np.diff(ends, prepend=-1)
    if (len(raw) and (not len(ends) or ends[-1] != len(raw) - 1)) or (len(lengths) and lengths.max() > 10):
        raise BadModel("a number in the tensor does not end", hint="the file is damaged: download or export it again")
    starts = ends - lengths + 1
    values = np.zeros(len(ends), np.uint64)
    for place in range(int(lengths.max(initial=0))):
        has = lengths > place
        values[has] |= (raw[starts[has] + place] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * place)
    return values.astype(f"<u{width}").tobytes()

"""Values of small tensors that a TensorFlow Lite model stores: axes, shapes, paddings.  Weights are never read."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from weighbridge.frontends.tflite_model import TfliteModel, TfliteTensor

__all__ = ["values_of"]

MAX_BYTES: Final = 1 << 14
"""Rules look at as many values as a tensor has dimensions, or a split parts."""
_CODES: Final[Mapping[str, str]] = {
    "float32": "f",
    "float64": "d",
    "float16": "e",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "bool": "?",
}


def values_of(model: TfliteModel, tensor: TfliteTensor) -> tuple[Any, ...] | None:
    """The values in row-major order; None where there are none, too many, or as many bytes as the shape does not have."""
    code = _CODES.get(tensor.dtype.name)
    if 0 in (tensor.shape or ()):
        return ()
    if tensor.data is None or code is None or tensor.sparse_values is not None or tensor.shape is None:
        return None
    start, count = tensor.data
    elements = 1
    for size in tensor.shape:
        elements *= size
    if count > MAX_BYTES or elements < 0 or struct.calcsize(f"<{code}") * elements != count:
        return None
    return struct.unpack_from(f"<{elements}{code}", model.data, start)

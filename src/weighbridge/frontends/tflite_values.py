"""Values of small tensors of a TensorFlow Lite model, stored or computed from others: axes, shapes, paddings.

Weights are never read.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence, Set
from typing import Any, Final

from weighbridge.frontends import known_values
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_arrays import Array
from weighbridge.frontends.tflite_model import TfliteModel, TfliteTensor
from weighbridge.graph import Shape, Tensor

__all__ = ["Values", "values_of"]

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
    if tensor.data is None or code is None or tensor.sparse_values is not None:
        return None
    start, count = tensor.data
    elements = 1
    for size in tensor.shape or ():
        elements *= size
    if count > MAX_BYTES or elements < 0 or struct.calcsize(f"<{code}") * elements != count:
        return None
    return struct.unpack_from(f"<{elements}{code}", model.data, start)


class Values(known_values.Values):
    """What is known of the tensors of one model; ``quantised`` are those of numbers that stand for others."""

    def __init__(self, model: TfliteModel, quantised: Set[str]) -> None:
        super().__init__()
        self.model = model
        self.quantised = quantised

    def decoded(self, stored: Any) -> Array | None:
        """The values of a ``TfliteTensor``."""
        found = values_of(self.model, stored)
        return None if found is None else Array(stored.dtype.name, stored.shape or (), found)

    def make(self, call: Foreign, tensors: Mapping[str, Tensor]) -> None:
        """A shape, or a rank, is told from a type alone."""
        kind = call.type(0) if call.op in ("SHAPE", "RANK") else None
        if kind is None:
            super().make(call, tensors)
            return
        sizes = kind.shape if call.op == "SHAPE" else (len(kind.shape),)
        shape = (len(sizes),) if call.op == "SHAPE" else ()
        self.set(call.outputs[0], Array(call.stated[0].dtype.name, shape, sizes))

    def can_fold(self, call: Foreign) -> bool:
        """Whether there is a fold for the operator, and the numbers are themselves."""
        from weighbridge.frontends.tflite_fold import FOLDABLE

        return call.op in FOLDABLE and self.quantised.isdisjoint((*call.inputs, *call.outputs))

    def folded(
        self, call: Foreign, inputs: tuple[Array | None, ...], shapes: tuple[Shape | None, ...]
    ) -> Sequence[Array] | None:
        """The results as TensorFlow Lite computes them."""
        from weighbridge.frontends.tflite_fold import fold

        return fold(call, inputs, shapes)

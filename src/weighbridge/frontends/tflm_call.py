"""An operator as a kernel of TensorFlow Lite Micro sees it: its tensors, and their sizes as the runtime counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, prod
from typing import Final

from weighbridge.frontends.flexbuffer import read_map
from weighbridge.frontends.tflite_model import Operator, Subgraph, TfliteModel, TfliteTensor
from weighbridge.named_tuple import NamedTuple

__all__ = ["Call", "bytes_of", "calls_of", "count_of", "dimension_of"]

_SIZES: Final[Mapping[str, int]] = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "int4": 1,
    "uint64": 8,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
    "opaque": 4,
}
"""Bytes a value (TfLiteTypeSizeOf in memory_helpers.cc, tensorflow/tflite-micro): four bits take a byte, a resource is a number."""


class Call(NamedTuple):
    """``tensors`` are those of its subgraph, ``data`` the whole file."""

    operator: Operator
    tensors: Sequence[TfliteTensor]
    data: memoryview

    def input(self, place: int) -> TfliteTensor | None:
        """An input, None where it is left out."""
        inputs = self.operator.inputs
        return self.tensors[inputs[place]] if place < len(inputs) and inputs[place] >= 0 else None

    def output(self, place: int) -> TfliteTensor | None:
        outputs = self.operator.outputs
        return self.tensors[outputs[place]] if place < len(outputs) else None

    def custom_options(self) -> Mapping[str, int | float | bool]:
        """The options of a custom operator by name."""
        if self.operator.custom_options is None:
            return {}
        start, size = self.operator.custom_options
        return read_map(self.data[start : start + size])

    def custom_number(self, name: str) -> int:
        """A whole number of 0 or more among the options of a custom operator, 0 where there is none."""
        found = self.custom_options().get(name, 0)
        return max(int(found), 0) if isfinite(found) else 0


def calls_of(model: TfliteModel, subgraph: Subgraph) -> list[Call]:
    """The operators of a subgraph in order."""
    return [Call(operator, subgraph.tensors, model.data) for operator in subgraph.operators]


def count_of(tensor: TfliteTensor | None) -> int:
    """How many values it has, 0 where it is left out."""
    return 0 if tensor is None else prod(tensor.shape or ())


def dimension_of(tensor: TfliteTensor | None, axis: int) -> int:
    """Its size along ``axis``, 0 where it has no such axis."""
    shape = () if tensor is None else tensor.shape or ()
    return shape[axis] if -len(shape) <= axis < len(shape) else 0


def bytes_of(tensor: TfliteTensor) -> int | None:
    """Bytes of its values in the arena, None where its type has no size there."""
    size = _SIZES.get(tensor.dtype.name)
    return None if size is None else count_of(tensor) * size

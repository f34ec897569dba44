"""Values of small tensors of an ONNX model, and what a rule may ask of the tensors that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from weighbridge.builder import Builder
from weighbridge.frontends import known_values
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_arrays import MAX_ELEMENTS, Array, Question
from weighbridge.frontends.onnx_fold import FOLDABLE, fold
from weighbridge.frontends.onnx_model import OnnxModel
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import Shape, TensorType

__all__ = ["Asker", "Values"]


class Values(known_values.Values):
    """What is known of the tensors of one model."""

    def __init__(self, model: OnnxModel) -> None:
        super().__init__()
        self.model = model

    def decoded(self, stored: Any) -> Array | None:
        """The values of a TensorProto."""
        found = self.model.integers(stored)
        if found is None or len(found[1]) > MAX_ELEMENTS:
            return None
        return Array(dtype_of(stored.data_type).name, *found)

    def can_fold(self, call: Foreign) -> bool:
        """Whether there is a fold for the operator."""
        return call.qualified in FOLDABLE

    def folded(
        self, call: Foreign, inputs: tuple[Array | None, ...], shapes: tuple[Shape | None, ...]
    ) -> Sequence[Array] | None:
        """The results as the specification of the operator has them."""
        return fold(Question(call.qualified, inputs, self._attributes(call), shapes, call.version))

    def _attributes(self, call: Foreign) -> Mapping[str, Any]:
        if call.qualified == "Cast":
            return {"dtype": dtype_of(call.get("to", 0)).name}
        if call.qualified == "ConstantOfShape":
            proto = call.get("value")
            found = (None, (0.0,)) if proto is None else self.model.integers(proto)
            dtype = "float32" if proto is None else dtype_of(proto.data_type).name
            return {"array": Array(dtype, (1,), found[1])} if found is not None and len(found[1]) == 1 else {}
        return call.attributes


class Asker:
    """Answers a rule's questions about the tensors that one builder has."""

    __slots__ = ("builder", "static", "values")

    def __init__(self, builder: Builder, values: Values, static: Set[str]) -> None:
        self.builder = builder
        self.values = values
        self.static = static

    def type_of(self, tensor: str) -> TensorType | None:
        return self.builder.type_of(tensor)

    def dtype_name(self, tensor: str) -> str:
        return self.builder.tensors[tensor].dtype.name

    def values_of(self, tensor: str) -> tuple[Any, ...] | None:
        return self.values.operand(tensor)

    def is_static(self, tensor: str) -> bool:
        return tensor in self.static

"""Values of small tensors, worked out when something asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import prod
from typing import Any

from weighbridge.builder import Builder
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_arrays import MAX_ELEMENTS, Array, Question
from weighbridge.frontends.onnx_fold import FOLDABLE, fold
from weighbridge.frontends.onnx_model import OnnxModel
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import Shape, Tensor, TensorType

__all__ = ["Asker", "Values"]

MAX_OPERAND_VALUES = 4096
"""Rules look at operands of as many values as a tensor has dimensions, or a split parts."""
MAX_WORK = 1 << 22
"""Values computed in one model, all together: a hostile file cannot make the start of a count long."""


class Values:
    """What is known of tensors before inference, by tensor id.

    A value is asked for where a shape depends on it, so weights are never evaluated, however many constant nodes they
    pass through.
    """

    def __init__(self, model: OnnxModel) -> None:
        self.model = model
        self._known: dict[str, Array | None] = {}
        self._stored: dict[str, Any] = {}
        self._makers: dict[str, tuple[Foreign, Mapping[str, Tensor]]] = {}
        self._work = 0

    def set(self, tensor: str, array: Array) -> None:
        """State a value."""
        self._known[tensor] = array

    def store(self, tensor: str, proto: Any) -> None:
        """A stored tensor whose value is in the file, perhaps."""
        self._stored[tensor] = proto

    def make(self, call: Foreign, tensors: Mapping[str, Tensor]) -> None:
        """A node whose results can be told from its operands; ``tensors`` has the types of both."""
        if call.qualified in FOLDABLE:
            for tensor in call.outputs:
                self._makers[tensor] = call, tensors

    def of(self, tensor: str) -> Array | None:
        """The value, or None where it cannot be known before inference."""
        pending = [tensor]
        while pending:
            current = pending[-1]
            if current in self._known:
                pending.pop()
                continue
            maker = self._makers.get(current)
            if maker is None:
                self._known[current] = self._decode(current)
                continue
            missing = (
                [] if self._is_large(*maker) else [one for one in maker[0].inputs if one and one not in self._known]
            )
            if missing:
                pending.extend(missing)
                continue
            self._evaluate(*maker)
        return self._known[tensor]

    def _decode(self, tensor: str) -> Array | None:
        proto = self._stored.get(tensor)
        if proto is None:
            return None
        found = self.model.integers(proto)
        if found is None or len(found[1]) > MAX_ELEMENTS:
            return None
        return Array(dtype_of(proto.data_type).name, *found)

    def _is_large(self, call: Foreign, tensors: Mapping[str, Tensor]) -> bool:
        """Whether a type that our rules know rules the values out, before anything is computed or read."""
        if self._work > MAX_WORK:
            return True
        shapes = [_shape(tensor, tensors) for tensor in (*call.inputs, *call.outputs)]
        return any(shape is not None and prod(shape) > MAX_ELEMENTS for shape in shapes)

    def _evaluate(self, call: Foreign, tensors: Mapping[str, Tensor]) -> None:
        results = None
        if not self._is_large(call, tensors):
            inputs = tuple(self._known.get(one) if one else None for one in call.inputs)
            shapes = tuple(_shape(tensor, tensors) for tensor in call.outputs)
            results = fold(Question(call.qualified, inputs, self._attributes(call), shapes, call.version))
            self._work += sum(len(array.values) for array in (*inputs, *(results or ())) if array is not None)
        for index, tensor in enumerate(call.outputs):
            array = results[index] if results is not None and index < len(results) else None
            shape = _shape(tensor, tensors)
            # A fold that disagrees with the shape rule is not trusted: nothing is known then.
            self._known[tensor] = array if array is not None and shape in (None, array.shape) else None

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
        found = self.values.of(tensor)
        return None if found is None or len(found.values) > MAX_OPERAND_VALUES else found.values

    def is_static(self, tensor: str) -> bool:
        return tensor in self.static


def _shape(tensor: str, tensors: Mapping[str, Tensor]) -> Shape | None:
    found = tensors.get(tensor)
    return None if found is None else found.shape

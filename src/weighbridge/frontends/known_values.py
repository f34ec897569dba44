"""Values of small tensors, worked out when something asks for them: what the readers of files have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_arrays import MAX_ELEMENTS, Array
from weighbridge.graph import Shape, Tensor

__all__ = ["Values"]

MAX_OPERAND_VALUES: Final = 4096
"""Rules look at operands of as many values as a tensor has dimensions, or a split parts."""
MAX_WORK: Final = 1 << 22
"""Values computed in one model, all together: a hostile file cannot make the start of a count long."""


class Values(ABC):
    """What is known of tensors before inference, by tensor id.

    A value is asked for where a shape depends on it, so weights are never evaluated, however many constant nodes they
    pass through.  How a format stores values and what its operators make of them its own class says.
    """

    def __init__(self) -> None:
        self._known: dict[str, Array | None] = {}
        self._stored: dict[str, Any] = {}
        self._makers: dict[str, tuple[Foreign, Mapping[str, Tensor]]] = {}
        self._work = 0

    @abstractmethod
    def decoded(self, stored: Any) -> Array | None:
        """The values of a stored tensor, None where they cannot be read."""

    @abstractmethod
    def can_fold(self, call: Foreign) -> bool:
        """Whether results of a call may be told from its operands."""

    @abstractmethod
    def folded(
        self, call: Foreign, inputs: tuple[Array | None, ...], shapes: tuple[Shape | None, ...]
    ) -> Sequence[Array] | None:
        """The results of a call, of which ``shapes`` are what our rules know; None where they cannot be told."""

    def set(self, tensor: str, array: Array) -> None:
        """State a value."""
        self._known[tensor] = array

    def store(self, tensor: str, stored: Any) -> None:
        """A stored tensor whose value is in the file, perhaps."""
        self._stored[tensor] = stored

    def make(self, call: Foreign, tensors: Mapping[str, Tensor]) -> None:
        """A node whose results can be told from its operands, perhaps; ``tensors`` has the types of both."""
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
            if maker is None or not self.can_fold(maker[0]):
                stored = self._stored.get(current)
                self._known[current] = None if stored is None else self.decoded(stored)
                continue
            missing = (
                [] if self._is_large(*maker) else [one for one in maker[0].inputs if one and one not in self._known]
            )
            if missing:
                pending.extend(missing)
                continue
            self._evaluate(*maker)
        return self._known[tensor]

    def operand(self, tensor: str) -> tuple[Any, ...] | None:
        """The values where they are known, and no more than a rule looks at."""
        found = self.of(tensor)
        return None if found is None or len(found.values) > MAX_OPERAND_VALUES else found.values

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
            results = self.folded(call, inputs, shapes)
            self._work += sum(len(array.values) for array in (*inputs, *(results or ())) if array is not None)
        for index, tensor in enumerate(call.outputs):
            array = results[index] if results is not None and index < len(results) else None
            shape = _shape(tensor, tensors)
            # A fold that disagrees with the shape rule is not trusted: nothing is known then.
            self._known[tensor] = array if array is not None and shape in (None, array.shape) else None


def _shape(tensor: str, tensors: Mapping[str, Tensor]) -> Shape | None:
    found = tensors.get(tensor)
    return None if found is None else found.shape

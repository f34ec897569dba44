"""What the rules of ai.onnx.ml have in common: lists in attributes that become operands, and how scores become a result.

The operators of that domain keep learned numbers and tables in attributes, and a few of ONNX's own do.  A rule asks for them
here, so that a list whose length does not fit is an error that names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign, Held, Step
from weighbridge.frontends.onnx_steps import Steps
from weighbridge.frontends.onnx_tensors import type_of
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.named_tuple import NamedTuple

__all__ = ["TRANSFORMS", "Chain", "Listed", "fault", "labels_of", "listed", "matrix", "one_of", "rows_of"]

TRANSFORMS: Final = {
    "NONE": "",
    "SOFTMAX": "softmax",
    "LOGISTIC": "sigmoid",
    "SOFTMAX_ZERO": "softmax_zero",
    "PROBIT": "probit",
}
"""What is done to scores, by the attribute ``post_transform``."""


class Listed(NamedTuple):
    """A list in an attribute: how many, of which element type, and the attribute as the file has it."""

    name: str
    length: int
    dtype: str
    source: Any

    def held(self, operand: str, shape: Shape | None = None) -> Held:
        """The list as an operand; a vector, or of another shape that has as many elements."""
        kind = TensorType((self.length,) if shape is None else shape, DTYPES[self.dtype])
        return Held(operand, self.name, kind, self.source)


def fault(call: Foreign, what: str) -> BadModel:
    """The error of a call whose attributes contradict each other."""
    return BadModel(what, where=call.name, hint="the file is damaged: export it again")


def listed(call: Foreign, *names: str) -> Listed:
    """The first of these attributes that holds something, numbers, text or a tensor; an empty list where none does."""
    for name in names:
        value = call.get(name)
        if isinstance(value, tuple):
            if value:
                return Listed(name, len(value), _DTYPES[type(value[0])], value)
        elif value is not None:
            kind = type_of(value)
            if kind.elements:
                return Listed(name, kind.elements, kind.dtype.name, value)
    return Listed(names[0], 0, "float32", ())


_DTYPES = {int: "int64", float: "float32", str: "string"}


def matrix(call: Foreign, one: Listed, operand: str, columns: int) -> Held:
    """A list as the rows of a matrix of so many columns.  Raises ``BadModel`` where that leaves some over."""
    if columns < 1 or one.length % columns or not one.length:
        raise fault(call, f"its {one.length} {one.name} are no rows of {columns}")
    return one.held(operand, (one.length // columns, columns))


def one_of(call: Foreign, name: str, default: Any, choices: Mapping[Any, str]) -> str:
    """What an attribute chooses.  Raises ``BadModel`` where there is no such choice."""
    value = call.get(name, default)
    if value not in choices:
        raise fault(call, f"its {name} is {value!r}, none of {', '.join(map(str, choices))}")
    return choices[value]


def labels_of(call: Foreign) -> Listed:
    """The labels of a classifier, numbers or text."""
    return listed(call, "classlabels_ints", "classlabels_int64s", "classlabels_strings")


def rows_of(call: Foreign) -> tuple[Chain, int | None]:
    """The features that a call takes, a vector as one row, and how many a row has; None where that is not known."""
    chain, kind = Chain(call, call.operand(0)), call.type(0)
    if kind is None:
        return chain, None
    if len(kind.shape) == 1:
        return chain.then("unsqueeze", {"axes": (0,)}), kind.shape[0]
    if len(kind.shape) != 2:
        raise fault(call, f"takes rows of features, not a tensor of {len(kind.shape)} dimensions")
    return chain, kind.shape[1]


class Chain:
    """Steps of one call, each with the result of the one before as its operand ``x``."""

    def __init__(self, call: Foreign, tensor: str) -> None:
        self.call = call
        self.tensor = tensor
        self._made = Steps(call)

    @property
    def steps(self) -> list[Step]:
        return self._made.steps

    def then(
        self, operator: str, attributes: Mapping[str, Attribute] | None = None, held: Sequence[Held] = ()
    ) -> Chain:
        self.tensor = self._made.make(operator, [("x", self.tensor)], attributes, held=held)
        return self

    def scores(self, transform: str, index: int, *, both: bool = False) -> Chain:
        """Make the scores that the call returns at ``index``: those of both classes where there are two and one score."""
        if both:
            self.then("both_scores")
        if transform:
            self.then(transform)
        return self.into(index)

    def into(self, index: int) -> Chain:
        """Make the last result that of the call at ``index``, if the call has one there."""
        if self.steps and self.call.has_output(index):
            self.tensor = self.call.outputs[index]
            self.steps[-1] = self.steps[-1]._replace(outputs=[self.tensor])
        return self

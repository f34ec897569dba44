"""Small tensors with their values, and what the folds share: broadcasting, strides, element types."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate, product
from typing import Any

from weighbridge.frontends.foreign import whole_numbers
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple

__all__ = [
    "MAX_ELEMENTS",
    "Array",
    "NotKnown",
    "Number",
    "Question",
    "at_positions",
    "common",
    "known",
    "stretched",
    "strides",
    "typed",
]

MAX_ELEMENTS = 1 << 16
"""No larger tensor decides a shape; what would be larger is not computed."""

Number = int | float | bool


class Array(NamedTuple):
    """A tensor with its values in row-major order; ``dtype`` is the name of an element type."""

    dtype: str
    shape: Shape
    values: tuple[Any, ...]

    @property
    def ints(self) -> tuple[int, ...] | None:
        """The values as whole numbers; None where they are none."""
        return whole_numbers(self.values)


class Question(NamedTuple):
    """One node whose outputs are wanted: ``shapes`` are those of its outputs where our rules know them."""

    op: str
    inputs: tuple[Array | None, ...]
    attributes: Mapping[str, Any]
    shapes: tuple[Shape | None, ...]
    version: int

    def integers(self, name: str, position: int) -> tuple[int, ...] | None:
        """A list that is an attribute in old operator sets and an operand in new ones."""
        if name in self.attributes:
            return tuple(self.attributes[name])
        given = self.inputs[position] if position < len(self.inputs) else None
        return None if given is None else given.ints

    @property
    def first(self) -> Array:
        given = self.inputs[0]
        if given is None:
            raise NotKnown
        return given


class NotKnown(Exception):
    """The values cannot be told; caught in ``fold``."""


def known(question: Question) -> list[Array]:
    """All operands, every one of them known."""
    arrays = [given for given in question.inputs if given is not None]
    if len(arrays) != len(question.inputs):
        raise NotKnown
    return arrays


def strides(shape: Shape) -> tuple[int, ...]:
    """Elements between neighbours along each axis, in row-major order."""
    return tuple(accumulate(reversed(shape[1:]), operator.mul, initial=1))[::-1] if shape else ()


def stretched(array: Array, shape: Shape) -> tuple[Any, ...]:
    """The values of ``array`` broadcast to ``shape``."""
    if array.shape == shape:
        return array.values
    if len(array.values) == 1:
        return array.values * math.prod(shape)
    padded = (1,) * (len(shape) - len(array.shape)) + array.shape
    steps = [0 if size == 1 else step for size, step in zip(padded, strides(padded), strict=True)]
    return tuple(array.values[sum(map(operator.mul, at, steps))] for at in product(*map(range, shape)))


def common(arrays: Sequence[Array]) -> Shape:
    """The shape that all broadcast to."""
    rank = max(len(array.shape) for array in arrays)
    padded = [(1,) * (rank - len(array.shape)) + array.shape for array in arrays]
    shape = tuple(max(sizes) if 0 not in sizes else 0 for sizes in zip(*padded, strict=True))
    if math.prod(shape) > MAX_ELEMENTS:
        raise NotKnown
    return shape


def typed(dtype: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """``values`` as the element type holds them: whole numbers wrap around; a float out of range is not known."""
    if dtype in ("float32", "float16"):
        code = "f" if dtype == "float32" else "e"
        return struct.unpack(f"{len(values)}{code}", struct.pack(f"{len(values)}{code}", *map(float, values)))
    if dtype == "bool":
        return tuple(map(bool, values))
    if dtype.startswith(("int", "uint")):
        bits = int(dtype.removeprefix("u").removeprefix("int"))
        low = 0 if dtype.startswith("u") else -(1 << (bits - 1))
        if any(isinstance(value, float) and not low <= int(value) < low + (1 << bits) for value in values):
            raise NotKnown  # what a cast makes of it differs from processor to processor
        return tuple((int(value) - low) % (1 << bits) + low for value in values)
    return tuple(map(float, values))


def at_positions(array: Array, axes_of_source: Sequence[Sequence[int]]) -> tuple[Any, ...]:
    """The values at the product of the positions along each axis."""
    steps = strides(array.shape)
    if math.prod(map(len, axes_of_source)) > MAX_ELEMENTS:
        raise NotKnown
    return tuple(array.values[sum(map(operator.mul, at, steps))] for at in product(*axes_of_source))

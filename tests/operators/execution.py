"""What the oracles of the operators run on: counted arithmetic, and calls of a rule by shapes.

An oracle executes an operator with loops over small arrays and counts what it does as it does it; it knows no formula.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from weighbridge.dtypes import DTYPES
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.operators.record import REQUIRED, Call, Work
from weighbridge.operators.table import OPERATORS

Shapes = Shape | list[Shape] | TensorType


class Tally:
    """Arithmetic that counts itself."""

    def __init__(self):
        self.macs = self.adds = self.muls = self.divs = self.compares = self.specials = 0

    @property
    def work(self) -> Work:
        return Work(0, self.adds, self.muls, self.divs, self.compares, self.specials)

    def mac(self, total, a, b):
        self.macs += 1
        return total + a * b

    def add(self, a, b):
        self.adds += 1
        return a + b

    def sub(self, a, b):
        self.adds += 1
        return a - b

    def mul(self, a, b):
        self.muls += 1
        return a * b

    def div(self, a, b):
        self.divs += 1
        return a / b

    def maximum(self, a, b):
        self.compares += 1
        return max(a, b)

    def minimum(self, a, b):
        self.compares += 1
        return min(a, b)

    def select(self, condition, a, b):
        self.compares += 1
        return a if condition else b

    def special(self, function, *values):
        self.specials += 1
        return function(*values)

    def sigmoid(self, x):
        return self.div(1, self.add(1, self.special(math.exp, -x)))

    def tanh(self, x):
        return self.special(math.tanh, x)

    def clip(self, x, bound):
        return self.minimum(self.maximum(x, -bound), bound)


def typed(shape: Shape, dtype: str = "float32") -> TensorType:
    return TensorType(tuple(shape), DTYPES[dtype])


def call(operator: str, attributes: Mapping[str, Attribute] | None = None, **operands: Shapes) -> Call:
    """A call with its outputs inferred; operands are shapes, lists of shapes where variadic, or types."""
    op = OPERATORS[operator]
    types = {
        name: tuple(
            one if isinstance(one, TensorType) else typed(one)
            for one in (given if isinstance(given, list) else [given])
        )
        for name, given in operands.items()
    }
    slots = {slot.name for slot in op.slots}
    assert set(types) <= slots, f"{operator} has no operands {set(types) - slots}"
    complete = {**op.attributes, **(attributes or {})}
    assert set(complete) == set(op.attributes), f"{operator} has no attributes {set(complete) - set(op.attributes)}"
    assert REQUIRED not in complete.values()
    asked = Call(types, complete)
    return Call(types, complete, tuple(op.infer(asked)))


def shape_of(found: Call, index: int = 0) -> Shape:
    return found.outputs[index].shape


def macs_of(operator: str, found: Call) -> int:
    return OPERATORS[operator].macs(found)


def work_of(operator: str, found: Call) -> Work:
    return OPERATORS[operator].work(found)


def least_of(operator: str, found: Call) -> Work:
    return OPERATORS[operator].least_work(found)


def loops_of(operator: str, found: Call):
    return OPERATORS[operator].loops(found)


def integers(shape: Sequence[int], start: int = 1) -> np.ndarray:
    """Small whole numbers, no two neighbours alike, so that a wrong index shows in the result."""
    size = math.prod(shape)
    return np.array([(start + 7 * i) % 11 - 5 for i in range(size)], dtype=object).reshape(shape)


def everywhere(sizes: Sequence[int]):
    """Every index into these sizes."""
    return product(*(range(size) for size in sizes))


def starts(size: int, reach: int, stride: int) -> list[int]:
    """Where windows that reach over so many values start along an axis, walked one by one."""
    found, start = [], 0
    while start + reach <= size:
        found.append(start)
        start += stride
    return found


def walked_same(size: int, reach: int, stride: int, *, behind: bool) -> tuple[int, int]:
    """The least padding under which there is a window for every stride begun: TensorFlow's SAME, found by trying."""
    wanted, total = len(range(0, size, stride)), 0
    while len(starts(size + total, reach, stride)) < wanted:
        total += 1
    small, large = total // 2, total - total // 2
    return (small, large) if behind else (large, small)


def values(shape, start=0.0):
    """Values of a shape, none of them equal."""
    return np.array([math.sin(7 * i + start) for i in range(math.prod(shape))], dtype=object).reshape(shape)


def dynamic(t, count):
    """Quantisation by the values' own range: the range, scale and zero point, then each value."""
    for _ in range(count):
        t.minimum(t.maximum(0, 0), 0)
        t.clip(t.add(t.add(t.div(0, 1), 0), 0), 1)
    for step in (t.sub, t.add, t.add):
        step(0, 0)
    for step in (t.div, t.div):
        step(0, 1)
    for _ in range(2):
        t.clip(0, 1)

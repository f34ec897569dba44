"""Linear equations solved by substitution, and inverses: each step needs the one before, so it is no contraction."""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .halo import no_halo
from .record import Call, Keeps, Kind, Op, Work
from .shapes import broadcast
from .time_class import TimeClass

__all__ = ["SOLVING_OPERATORS"]


def _solved(call: Call) -> tuple[TensorType, ...]:
    """Systems of n equations, ... x n x n, and right sides, ... x n x k, or ... x k x n where the matrix stands behind."""
    a, b = call.a.shape, call.b.shape
    place = -2 if call["left"] else -1
    if len(a) < 2 or len(b) < 2 or a[-1] != a[-2] or b[place] != a[-1]:
        raise GraphError(f"a system of shape {a} cannot be solved for right sides of shape {b}")
    return (TensorType((*broadcast(a[:-2], b[:-2]), *b[-2:]), call.b.dtype),)


def _solving_work(call: Call) -> Work:
    """A right side: n (n - 1) / 2 mul and as many add; n div, unless the diagonal is ones."""
    n = call.a.shape[-1]
    sides = prod(call.outputs[0].shape) // n if n else 0
    steps = n * (n - 1) // 2
    return Work(mul=steps, add=steps, div=0 if call["unit_diagonal"] else n).times(sides)


def _inverse(call: Call) -> tuple[TensorType, ...]:
    if len(call.x.shape) < 2 or call.x.shape[-1] != call.x.shape[-2]:
        raise GraphError(f"a tensor of shape {call.x.shape} holds no square matrices")
    return (call.x,)


def _inverse_work(call: Call) -> Work:
    """N div, n (n - 1)^2 add, n (n^2 - 1) mul a matrix of n x n: the elimination of Gauss and Jordan in place."""
    n = call.x.shape[-1]
    one = Work(add=n * max(n - 1, 0) ** 2, mul=max(n**3 - n, 0), div=n)
    return one.times(prod(call.x.shape[:-2]))


SOLVING_OPERATORS: Final = (
    Op(
        "inverse",
        Kind.ELEMENTWISE,
        "x",
        _inverse,
        _inverse_work,
        summary="inverses of square matrices",
        keeps=Keeps.INPUT,
        halo=no_halo,
        time=TimeClass.OTHER,
    ),
    Op(
        "triangular_solve",
        Kind.ELEMENTWISE,
        "a b",
        _solved,
        _solving_work,
        attributes={"left": True, "unit_diagonal": False},
        summary="x of a x = b (or x a = b) for a triangular a, by substitution",
        keeps=Keeps.OPERANDS,
        halo=no_halo,
        time=TimeClass.OTHER,
    ),
)

"""Points and directions: distances between all pairs, and cross products.  None of it is a contraction.

A distance is what its definition says, even where a runtime finds many Euclidean ones through a matrix product.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .halo import no_halo
from .halo_axes import elementwise_along
from .record import Call, Keeps, Kind, Op, Work
from .rules import each
from .shapes import axis_of, broadcast
from .time_class import TimeClass

__all__ = ["GEOMETRY_OPERATORS"]


def _distances(call: Call) -> tuple[TensorType, ...]:
    """Points are rows, leading axes broadcast: m x k and n x k give m x n."""
    a, b = call.a.shape, call.b.shape
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-1]:
        raise GraphError(f"points of shape {a} and {b} have no distances")
    _norm(call)
    return (TensorType((*broadcast(a[:-2], b[:-2]), a[-2], b[-2]), call.a.dtype),)


def _distances_within(call: Call) -> tuple[TensorType, ...]:
    """N rows have n (n - 1) / 2 pairs."""
    if len(call.a.shape) != 2:
        raise GraphError(f"points of shape {call.a.shape} are not the rows of a matrix")
    _norm(call)
    points = call.a.shape[0]
    return (TensorType((points * (points - 1) // 2,), call.a.dtype),)


def _norm(call: Call) -> tuple[Work, Work, Work]:
    """Work of a p-norm: (a coordinate, the joining of two, the result)."""
    p = call["p"]
    if p == "infinite":
        return Work(compare=1), Work(compare=1), Work()
    if not isinstance(p, int | float) or not isfinite(p) or p < 0:
        raise GraphError(f"there is no norm of degree {p!r}", hint='it is a number from 0 on, or "infinite"')
    if p in (0, 1):
        return Work(compare=1), Work(add=1), Work()
    return Work(mul=1) if p == 2 else Work(compare=1, special=1), Work(add=1), Work(special=1)


def _distance_work(call: Call) -> Work:
    """A coordinate of a pair: 1 add for the difference, and its part of the norm (p = 2: 1 mul, else 1 compare and, but for
    0, 1 and infinity, 1 special); 1 add between two coordinates (p infinite: 1 compare); 1 special for the root of a pair, unless
    ``squared``.
    """
    coordinate, between, result = _norm(call)
    result = Work() if call.attributes.get("squared") else result
    k = call.a.shape[-1]
    pair = coordinate.plus(Work(add=1)).times(k).plus(between.times(max(k - 1, 0))).plus(result)
    return pair.times(call.outputs[0].elements)


def _cross(call: Call) -> tuple[TensorType, ...]:
    shape = broadcast(call.a.shape, call.b.shape)
    if not shape or shape[axis_of(call.integer("axis"), len(shape))] != 3:
        raise GraphError(f"vectors of 3 components have a cross product; axis {call['axis']} of {shape} has others")
    return (TensorType(shape, call.a.dtype),)


GEOMETRY_OPERATORS: Final = (
    Op(
        "distance_matrix",
        Kind.ELEMENTWISE,
        "a b",
        _distances,
        _distance_work,
        attributes={"p": 2.0, "squared": False},
        summary="the distance of every point of a to every point of b, by the norm of degree p",
        keeps=Keeps.OPERANDS,
        halo=no_halo,
        time=TimeClass.OTHER,
    ),
    Op(
        "distances_within",
        Kind.ELEMENTWISE,
        "a",
        _distances_within,
        _distance_work,
        attributes={"p": 2.0},
        summary="the distance of every pair of different points of a, by the norm of degree p",
        keeps=Keeps.OPERANDS,
        halo=no_halo,
        time=TimeClass.OTHER,
    ),
    Op(
        "cross",
        Kind.ELEMENTWISE,
        "a b",
        _cross,
        each(mul=2, add=1),
        attributes={"axis": -1},
        summary="cross product of vectors of three components",
        halo=elementwise_along,
        keeps=Keeps.OTHERS,
    ),
)

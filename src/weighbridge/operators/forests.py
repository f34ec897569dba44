"""Ensembles of decision trees.

A tree asks one question of a feature at every node and adds the values of the leaf it arrives at to a sum for each target.  Which
way a row takes depends on its values, so the work is a bound that holds for every row: the longest path of every tree, and the
leaf with the most values.  Nothing is multiplied: a tree has no MACs.

Thresholds and the values of leaves are learned.  The feature that a node asks, its children and its kind of question are no
numbers that a training adjusts: they are constants.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import REQUIRED, Call, Kind, Op, Traffic, Work, known_total
from .rules import dtype_of, known

__all__ = ["FOREST_OPERATORS"]

_JOINED: Final = {
    "sum": Work(add=1),
    "average": Work(add=1),
    "min": Work(compare=1),
    "max": Work(compare=1),
}


def _count(call: Call, name: str) -> int:
    value = call.integer(name)
    if value < 0:
        raise GraphError(f"{name} is {value}")
    return value


def _forest(call: Call) -> tuple[TensorType, ...]:
    """A score for every row and target."""
    targets = call.integer("targets")
    if len(call.x.shape) != 2 or targets < 1:
        raise GraphError(f"{targets} targets of features of shape {call.x.shape}: trees take rows of a matrix")
    if call.has("base") and call.base.elements not in (1, targets):
        raise GraphError(f"{call.base.elements} base values for {targets} targets")
    if call.text("aggregate") not in _JOINED:
        raise GraphError(f"trees are not joined by {call['aggregate']!r}", hint=f"it is one of {', '.join(_JOINED)}")
    return (TensorType((call.x.shape[0], targets), dtype_of(call, DTYPES["float32"])),)


def _forest_work(call: Call) -> Work | None:
    """At most 1 compare a row for every node on the longest path of every tree, and 1 add (of the least or largest: 1 compare)
    for every value of its leaf with the most; 1 add a score for a base value, 1 div for an average.
    """
    if not known(call, "comparisons", "terms"):
        return None
    rows = call.x.shape[0]
    row = Work(compare=_count(call, "comparisons")).plus(_JOINED[call.text("aggregate")].times(_count(call, "terms")))
    scores = call.outputs[0].elements
    ends = Work(add=scores if call.has("base") else 0, div=scores if call["aggregate"] == "average" else 0)
    return row.times(rows).plus(ends)


def _forest_traffic(call: Call) -> Traffic:
    """Of x and of what the trees hold no more is read than the longest paths visit."""
    visited = None
    if known(call, "comparisons", "terms"):
        visited = call.x.shape[0] * (_count(call, "comparisons") + _count(call, "terms"))
    reads = []
    for types in call.operands.values():
        for one in types:
            reads.append(one.dtype.bytes_of(one.elements if visited is None else min(one.elements, visited)))
    return Traffic(known_total(reads), known_total(output.bytes for output in call.outputs))


FOREST_OPERATORS: Final = (
    Op(
        "tree_ensemble",
        Kind.INDEX,
        "x thresholds:affine? members:affine? leaves:affine base:bias? *structure:control",
        _forest,
        _forest_work,
        traffic=_forest_traffic,
        attributes={
            "targets": REQUIRED,
            "comparisons": "unknown",
            "terms": "unknown",
            "aggregate": "sum",
            "dtype": "float32",
        },
        summary="scores that decision trees add up, each the values of one leaf; no MACs",
    ),
)

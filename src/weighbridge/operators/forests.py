"""Ensembles of decision trees.

A tree asks one question of a feature at every node and adds the values of the leaf it arrives at to a sum for each target.  Which
way a row takes depends on its values: the work is known where all paths of every tree are as long as each other and all leaves
have as many values, and else at least that of the shortest paths and the smallest leaves.  Nothing is multiplied: a tree has no
MACs.

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

_PATHS: Final = "comparisons", "terms"
"""The questions of a row and the values of its leaves: each attribute is the least and the most of them over all rows."""
_JOINED: Final = {
    "sum": Work(add=1),
    "average": Work(add=1),
    "min": Work(compare=1),
    "max": Work(compare=1),
}


def _span(call: Call, name: str) -> tuple[int, int]:
    """The least and the most of an attribute that is both."""
    span = call.integers(name)
    if len(span) != 2 or not 0 <= span[0] <= span[1]:
        raise GraphError(f"{name} is {call[name]!r}, not the least and the most of them")
    return span


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
    """1 compare a row for every node on its paths, and 1 add (of the least or largest: 1 compare) for every value of its leaves;
    1 add a score for a base value, 1 div for an average.  Not known where paths differ in length: then at least that of the
    shortest.
    """
    if not known(call, *_PATHS):
        return None
    return _shortest(call) if all(least == most for least, most in (_span(call, name) for name in _PATHS)) else None


def _shortest(call: Call) -> Work:
    """What every row costs by the shortest path of each tree and the leaf with the fewest values."""
    comparisons, terms = (_span(call, name)[0] if known(call, name) else 0 for name in _PATHS)
    row = Work(compare=comparisons).plus(_JOINED[call.text("aggregate")].times(terms))
    scores = call.outputs[0].elements
    ends = Work(add=scores if call.has("base") else 0, div=scores if call["aggregate"] == "average" else 0)
    return row.times(call.x.shape[0]).plus(ends)


def _forest_traffic(call: Call) -> Traffic:
    """Of thresholds and leaves no more is read than the shortest paths of one row visit, as all rows may take them, and of x a
    value for every row that is asked for one; of the constants nothing, as their form is a matter of the implementation.
    Unknown where the paths are.
    """
    writes = known_total(output.bytes for output in call.outputs)
    if not known(call, *_PATHS):
        return Traffic(None, writes)
    comparisons, terms = (_span(call, name)[0] for name in _PATHS)
    rows = call.x.shape[0]
    visited = {
        "x": rows if comparisons else 0,
        "thresholds": comparisons if rows else 0,
        "leaves": terms if rows else 0,
        "members": 0,
        "structure": 0,
    }
    reads = (
        one.dtype.bytes_of(min(one.elements, visited.get(name, one.elements)))
        for name, types in call.operands.items()
        for one in types
    )
    return Traffic(known_total(reads), writes)


FOREST_OPERATORS: Final = (
    Op(
        "tree_ensemble",
        Kind.INDEX,
        "x thresholds:affine? members:affine? leaves:affine base:bias? *structure:control",
        _forest,
        _forest_work,
        least_work=_shortest,
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

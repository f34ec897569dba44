"""In which number formats a network multiplies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weighbridge.estimates.moves import call_where_known
from weighbridge.estimates.precision import precision_of
from weighbridge.graph import BRANCH, Graph, Node
from weighbridge.operators.record import Op
from weighbridge.passes.static import runs, static_tensors

__all__ = ["macs_by_precision", "most_frequent"]


def macs_by_precision(
    graph: Graph, operators: Mapping[str, Op], static: frozenset[str], nodes: Iterable[Node] | None = None
) -> dict[str | None, int]:
    """MACs of ``nodes``, by default all that run, by the precision they are computed in; bodies times their trips, of an
    ``if`` the branch with the most.

    None stands for types that have no name among precisions.
    """
    macs: dict[str | None, int] = {}
    for node in graph.nodes if nodes is None else nodes:
        for precision, inner in _inside(node, operators, static):
            macs[precision] = macs.get(precision, 0) + inner
        op = operators.get(node.operator)
        if op is None or op.loops is None or not runs(node, static):
            continue
        call = call_where_known(graph, node)
        if call is not None:
            precision = precision_of(op.multiplied(call))
            macs[precision] = macs.get(precision, 0) + op.macs(call)
    return macs


def _inside(node: Node, operators: Mapping[str, Op], static: frozenset[str]) -> Iterable[tuple[str | None, int]]:
    """The MACs of a node's bodies."""
    found = []
    for body in node.bodies:
        trips = 1 if body.trips is None else body.trips
        inner = macs_by_precision(body.graph, operators, static_tensors(body.graph, operators, outside=static))
        found.append({precision: trips * macs for precision, macs in inner.items()})
    if node.operator == BRANCH:
        return max(found, key=lambda macs: sum(macs.values()), default={}).items()
    return [item for macs in found for item in macs.items()]


def most_frequent(macs: Mapping[str | None, int]) -> str | None:
    """The precision in which most MACs are computed."""
    return max(macs, key=lambda precision: macs[precision], default=None)

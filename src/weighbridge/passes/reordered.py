"""The same graph, its nodes executed in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weighbridge.graph import Graph
from weighbridge.operators.record import Op
from weighbridge.passes.static import runs, static_tensors

__all__ = ["reordered"]


def reordered(graph: Graph, places: Sequence[int], operators: Mapping[str, Op]) -> Graph:
    """``graph`` with the nodes that run in the order of ``places``, which number them as they were; all others come first.

    What a runtime asked for in the old order (``arena``, ``allocations``) is no longer so and is left out.  Raises ``GraphError`` for
    an order in which something is read before it is made.
    """
    static = static_tensors(graph, operators)
    running = [node for node in graph.nodes if runs(node, static)]
    others = [node for node in graph.nodes if not runs(node, static)]
    nodes = (*others, *(running[place] for place in places))
    return replace(graph, nodes=nodes, allocations=(), arena=None)

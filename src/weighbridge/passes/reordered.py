"""The same graph, its nodes executed in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from weighbridge.arena import Arena
from weighbridge.graph import Graph
from weighbridge.operators.record import Op
from weighbridge.passes.static import runs, static_tensors

__all__ = ["NOT_KNOWN", "reordered"]

NOT_KNOWN: Final = "what the runtime asks for in the new order is not known"


def reordered(graph: Graph, places: Sequence[int], operators: Mapping[str, Op]) -> Graph:
    """``graph`` with the nodes that run in the order of ``places``, which number them as they were; all others come first.

    What a runtime asked for in the old order (``arena``, ``allocations``) is no longer so: nothing stands in its place, and an arena
    says why.  Raises ``GraphError`` for an order in which something is read before it is made.
    """
    static = static_tensors(graph, operators)
    running = [node for node in graph.nodes if runs(node, static)]
    others = [node for node in graph.nodes if not runs(node, static)]
    nodes = (*others, *(running[place] for place in places))
    arena = graph.arena
    if arena is not None and arena.is_known:  # a model that is refused is refused in every order
        arena = Arena(reason=arena.reason or NOT_KNOWN)
    return replace(graph, nodes=nodes, allocations=(), arena=arena)

"""Activation functions that the operator before them applies as it writes its result."""

from __future__ import annotations

from collections.abc import Mapping

from weighbridge.graph import Graph, Node
from weighbridge.operators.record import Kind, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import changed, in_bodies, read_counts, rebuilt

__all__ = ["fuse_activations"]


def fuse_activations(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with each unary function merged into its producer, if that may take it and nothing else reads its result.

    A chain of them merges one after the other.  The producer keeps its name and place and makes the function's output;
    the function stands in ``Node.fused``, as it was.
    """
    graph = in_bodies(graph, lambda body: fuse_activations(body, operators))
    reads = read_counts(graph)
    nodes: list[Node] = []
    made: dict[str, int] = {}
    gone: set[str] = set()
    for node in graph.nodes:
        op = operators.get(node.operator)
        if op is not None and op.kind == Kind.UNARY and len(node.operands) == len(node.outputs) == 1:
            source = node.operands[0][1]
            place = made.get(source)
            if place is not None and reads[source] == 1:
                producer = nodes[place]
                nodes[place] = changed(producer, outputs=node.outputs, fused=(*producer.fused, node))
                made[node.outputs[0]] = place
                gone.add(source)
                continue
        if op is not None and op.fuses and len(node.outputs) == 1:
            made[node.outputs[0]] = len(nodes)
        nodes.append(node)
    if not gone:
        return graph
    return rebuilt(graph, nodes, tensors={key: tensor for key, tensor in graph.tensors.items() if key not in gone})

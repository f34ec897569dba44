"""Operators that do nothing at inference: identity, and dropout."""

from __future__ import annotations

from collections.abc import Mapping

from weighbridge.graph import Graph, Node
from weighbridge.operators.record import Kind, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import body_tensors, in_bodies, read_counts, rebuilt, renamed

__all__ = ["drop_identities"]


def drop_identities(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` without its identities: their readers read what they read.

    One stays where a further output is in use (the mask of a dropout), or where a body takes its output under its name.
    An output of the graph that an identity made becomes the tensor that it read.
    """
    graph = in_bodies(graph, lambda body: drop_identities(body, operators))
    identities = [node for node in graph.nodes if node.operator in operators and _is_identity(operators[node.operator])]
    if not identities:
        return graph
    reads, fixed = read_counts(graph), body_tensors(graph)
    names: dict[str, str] = {}
    nodes: list[Node] = []
    dropped = {
        node.name
        for node in identities
        if node.outputs[0] not in fixed and not any(reads[tensor] for tensor in node.outputs[1:])
    }
    for node in graph.nodes:
        if node.name in dropped:
            source = node.operands[0][1]
            names[node.outputs[0]] = names.get(source, source)
        else:
            nodes.append(renamed(node, names))
    if not dropped:
        return graph
    gone = {tensor for node in identities if node.name in dropped for tensor in node.outputs}
    tensors = {key: tensor for key, tensor in graph.tensors.items() if key not in gone}
    outputs = tuple(names.get(tensor, tensor) for tensor in graph.outputs)
    return rebuilt(graph, nodes, tensors=tensors, outputs=outputs)


def _is_identity(op: Op) -> bool:
    return op.kind == Kind.IDENTITY

"""Operators that do nothing at inference: identity, dropout, and pools of single values."""

from __future__ import annotations

from collections.abc import Mapping

from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node
from weighbridge.operators.record import Kind, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import body_tensors, call_of, in_bodies, read_counts, rebuilt, renamed

__all__ = ["drop_identities"]


def drop_identities(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` without its identities: their readers read what they read.

    One stays where a further output is in use (the mask of a dropout), or where a body takes its output under its name.
    An output of the graph that an identity made becomes the tensor that it read.
    """
    graph = in_bodies(graph, lambda body: drop_identities(body, operators))
    identities = [node for node in graph.nodes if _is_identity(node, graph, operators)]
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


def _is_identity(node: Node, graph: Graph, operators: Mapping[str, Op]) -> bool:
    op = operators.get(node.operator)
    if op is None or op.does_nothing is None:
        return op is not None and op.kind == Kind.IDENTITY
    try:
        return op.does_nothing(call_of(node, graph))
    except GraphError:
        return False  # an unknown shape, or attributes that only a file can have: it stays, and is counted with a note

"""What every rewrite needs: readers, recursion into bodies, and a graph without what nobody refers to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from weighbridge.errors import GraphError
from weighbridge.graph import Body, Graph, Node, Tensor, TensorType
from weighbridge.operators.record import Call, grouped

__all__ = [
    "body_tensors",
    "call_of",
    "changed",
    "in_bodies",
    "pruned",
    "read_counts",
    "rebuilt",
    "renamed",
    "unused_id",
]


def read_counts(graph: Graph) -> Counter[str]:
    """How often each tensor is read: by operands, as an output of the graph, and once for all bodies that mention it."""
    counts = Counter([tensor for node in graph.nodes for _, tensor in node.operands])
    counts.update(graph.outputs)
    counts.update(body_tensors(graph))
    return counts


def body_tensors(graph: Graph) -> set[str]:
    """The ids that the bodies of the graph's nodes mention.  A rewrite outside must leave these as they are."""
    found: set[str] = set()
    for node in graph.nodes:
        if node.bodies:
            found.update(node.inputs)
        for body in node.bodies:
            found.update(body.graph.tensors)
            found |= body_tensors(body.graph)
    return found


def in_bodies(graph: Graph, rewrite: Callable[[Graph], Graph]) -> Graph:
    """``graph`` with the bodies of its nodes rewritten; itself if none of them changes."""
    if not any(node.bodies for node in graph.nodes):
        return graph
    nodes: list[Node] = []
    differs = False
    for node in graph.nodes:
        if node.bodies:
            bodies = tuple(Body(body.name, rewrite(body.graph), body.trips) for body in node.bodies)
            if any(new.graph is not old.graph for new, old in zip(bodies, node.bodies, strict=True)):
                node = replace(node, bodies=bodies)  # noqa: PLW2901
                differs = True
        nodes.append(node)
    return rebuilt(graph, nodes) if differs else graph


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """``node`` with the operands that ``names`` replaces replaced."""
    for _, tensor in node.operands:
        if tensor in names:
            break
    else:
        return node
    return changed(node, operands=tuple((operand, names.get(tensor, tensor)) for operand, tensor in node.operands))


def call_of(node: Node, graph: Graph) -> Call:
    """What the rules see of a node.  Raises ``GraphError`` where the shape of an operand or a result is unknown."""
    operands = grouped((name, _type(graph, tensor)) for name, tensor in node.operands)
    return Call(operands, node.attributes, tuple(_type(graph, tensor) for tensor in node.outputs))


def _type(graph: Graph, tensor: str) -> TensorType:
    found = graph.tensors[tensor].type
    if found is None:
        raise GraphError(f"the shape of {tensor} is unknown")
    return found


def changed(
    node: Node,
    *,
    operands: tuple[tuple[str, str], ...] | None = None,
    outputs: tuple[str, ...] | None = None,
    fused: tuple[Node, ...] | None = None,
) -> Node:
    """``node`` with other operands, outputs or fused functions (three times as fast as ``dataclasses.replace``)."""
    return Node(
        node.name,
        node.operator,
        node.operands if operands is None else operands,
        node.outputs if outputs is None else outputs,
        node.attributes,
        node.scope,
        node.origin,
        node.bodies,
        node.fused if fused is None else fused,
        node.reason,
        node.file_node,
    )


def rebuilt(
    graph: Graph,
    nodes: Iterable[Node],
    *,
    tensors: Mapping[str, Tensor] | None = None,
    outputs: tuple[str, ...] | None = None,
) -> Graph:
    """``graph`` with other nodes, and other tensors and outputs where given."""
    return Graph(
        graph.name,
        graph.tensors if tensors is None else tensors,
        tuple(nodes),
        graph.inputs,
        graph.outputs if outputs is None else outputs,
        graph.notes,
        graph.capture,
        graph.allocations,
        graph.blocks,
        graph.arena,
    )


def pruned(graph: Graph) -> Graph:
    """``graph`` without the tensors that no node, input or output refers to; in bodies too."""
    graph = in_bodies(graph, pruned)
    used = {tensor for node in graph.nodes for _, tensor in node.operands}
    used.update(*[node.outputs for node in graph.nodes], graph.inputs, graph.outputs)
    if len(used) == len(graph.tensors):
        return graph
    tensors = {key: tensor for key, tensor in graph.tensors.items() if key in used}
    return rebuilt(graph, graph.nodes, tensors=tensors)


def unused_id(tensors: Mapping[str, Tensor], wanted: str) -> str:
    """``wanted``, or it with the first number behind it that makes it new."""
    candidate, number = wanted, 1
    while candidate in tensors:
        number += 1
        candidate = f"{wanted}#{number}"
    return candidate

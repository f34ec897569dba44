"""Functions of one tensor that a file spells as a product of the tensor and a gate computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.graph import Graph, Node
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import in_bodies, read_counts, rebuilt

__all__ = ["recognise_gates"]

_SILU: Final = "silu"
_FUNCTIONS: Final = {"sigmoid": _SILU, "hard_sigmoid": "hard_swish"}
_SIXTH: Final = 1 / 6


def recognise_gates(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with ``x * sigmoid(x)`` as the one function silu, and ``x * hard_sigmoid(x)`` as hard_swish.

    Exporters to formats without these functions take them apart (ONNX before operator set 24 has no silu); whoever runs
    the graph fuses them, as they do with the function itself.  The gate must have no other reader.
    """
    graph = in_bodies(graph, lambda body: recognise_gates(body, operators))
    gates = {node.outputs[0]: node for node in graph.nodes if node.operator in _FUNCTIONS and _is_gate(node)}
    if not gates:
        return graph
    reads = read_counts(graph)
    nodes: list[Node] = []
    gone: set[str] = set()
    for node in graph.nodes:
        gate = _gate_of(node, gates)
        if gate is None or reads[gate.outputs[0]] > 1:
            nodes.append(node)
            continue
        name = _FUNCTIONS[gate.operator]
        attributes = operators[name].attributes
        function = Node(
            node.name, name, gate.operands, node.outputs, attributes, node.scope, node.origin, file_node=node.file_node
        )
        nodes.append(function)
        gone.add(gate.outputs[0])
    if not gone:
        return graph
    kept = [node for node in nodes if not gone.intersection(node.outputs)]
    return rebuilt(graph, kept, tensors={key: tensor for key, tensor in graph.tensors.items() if key not in gone})


def _is_gate(node: Node) -> bool:
    """Whether a function is the gate of silu or of hard_swish, which is a hard sigmoid of slope 1/6 through 1/2."""
    if node.operator == "sigmoid":
        return True
    slope, offset = node.attributes["alpha"], node.attributes["beta"]
    return isinstance(slope, float) and abs(slope - _SIXTH) < 1e-4 and offset == 0.5


def _gate_of(node: Node, gates: Mapping[str, Node]) -> Node | None:
    """The gate that a product applies to its own operand."""
    if node.operator != "mul" or len(node.operands) != 2:
        return None
    (_, first), (_, second) = node.operands
    for gate, value in ((first, second), (second, first)):
        found = gates.get(gate)
        if found is not None and found.operands[0][1] == value:
            return found
    return None

"""Functions that an exporter took apart into simpler operators, put together again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from weighbridge.graph import Graph, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import body_tensors, in_bodies, rebuilt
from weighbridge.passes.wiring import SCORES, Match, Wiring

__all__ = ["recognise_functions"]


class _Pattern(NamedTuple):
    """How a function is found around a node.

    ``needs`` is an operator that is always a part of it, and ``operand`` are those that may make what the node is applied to:
    in most networks they rule a function out before anything is looked at closely.
    """

    found: Callable[[Wiring, Node], Match | None]
    needs: str
    operand: frozenset[str]


def _gelu(wiring: Wiring, node: Node) -> Match | None:
    """As the other two: imported once a graph may have one, which most have not."""
    from weighbridge.passes.recognise_gelu import gelu

    return gelu(wiring, node)


def _normalisation(wiring: Wiring, node: Node) -> Match | None:
    from weighbridge.passes.recognise_norms import normalisation

    return normalisation(wiring, node)


def _attention(wiring: Wiring, node: Node) -> Match | None:
    from weighbridge.passes.recognise_attention import attention

    return attention(wiring, node)


_SCALED: Final = frozenset({"mul", "div"})
_PATTERNS: Final[Mapping[str, _Pattern]] = {
    **dict.fromkeys(("erf", "tanh", "sigmoid"), _Pattern(_gelu, "mul", _SCALED)),
    **dict.fromkeys(("sqrt", "rsqrt"), _Pattern(_normalisation, "reduce_mean", frozenset({"add"}))),
    "softmax": _Pattern(_attention, "matmul", SCORES),
}


def recognise_functions(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with attention, GELU, layer norm and RMS norm that were written in parts as the one operator each of them is.

    What has another reader, is a result of the graph or is needed by a body is no part of a function.  The MACs stay what
    they were: the operators' own rules are asked before anything is replaced.
    """
    graph = in_bodies(graph, lambda body: recognise_functions(body, operators))
    nodes = _candidates(graph)
    if not nodes:
        return graph
    wiring = Wiring(graph, operators)
    found = [_PATTERNS[node.operator].found(wiring, node) for node in nodes if node.outputs[0] not in wiring.static]
    matches = [match for match in found if match is not None]
    return _replaced(graph, matches) if matches else graph


def _candidates(graph: Graph) -> list[Node]:
    """The nodes around which there may be a function."""
    present = {node.operator for node in graph.nodes}
    if not any(name in present and pattern.needs in present for name, pattern in _PATTERNS.items()):
        return []
    made = {node.outputs[0]: node.operator for node in graph.nodes if node.outputs}
    nodes = [node for node in graph.nodes if node.operator in _PATTERNS]
    return [node for node in nodes if made.get(node.operands[0][1]) in _PATTERNS[node.operator].operand]


def _replaced(graph: Graph, matches: list[Match]) -> Graph:
    instead = {name: nodes for match in matches for name, nodes in match.nodes.items()}
    parts = {name for match in matches for name in match.parts}
    tensors = dict(graph.tensors)
    tensors.update((tensor.id, tensor) for match in matches for tensor in match.tensors)
    nodes = [new for node in graph.nodes for new in instead.get(node.name, (node,))]
    reads = Counter([tensor for node in nodes for _, tensor in node.operands])
    reads.update(graph.outputs)
    reads.update(body_tensors(graph))
    kept: list[Node] = []
    for node in reversed(nodes):
        if node.name in parts and node.name not in instead and not any(reads[tensor] for tensor in node.outputs):
            reads.subtract(node.inputs)
            for tensor in node.outputs:
                del tensors[tensor]
        else:
            kept.append(node)
    return rebuilt(graph, reversed(kept), tensors=tensors)

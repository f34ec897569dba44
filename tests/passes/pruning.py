"""What tests of pruning ask of a graph: that its shapes are those of the operators' own rules."""

from __future__ import annotations

from fractions import Fraction

from weighbridge import counts
from weighbridge.counts import NetworkFacts
from weighbridge.errors import GraphError
from weighbridge.graph import Graph, TensorType
from weighbridge.operators.record import Call
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy
from weighbridge.passes.rewrite import call_of
from weighbridge.passes.what_if.prune import prune_channels

__all__ = ["facts_of", "pruned_by", "shapes_that_differ"]


def pruned_by(graph: Graph, percent: int, target: str = "") -> Graph:
    return prune_channels(graph, [(target, Fraction(percent, 100))])


def facts_of(graph: Graph) -> NetworkFacts:
    return counts.count(graph, deploy(graph))


def shapes_that_differ(graph: Graph, *, beside: Graph | None = None) -> list[str]:
    """The nodes whose stated result is not what their operator's rule infers; of a graph made from another, ``beside``, less
    those that had another shape there already, or none.
    """
    known = set() if beside is None else set(shapes_that_differ(beside))
    wrong = []
    for node in graph.nodes:
        op = OPERATORS.get(node.operator)
        if op is None or node.bodies or node.name in known:
            continue
        try:
            call = call_of(node, graph)
            made = op.infer(Call(call.operands, call.attributes))
            shapes = [one.shape if isinstance(one, TensorType) else None for one in made]
        except GraphError as error:
            wrong.append(node.name)
            assert beside is None, f"{node.name}: {error}"
            continue
        if shapes != [one.shape for one in call.outputs]:
            wrong.append(node.name)
    return wrong

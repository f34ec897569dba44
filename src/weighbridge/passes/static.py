"""What depends on no input, and what a learned tensor is used for.

A tensor is *static* if it is stored, or made by a node that needs only static tensors: it is computed once, before the
first inference, and costs no inference anything.  Since every shape is a number, an operator that looks only at the
shape of its operand is static too.  In a program that computes everything anew (``Graph.recomputes``) a contraction runs
all the same, and what it makes is only *fixed*: it depends on no input.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache
from typing import Final

from weighbridge.graph import Graph, Node, Role
from weighbridge.operators.record import Op, parse_operands
from weighbridge.operators.rules import reads_nothing
from weighbridge.operators.table import OPERATORS

__all__ = ["parameter_uses", "reads_values", "runs", "static_sources", "static_tensors", "uses_in_both"]

_RANKS: Final = {"weight": 2, "bias": 1}
_USES: Final = ("other", "bias", "weight")


def static_tensors(
    graph: Graph, operators: Mapping[str, Op] = OPERATORS, *, outside: Set[str] = frozenset()
) -> frozenset[str]:
    """The ids of the static tensors of ``graph``; ``outside`` are those of an enclosing graph that a body takes over."""
    return _independent(graph, operators, outside, with_contractions=not graph.recomputes)


def _fixed_tensors(graph: Graph, operators: Mapping[str, Op], outside: Set[str] = frozenset()) -> frozenset[str]:
    """The ids of all tensors that depend on no input, whoever computes them and when."""
    return _independent(graph, operators, outside, with_contractions=True)


def _independent(
    graph: Graph, operators: Mapping[str, Op], outside: Set[str], *, with_contractions: bool
) -> frozenset[str]:
    tensors = graph.tensors
    found = {tensor.id for tensor in graph.stored()}
    found.update(tensor for tensor in graph.inputs if tensor in outside)  # in time that does not grow with ``outside``
    for node in graph.nodes:
        for _, tensor in node.operands:
            if tensor not in found:
                op = operators.get(node.operator)
                if op is None or op.traffic is not reads_nothing:
                    break
                if not all(tensors[one].shape is not None for one in (*node.inputs, *node.outputs)):
                    break
        else:
            op = operators.get(node.operator)
            if op is not None and not op.random and not node.bodies and (with_contractions or op.loops is None):
                found.update(node.outputs)
    return frozenset(found)


def runs(node: Node, static: frozenset[str]) -> bool:
    """Whether ``node`` runs once an inference, as opposed to once and for all."""
    return not node.outputs or node.outputs[0] not in static


def reads_values(node: Node, operators: Mapping[str, Op]) -> bool:
    """Whether the operator looks at its operands' values, and not only at their shapes."""
    op = operators.get(node.operator)
    return op is None or op.traffic is not reads_nothing


def static_sources(
    graph: Graph, static: frozenset[str], operators: Mapping[str, Op] = OPERATORS
) -> dict[str, frozenset[str]]:
    """For every static tensor that depends on the values of parameters, their ids; a parameter depends on itself."""
    sources = {tensor.id: frozenset((tensor.id,)) for tensor in graph.stored() if tensor.role is Role.PARAMETER}
    nothing: frozenset[str] = frozenset()
    for node in graph.nodes:
        if runs(node, static) or not reads_values(node, operators):
            continue
        found = nothing
        for _, tensor in node.operands:
            more = sources.get(tensor, nothing)
            found = found | more if found and more else found or more
        if found:
            sources.update(dict.fromkeys(node.outputs, found))
    return sources


def parameter_uses(
    graph: Graph, operators: Mapping[str, Op] = OPERATORS, *, static: frozenset[str] | None = None
) -> dict[str, str]:
    """For every parameter of ``graph`` and its bodies: ``weight``, ``bias`` or ``other``.

    A parameter is a weight if it reaches, directly or through nodes that depend on no input, an operand that a
    contraction or a lookup uses as its weight; else a bias if it reaches a bias operand.  ``static`` saves finding the
    static tensors again.
    """
    ranks: dict[str, int] = {}
    parameters: dict[str, None] = {}
    found = _fixed_tensors(graph, operators) if static is None or graph.recomputes else static
    _rank(graph, operators, found, ranks, parameters)
    return {tensor: _USES[ranks.get(tensor, 0)] for tensor in parameters}


def uses_in_both(held: Graph, deployed: Mapping[str, str], operators: Mapping[str, Op] = OPERATORS) -> dict[str, str]:
    """What the parameters of ``held`` are for: the first of weight, bias and other that it or the uses in ``deployed`` say.

    A bias that a file adds in a node of its own is one in the deployed graph alone.  What is computed from a parameter in
    advance keeps its id there, so a use of it is one of the parameter.
    """
    fixed = _fixed_tensors(held, operators)
    uses = parameter_uses(held, operators, static=fixed)
    graphs = [(held, fixed)]
    while graphs:
        graph, fixed = graphs.pop()
        sources = static_sources(graph, fixed, operators)
        for tensor, later in deployed.items():
            if later != "other":
                for source in sources.get(tensor, ()):
                    if later == "weight" or uses[source] == "other":
                        uses[source] = later
        for node in graph.nodes:
            graphs.extend((body.graph, _fixed_tensors(body.graph, operators, fixed)) for body in node.bodies)
    return uses


def _rank(
    graph: Graph,
    operators: Mapping[str, Op],
    static: frozenset[str],
    ranks: dict[str, int],
    parameters: dict[str, None],
) -> None:
    parameters.update([(tensor.id, None) for tensor in graph.stored() if tensor.role is Role.PARAMETER])
    for node in reversed(graph.nodes):
        for body in node.bodies:
            inner = _fixed_tensors(body.graph, operators, static)
            _rank(body.graph, operators, inner, ranks, parameters)
        passed_on = 0 if runs(node, static) else max(ranks.get(tensor, 0) for tensor in node.outputs)
        op = operators.get(node.operator)
        slots = {} if op is None else _slot_ranks(op.operands)
        for operand, tensor in node.operands:
            if tensor in static:
                rank = slots.get(operand, 0) or passed_on
                if rank and max(rank, passed_on) > ranks.get(tensor, 0):
                    ranks[tensor] = max(rank, passed_on)


@cache
def _slot_ranks(operands: str) -> dict[str, int]:
    return {slot.name: _RANKS.get(slot.use, 0) for slot in parse_operands(operands)}

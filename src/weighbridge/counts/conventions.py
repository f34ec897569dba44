"""What other counters would print: the figures of a network by conventions that are not ours.

A convention is one record in ``CONVENTIONS``: for each operator a rule for what it calls multiply-accumulates, for some a rule
for what they call activations, and the sentence that defines it.  A counter that follows a run of the module reads the graph
as the model holds it, before anything is folded or fused, and counts every node, those that depend on no input included; a
compiler reads the graph as it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from weighbridge.counts.convention import Around, Convention, Rule, Use
from weighbridge.counts.convention_fvcore import FVCORE
from weighbridge.counts.convention_st import ST
from weighbridge.counts.convention_vela import VELA
from weighbridge.counts.cost import reason_of
from weighbridge.counts.facts import ConventionFacts, Uncounted
from weighbridge.errors import BadSpec, GraphError
from weighbridge.graph import Graph, Node, Role
from weighbridge.operators.record import Call, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.deployment import deploy
from weighbridge.passes.rewrite import call_of
from weighbridge.passes.static import runs

__all__ = ["CONVENTIONS", "by_convention", "convention_named"]

CONVENTIONS: Final[Mapping[str, Convention]] = MappingProxyType({"fvcore": FVCORE, "st": ST, "vela": VELA})
"""Every convention that can be asked for, by name."""


def convention_named(name: object) -> str:
    """``name`` if it is that of a convention.  Raises ``BadSpec`` if not."""
    if isinstance(name, str) and name in CONVENTIONS:
        return name
    hint = f"the conventions are {', '.join(CONVENTIONS)}"
    raise BadSpec(f"there is no convention {name!r}", where="convention", hint=hint)


def by_convention(graph: Graph, convention: Convention, operators: Mapping[str, Op] = OPERATORS) -> ConventionFacts:
    """The figures by ``convention`` of ``graph``, which is as the model holds it; a ``deployed`` convention folds and fuses it first.

    Parameters are all learned elements, each storage once.  A node with bodies is not counted: the counters follow one
    run, in which there is no control flow.
    """
    if convention.deployed:
        graph = deploy(graph, operators)
    around = Around(graph, operators)
    macs = 0
    activations = None if convention.activations is None else 0
    uncounted: list[Uncounted] = []
    uses: list[Use] = []
    for node in graph.nodes:
        if convention.deployed and not runs(node, around.static):
            continue
        found = _counted(node, around, convention, operators, uses)
        if isinstance(found, str):
            uncounted.append(_named(node, found))
            continue
        macs, activations = macs + found[0], None if activations is None else activations + found[1]
        for function in node.fused:
            of_function = _of_fused(function, node, around, convention.fused)
            if isinstance(of_function, str):
                uncounted.append(_named(function, of_function))
            else:
                macs += of_function
    learned = [tensor for tensor in graph.stored() if tensor.role is Role.PARAMETER]
    return ConventionFacts(
        macs=macs,
        activations=activations,
        parameters=sum(tensor.elements or 0 for tensor in learned),
        weight_bytes=convention.weight_bytes(graph, uses),
        exact=not uncounted and all(tensor.elements is not None for tensor in learned),
        uncounted=tuple(uncounted),
    )


def _counted(
    node: Node, around: Around, convention: Convention, operators: Mapping[str, Op], uses: list[Use]
) -> tuple[int, int] | str:
    """(MACs, activations) of a node, or why it has none; what is counted is added to ``uses``."""
    if node.bodies:
        return "the convention is for a run of the network, which has no control flow"
    op = operators.get(node.operator)
    reason = reason_of(node, op)
    if op is None or reason:
        return reason
    of_macs, of_activations = convention.macs.get(op.name), (convention.activations or {}).get(op.name)
    if of_macs is None and of_activations is None and not convention.is_free(op):
        return f"the convention has no rule for {op.name}"
    if of_macs is None and of_activations is None:
        return 0, 0
    try:
        use = around.use(op, node, call_of(node, around.graph))
        macs, activations = (0 if rule is None else rule(use) for rule in (of_macs, of_activations))
    except GraphError as error:
        return error.what
    uses.append(use)
    return macs, activations


def _of_fused(function: Node, into: Node, around: Around, rule: Rule | None) -> int | str:
    """What a function counts that is merged into the node ``into``, or why nobody knows."""
    if rule is None:
        return 0
    try:
        result = call_of(into, around.graph).outputs
        call = Call({"x": result}, function.attributes, result)
        return rule(Use(around.operators[function.operator], call, channels=around.channels(into)))
    except GraphError as error:
        return error.what


def _named(node: Node, reason: str) -> Uncounted:
    return Uncounted(node.name, node.origin or node.operator, reason)

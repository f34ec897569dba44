"""What a network asks of a machine, by class of operators: the terms that its expected time is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from weighbridge.counts.cost import body_cost, cost_of, counted_branch
from weighbridge.counts.facts import NetworkFacts
from weighbridge.errors import GraphError
from weighbridge.estimates.moves import call_where_known
from weighbridge.graph import BRANCH, CONTROL, Graph, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Call, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.operators.time_class import TIME_CLASSES, TimeClass
from weighbridge.passes.static import runs, static_tensors

__all__ = ["ClassWork", "class_work"]


class ClassWork(NamedTuple):
    """What all nodes of one class of ``operators.time_class.TIME_CLASSES`` ask together in one run.

    ``macs`` are multiply-accumulates, ``bytes`` those read and written by each node, ``special`` evaluations of functions without an
    instruction (exp, erf), ``nodes`` the nodes, ``steps`` the kernels that start one after the other: a node once, a recurrence once a
    time step.  Lower bounds unless ``exact``.
    """

    operators: str
    macs: int
    bytes: int
    special: int
    nodes: int
    steps: int
    exact: bool = True

    def plus(self, other: ClassWork) -> ClassWork:
        """Both together; the class is that of the first."""
        name, m, b, f, n, k, exact = self
        _, o, c, g, p, t, other_exact = other
        return ClassWork(name, m + o, b + c, f + g, n + p, k + t, exact and other_exact)

    def times(self, count: int) -> ClassWork:
        """So many times over."""
        name, m, b, f, n, k, exact = self
        return ClassWork(name, m * count, b * count, f * count, n * count, k * count, exact)


def class_work(graph: Graph, facts: NetworkFacts, operators: Mapping[str, Op] = OPERATORS) -> tuple[ClassWork, ...]:
    """What the nodes of ``graph`` ask that run, by class in the order of ``TIME_CLASSES``; ``facts`` are its own.

    The nodes of a body count as often as it runs, of an ``if`` those of the branch that is counted.  What has no rule, or sizes that no
    rule tells, is in the class ``other`` and not exact.
    """
    static = static_tensors(graph, operators)
    running = (node for node in graph.nodes if runs(node, static))
    found = dict[str, ClassWork]()
    for node, counted in zip(running, facts.nodes, strict=True):
        if node.operator in CONTROL:
            _add(found, _in_bodies(node, operators, static))
        else:
            special = None if counted.work is None else counted.work.special
            asked = _Asked(counted.macs, counted.read_bytes, counted.write_bytes, special)
            _add(found, _of_node(graph, node, asked, operators, static))
    return tuple(found[name] for name in TIME_CLASSES if name in found)


class _Asked(NamedTuple):
    """What is known of one node; None is unknown."""

    macs: int | None
    read_bytes: int | None
    write_bytes: int | None
    special: int | None


def _add(found: dict[str, ClassWork], parts: Iterable[ClassWork]) -> None:
    for part in parts:
        before = found.get(part.operators)
        found[part.operators] = part if before is None else before.plus(part)


def _of_node(
    graph: Graph, node: Node, asked: _Asked, operators: Mapping[str, Op], static: frozenset[str]
) -> Iterator[ClassWork]:
    """The node as one of its class; nothing if it is of none."""
    op, call = operators.get(node.operator), call_where_known(graph, node)
    name, steps = _named(op, call, node, static)
    if name == TimeClass.NONE:
        return
    exact = name is not None and None not in asked
    macs, read_bytes, write_bytes, special = (amount or 0 for amount in asked)
    yield ClassWork(name or TimeClass.OTHER, macs, read_bytes + write_bytes, special, 1, steps, exact)


def _named(op: Op | None, call: Call | None, node: Node, static: frozenset[str]) -> tuple[str | None, int]:
    """The class of a node, None where that is unknown, and how many kernels start one after the other."""
    if op is not None and op.timed_as == TimeClass.NONE:
        return TimeClass.NONE, 0
    if op is None or call is None:
        return None, 1
    weights = {slot.name for slot in op.slots if slot.use == "weight"}
    has_weights = any(tensor in static for slot, tensor in node.operands if slot in weights)
    try:
        return op.time_class(call, has_weights), 1 if op.steps is None else op.steps(call)
    except GraphError:
        return None, 1


def _in_bodies(node: Node, operators: Mapping[str, Op], static: frozenset[str]) -> Iterator[ClassWork]:
    """What the body that counts asks, times its trips: one where these are unknown."""
    bodies = node.bodies
    if node.operator == BRANCH and len(bodies) > 1:
        bodies = (bodies[counted_branch([body_cost(body, operators, static) for body in bodies])],)
    if not bodies:
        yield ClassWork(TimeClass.OTHER, 0, 0, 0, 1, 1, exact=False)
    for body in bodies:
        found = dict[str, ClassWork]()
        inner = static_tensors(body.graph, operators, outside=static)
        for one in body.graph.nodes:
            if runs(one, inner):
                _add(found, _inside(body.graph, one, operators, inner))
        for part in found.values():
            once = part if body.trips is not None else part._replace(exact=False)
            if body.trips != 0:
                yield once.times(body.trips or 1)


def _inside(graph: Graph, node: Node, operators: Mapping[str, Op], static: frozenset[str]) -> Iterator[ClassWork]:
    """A node of a body, which no facts have by itself."""
    if node.operator in CONTROL:
        return _in_bodies(node, operators, static)
    cost = cost_of(node, graph, operators, static)
    special = cost.work.special if cost.work_exact else None
    asked = _Asked(cost.macs if cost.macs_exact else None, cost.read_bytes, cost.write_bytes, special)
    return _of_node(graph, node, asked, operators, static)

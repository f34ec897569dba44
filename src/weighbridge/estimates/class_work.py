"""What a network asks of a machine, by class of operators: the terms that its expected time is made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weighbridge.counts.cost import body_cost, cost_of, counted_branch
from weighbridge.counts.facts import NetworkFacts
from weighbridge.errors import GraphError
from weighbridge.estimates.moves import call_where_known
from weighbridge.graph import BRANCH, CONTROL, Graph, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Call, Op, Work
from weighbridge.operators.table import OPERATORS
from weighbridge.operators.time_class import LANES, TIME_CLASSES, TimeClass
from weighbridge.passes.static import runs, static_tensors

__all__ = ["ClassWork", "NodeWork", "class_work", "node_works"]


class NodeWork(NamedTuple):
    """What one node asks in a run, or so many ``nodes`` that are alike, all of them together.

    ``macs`` are multiply-accumulates, ``lane_macs`` those where channels are computed so many at a time, for each of ``LANES``.
    ``running_bytes`` are those of inputs and outputs, ``stored_bytes`` those of stored tensors; ``streamed_bytes`` are the latter as often
    as they are read: in each step of a recurrence.  ``operations`` are additions, multiplications and divisions beside, ``compares``
    comparisons, ``special`` evaluations of functions without an instruction (exp, erf).  ``steps`` are the kernels that start one after the
    other: a node once, a recurrence once a time step, a matrix product once for each of its matrices.  Lower bounds unless ``exact``.
    """

    operators: str
    macs: int = 0
    lane_macs: tuple[int, ...] = (0,) * len(LANES)
    running_bytes: int = 0
    stored_bytes: int = 0
    streamed_bytes: int = 0
    operations: int = 0
    compares: int = 0
    special: int = 0
    nodes: int = 1
    steps: int = 1
    exact: bool = True

    def times(self, count: int) -> NodeWork:
        """So many times over."""
        numbers = {name: getattr(self, name) * count for name in self._fields if name not in _NO_NUMBERS}
        return self._replace(lane_macs=tuple(macs * count for macs in self.lane_macs), **numbers)

    def far_bytes(self, near_bytes: float, stored_far: float) -> float:
        """Those of its bytes that do not lie in ``near_bytes`` of memory: what a node's values exceed these by, and of stored tensors the
        share ``stored_far``.  What a recurrence reads again is near where all of its weights are.
        """
        once = (self.running_bytes / self.nodes, self.stored_bytes / self.nodes) if self.nodes else (0.0, 0.0)
        running, kept = (_beyond(size, near_bytes) for size in once)
        again = self.streamed_bytes - self.stored_bytes
        return self.running_bytes * running + self.stored_bytes * stored_far + again * kept


_NO_NUMBERS: Final = frozenset({"operators", "lane_macs", "exact"})


class ClassWork(NamedTuple):
    """What all nodes of one class of ``operators.time_class.TIME_CLASSES`` ask together in one run.

    ``macs`` are those with so many lanes, ``bytes`` all that are read and written, ``far_bytes`` those of them that lie beyond the nearest
    memory.  The rest is as in ``NodeWork``.
    """

    operators: str
    macs: float = 0
    bytes: float = 0
    far_bytes: float = 0
    operations: float = 0
    compares: float = 0
    special: float = 0
    nodes: float = 0
    steps: float = 0
    exact: bool = True


def _beyond(size: float, near_bytes: float) -> float:
    """The share of ``size`` that is too much for ``near_bytes``."""
    return max(0.0, 1 - near_bytes / size) if size else 0.0


def class_work(works: Sequence[NodeWork], near_bytes: float | None = None, lanes: int = 1) -> tuple[ClassWork, ...]:
    """``works`` of a network by class, in the order of ``TIME_CLASSES``.

    With ``near_bytes`` bytes are far that a memory of that size cannot hold: of a node's values those beyond it; of the stored tensors
    the share that all of them, with the values of the largest node, exceed it by, as every run goes through all of them.
    """
    near = math.inf if near_bytes is None else near_bytes
    stored = sum(one.stored_bytes for one in works)
    largest = max((one.running_bytes // one.nodes for one in works if one.nodes), default=0)
    stored_far = _beyond(stored + largest, near)
    found: dict[str, ClassWork] = {}
    for one in works:
        found[one.operators] = _plus(found.get(one.operators, ClassWork(one.operators)), one, near, stored_far, lanes)
    return tuple(found[name] for name in TIME_CLASSES if name in found)


def _plus(before: ClassWork, one: NodeWork, near: float, stored_far: float, lanes: int) -> ClassWork:
    return ClassWork(
        operators=before.operators,
        macs=before.macs + one.lane_macs[LANES.index(lanes)],
        bytes=before.bytes + one.running_bytes + one.streamed_bytes,
        far_bytes=before.far_bytes + one.far_bytes(near, stored_far),
        operations=before.operations + one.operations,
        compares=before.compares + one.compares,
        special=before.special + one.special,
        nodes=before.nodes + one.nodes,
        steps=before.steps + one.steps,
        exact=before.exact and one.exact,
    )


def node_works(graph: Graph, facts: NetworkFacts, operators: Mapping[str, Op] = OPERATORS) -> tuple[NodeWork, ...]:
    """What the nodes of ``graph`` ask that run and take time, in their order; ``facts`` are its own.

    The nodes of a body count as often as it runs, of an ``if`` those of the branch that is counted.  What has no rule, or sizes that no
    rule tells, is in the class ``other`` and not exact.
    """
    static = static_tensors(graph, operators)
    running = (node for node in graph.nodes if runs(node, static))
    found: list[NodeWork] = []
    for node, counted in zip(running, facts.nodes, strict=True):
        if node.operator in CONTROL:
            found += _in_bodies(node, operators, static)
        else:
            asked = _Asked(counted.macs, counted.read_bytes, counted.write_bytes, counted.work)
            found += _of_node(graph, node, asked, operators, static)
    return tuple(found)


class _Asked(NamedTuple):
    """What is known of one node; None is unknown."""

    macs: int | None
    read_bytes: int | None
    write_bytes: int | None
    work: Work | None


def _of_node(
    graph: Graph, node: Node, asked: _Asked, operators: Mapping[str, Op], static: frozenset[str]
) -> Iterator[NodeWork]:
    """The node as one of its class; nothing if it is of none."""
    op, call = operators.get(node.operator), call_where_known(graph, node)
    name, steps = _named(op, call, node, static)
    if name == TimeClass.NONE:
        return
    reads, writes, work = asked.read_bytes or 0, asked.write_bytes or 0, asked.work or Work()
    kept = min(reads, sum(graph.tensors[tensor].bytes or 0 for _, tensor in node.operands if tensor in static))
    yield NodeWork(
        operators=name or TimeClass.OTHER,
        macs=asked.macs or 0,
        lane_macs=_lane_macs(op, call, asked.macs or 0),
        running_bytes=reads - kept + writes,
        stored_bytes=kept,
        streamed_bytes=kept * _passes(op, call),
        operations=work.add + work.mul + work.div,
        compares=work.compare,
        special=work.special,
        nodes=1,
        steps=steps,
        exact=name is not None and None not in asked,
    )


def _lane_macs(op: Op | None, call: Call | None, macs: int) -> tuple[int, ...]:
    """With the channels that are padded; what is counted where no rule tells them."""
    if op is None or call is None or not macs:
        return (macs,) * len(LANES)
    try:
        return tuple(op.macs_in_lanes(call, lanes) for lanes in LANES)
    except GraphError:
        return (macs,) * len(LANES)


def _named(op: Op | None, call: Call | None, node: Node, static: frozenset[str]) -> tuple[str | None, int]:
    """The class of a node, None where that is unknown, and how many kernels start one after the other."""
    if op is not None and op.timed_as == TimeClass.NONE:
        return TimeClass.NONE, 0
    if op is None or call is None:
        return None, 1
    weights = {slot.name for slot in op.slots if slot.use == "weight"}
    has_weights = any(tensor in static for slot, tensor in node.operands if slot in weights)
    try:
        name = op.time_class(call, has_weights)
        return name, _steps(op, call, name)
    except GraphError:
        return None, 1


def _passes(op: Op | None, call: Call | None) -> int:
    """How often it reads what is stored."""
    try:
        return 1 if op is None or op.passes is None or call is None else op.passes(call)
    except GraphError:
        return 1


def _steps(op: Op, call: Call, name: str) -> int:
    if op.steps is not None:
        return op.steps(call)
    if name == TimeClass.MATRIX_PRODUCT and op.loops is not None:
        return max(1, sum(one.groups for one in op.loops(call)))
    return 1


def _in_bodies(node: Node, operators: Mapping[str, Op], static: frozenset[str]) -> Iterator[NodeWork]:
    """What the body that counts asks, times its trips: one where these are unknown."""
    bodies = node.bodies
    if node.operator == BRANCH and len(bodies) > 1:
        bodies = (bodies[counted_branch([body_cost(body, operators, static) for body in bodies])],)
    if not bodies:
        yield NodeWork(TimeClass.OTHER, exact=False)
    for body in bodies:
        inner = static_tensors(body.graph, operators, outside=static)
        for one in body.graph.nodes:
            if not runs(one, inner) or body.trips == 0:
                continue
            for part in _inside(body.graph, one, operators, inner):
                once = part if body.trips is not None else part._replace(exact=False)
                yield once.times(body.trips or 1)


def _inside(graph: Graph, node: Node, operators: Mapping[str, Op], static: frozenset[str]) -> Iterator[NodeWork]:
    """A node of a body, which no facts have by itself."""
    if node.operator in CONTROL:
        return _in_bodies(node, operators, static)
    cost = cost_of(node, graph, operators, static)
    work = cost.work if cost.work_exact else None
    asked = _Asked(cost.macs if cost.macs_exact else None, cost.read_bytes, cost.write_bytes, work)
    return _of_node(graph, node, asked, operators, static)

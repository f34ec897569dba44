"""What one node costs an inference, bodies included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.counts.facts import Uncounted
from weighbridge.errors import GraphError
from weighbridge.graph import BRANCH, CONTROL, UNKNOWN, Body, Graph, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import (
    Call,
    DependsOnValues,
    Kind,
    Loops,
    Op,
    Work,
    grouped,
    known_total,
    read_all_write_all,
)
from weighbridge.passes.rewrite import call_of
from weighbridge.passes.static import runs, static_tensors

__all__ = ["Cost", "Values", "add_known", "body_cost", "cost_of", "counted_branch", "reason_of"]

_ONE_WEIGHT: Final = frozenset({"conv", "conv_transpose", "deformable_conv", "linear", "matmul", "bilinear"})
_USED_EQUALLY: Final = _ONE_WEIGHT | {"rnn", "lstm", "gru"}
"""Operators in which each value of the weights is in as many products as any other: padded taps count."""


class Values(NamedTuple):
    """Elements and bytes of values that a node makes; None is unknown."""

    elements: int | None
    bytes: int | None

    def plus(self, other: Values) -> Values:
        return Values(add_known(self.elements, other.elements), add_known(self.bytes, other.bytes))

    def times(self, count: int) -> Values:
        return Values(*(None if size is None else size * count for size in self))


class Cost(NamedTuple):
    """The cost of a node, or of a body.

    ``macs`` and ``work`` are exact where ``macs_exact`` and ``work_exact`` say so, else lower bounds (of one node without
    bodies: no MACs, and the work that it has whatever the values are).  ``uncounted`` and ``notes`` say what is missing and
    which rule was followed.  ``nonzero_macs`` are those of ``macs`` by a weight that is not zero, None where that is unknown.
    """

    macs: int
    work: Work
    macs_exact: bool
    work_exact: bool
    read_bytes: int | None
    write_bytes: int | None
    values: Values
    loops: tuple[Loops, ...] = ()
    uncounted: tuple[Uncounted, ...] = ()
    notes: tuple[str, ...] = ()
    nonzero_macs: int | None = 0


def add_known(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def cost_of(
    node: Node,
    graph: Graph,
    operators: Mapping[str, Op],
    static: frozenset[str],
    path: str = "",
    known: dict[object, Cost] | None = None,
) -> Cost:
    """The cost of ``node`` in ``graph``; ``path`` stands before its name in what is uncounted.

    Networks repeat themselves: ``known`` keeps what the rules said, so that they are asked once for equal calls.  It is
    good for one graph and one table.
    """
    if node.operator in CONTROL:
        return _control_cost(node, operators, static, path)
    call = None if known is None else _signature(node, graph)
    if known is None or call is None:
        return _own_cost(node, graph, operators, path)
    if call not in known:
        cost = _own_cost(node, graph, operators, path)
        if cost.uncounted:
            return cost
        known[call] = cost
    return known[call]


def _signature(node: Node, graph: Graph) -> object:
    """What the cost of a node depends on: equal for calls that differ in nothing but names; None where names matter.

    Attributes are compared as objects, which live as long as the graph: equal calls that a builder made share them.
    """
    tensors, inputs = graph.tensors, node.inputs
    if node.reason or len(set(inputs)) < len(inputs):
        return None
    types = [((tensor := tensors[one]).shape, tensor.dtype.name, tensor.nonzeros) for one in (*inputs, *node.outputs)]
    fused = [(function.operator, id(function.attributes), function.operands[0][0]) for function in node.fused]
    return (node.operator, id(node.attributes), tuple([name for name, _ in node.operands]), tuple(types), tuple(fused))


def _own_cost(node: Node, graph: Graph, operators: Mapping[str, Op], path: str) -> Cost:
    values = _values(node, graph, operators)
    op = operators.get(node.operator)
    reason = reason_of(node, op)
    if op is None or reason:
        return _uncounted(node, values, path, reason)
    unknown = next((t for t in (*node.inputs, *node.outputs) if graph.tensors[t].shape is None), None)
    if unknown is not None:
        if op.loops is not None:
            reason = _own_reason(node, op, graph) or f"the shape of {unknown} is unknown"
            return _uncounted(node, values, path, reason)
        return Cost(0, Work(), True, op.is_free and not node.fused, *_bytes_where_known(op), values)
    try:
        return _known_cost(node, op, graph, operators, values)
    except GraphError as error:
        return _uncounted(node, values, path, error.what)


def reason_of(node: Node, op: Op | None) -> str:
    """Why a node cannot be counted, as far as it says so itself; "" where it can."""
    if node.reason or op is not None:
        return node.reason
    return (
        "there is no rule for this operator" if node.operator == UNKNOWN else f"there is no operator {node.operator!r}"
    )


def _own_reason(node: Node, op: Op, graph: Graph) -> str:
    """Why the rule of a contraction cannot tell it, where all its operands are known; "" where it says nothing."""
    operands = [(name, kind) for name, tensor in node.operands if (kind := graph.tensors[tensor].type) is not None]
    if op.loops is None or len(operands) < len(node.operands):
        return ""
    try:
        op.loops(Call(grouped(operands), node.attributes))
    except DependsOnValues as error:
        return error.what
    except GraphError:
        pass  # What else is wrong shows in the shape that is unknown.
    return ""


def _bytes_where_known(op: Op) -> tuple[int | None, int | None]:
    return (0, 0) if op.kind == Kind.VIEW else (None, None)


def _uncounted(node: Node, values: Values, path: str, reason: str) -> Cost:
    missing = Uncounted(path + node.name, node.origin or node.operator, reason)
    return Cost(0, Work(), False, False, None, None, values, (), (missing,))


def _values(node: Node, graph: Graph, operators: Mapping[str, Op]) -> Values:
    """The values that a node makes: those of its outputs, none if it is a view."""
    op = operators.get(node.operator)
    if op is not None and op.view_of is not None:
        return Values(0, 0)
    elements: int | None = 0
    size: int | None = 0
    for tensor in node.outputs:
        elements = add_known(elements, graph.tensors[tensor].elements)
        size = add_known(size, graph.tensors[tensor].bytes)
    return Values(elements, size)


def _known_cost(node: Node, op: Op, graph: Graph, operators: Mapping[str, Op], values: Values) -> Cost:
    """The rules' answers, where all shapes are known."""
    call = call_of(node, graph)
    loops = () if op.loops is None else op.loops(call)
    macs = sum(one.macs for one in loops)
    work, exact = Work(macs), True
    for part, is_exact in (_work(op, call), *(_fused_work(function, call, operators) for function in node.fused)):
        work, exact = work.plus(part), exact and is_exact
    traffic = op.traffic(call)
    read_bytes = _read_once(node, graph) if op.traffic is read_all_write_all else traffic.read_bytes
    nonzero = _nonzero_macs(node, op, graph, macs)
    return Cost(macs, work, True, exact, read_bytes, traffic.write_bytes, values, loops, nonzero_macs=nonzero)


def _nonzero_macs(node: Node, op: Op, graph: Graph, macs: int) -> int | None:
    """The MACs by weights that are not zero: where all weights are used equally often, as many of them as of the weights.

    None where an operator with zeros in its weights may use some more often than others, or has products without any.
    """
    slots = [slot.name for slot in op.slots if slot.use == "weight"]
    held = [graph.tensors[tensor] for name, tensor in node.operands if name in slots]
    if not macs or all(tensor.nonzeros is None for tensor in held):
        return macs
    if op.name in _ONE_WEIGHT:  # the other operand of a matrix product may be a weight as well, by its slot
        held = [tensor for tensor in held if tensor.nonzeros is not None]
    elements = sum(tensor.elements or 0 for tensor in held)
    if op.name not in _USED_EQUALLY or (op.name in _ONE_WEIGHT and len(held) > 1) or macs % elements:
        return None
    return (
        macs
        // elements
        * sum((tensor.elements or 0) if tensor.nonzeros is None else tensor.nonzeros for tensor in held)
    )


def _read_once(node: Node, graph: Graph) -> int | None:
    """The bytes of all operands; a rule cannot see that two of them (x times x) are one tensor."""
    return known_total(graph.tensors[tensor].bytes for tensor in dict.fromkeys(node.inputs))


def _work(op: Op, call: Call) -> tuple[Work, bool]:
    """The work of a call and whether it is exact; where it depends on values, the least that it can be."""
    work = op.work(call)
    return (op.least_work(call), False) if work is None else (work, True)


def _fused_work(function: Node, call: Call, operators: Mapping[str, Op]) -> tuple[Work, bool]:
    """What a function does to the values that its producer made; moving them costs nothing more."""
    op = operators.get(function.operator)
    if op is None:
        return Work(), False
    name = function.operands[0][0]
    return _work(op, Call({name: call.outputs[:1]}, function.attributes, call.outputs[:1]))


def _control_cost(node: Node, operators: Mapping[str, Op], static: frozenset[str], path: str) -> Cost:
    """Of an ``if`` the branch with more MACs; of a ``loop`` or ``scan`` its body times its trips, one where they are unknown."""
    where = f"{path}{node.name}"
    costs = [body_cost(body, operators, static, f"{where}/{body.name}/") for body in node.bodies]
    if not costs:
        missing = Uncounted(where, node.origin or node.operator, node.reason or "it has no body")
        return Cost(0, Work(), False, False, None, None, Values(None, None), (), (missing,))
    if node.operator == BRANCH:
        return _branch_cost(node, where, costs)
    cost = costs[0]
    trips = node.bodies[0].trips
    if trips == 0:
        return Cost(0, Work(), True, True, 0, 0, Values(0, 0))  # what never runs misses nothing, known or not
    if trips is not None:
        return _repeated(cost, trips)
    unknown = cost._replace(work_exact=False, read_bytes=None, write_bytes=None, values=Values(None, None))
    if cost.macs_exact and not cost.macs:
        # Nothing times any number of trips is nothing: the total of the MACs misses none.
        note = f"{where}: how often it runs depends on values; it has no MACs, its other operations are unknown"
        return unknown._replace(notes=(*cost.notes, note))
    missing = Uncounted(where, node.origin or node.operator, "how often it runs depends on values: one trip is counted")
    return unknown._replace(macs_exact=False, uncounted=(*cost.uncounted, missing))


def counted_branch(costs: Sequence[Cost]) -> int:
    """Which branch of an ``if`` counts: of those with equally many MACs (often none) the one with more other work, whatever their
    order in the file.
    """
    return max(range(len(costs)), key=lambda index: (costs[index].macs, sum(costs[index].work), -index))


def _branch_cost(node: Node, where: str, costs: list[Cost]) -> Cost:
    largest = counted_branch(costs)
    cost = costs[largest]
    if len(costs) == 1:
        return cost
    most = "the most MACs" if cost.macs else "no MACs but the most other work"
    note = f"{where}: counted is the branch {node.bodies[largest].name}, which has {most}"
    return cost._replace(
        macs_exact=all(one.macs_exact for one in costs),
        work_exact=all(one.work_exact for one in costs),
        uncounted=tuple(missing for one in costs for missing in one.uncounted),
        notes=(*(text for one in costs for text in one.notes), note),
    )


def _repeated(cost: Cost, trips: int) -> Cost:
    return cost._replace(
        macs=cost.macs * trips,
        work=cost.work.times(trips),
        read_bytes=None if cost.read_bytes is None else cost.read_bytes * trips,
        write_bytes=None if cost.write_bytes is None else cost.write_bytes * trips,
        values=cost.values.times(trips),
        nonzero_macs=None if cost.nonzero_macs is None else cost.nonzero_macs * trips,
    )


def body_cost(body: Body, operators: Mapping[str, Op], outside: frozenset[str], path: str = "") -> Cost:
    """One run of a body: the sum over its nodes that run; ``outside`` are the static tensors around it."""
    static = static_tensors(body.graph, operators, outside=outside)
    total = Cost(0, Work(), True, True, 0, 0, Values(0, 0))
    uncounted: list[Uncounted] = []
    notes: list[str] = []
    for node in body.graph.nodes:
        if runs(node, static):
            cost = cost_of(node, body.graph, operators, static, path)
            uncounted += cost.uncounted
            notes += cost.notes
            total = Cost(
                total.macs + cost.macs,
                total.work.plus(cost.work),
                total.macs_exact and cost.macs_exact,
                total.work_exact and cost.work_exact,
                add_known(total.read_bytes, cost.read_bytes),
                add_known(total.write_bytes, cost.write_bytes),
                total.values.plus(cost.values),
                nonzero_macs=add_known(total.nonzero_macs, cost.nonzero_macs),
            )
    return total._replace(uncounted=tuple(uncounted), notes=tuple(notes))

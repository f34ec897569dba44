"""The facts of a network as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from weighbridge.counts.cost import Cost, Values, add_known, cost_of
from weighbridge.counts.facts import Activations, NetworkFacts, NodeFacts, Uncounted
from weighbridge.graph import Graph, Node, Role, Tensor
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op, Work, known_total
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import parameter_uses, runs, static_sources, static_tensors, uses_in_both

__all__ = ["count", "parameters"]


def count(
    held: Graph,
    deployed: Graph,
    operators: Mapping[str, Op] = OPERATORS,
    *,
    peak_elements: Mapping[str, int | None] | None = None,
) -> NetworkFacts:
    """The facts of a network from the graph as the model holds it and the graph that runs (the same one, if as written).

    ``peak_elements`` are those of the memory plan of ``deployed``; they become ``activations.peak``, which is empty
    without them.  A parameter is a weight or a bias if either graph uses it so: a bias that a file adds in a node of its
    own is one.  Linear in the size of the graphs.
    """
    static = static_tensors(deployed, operators)
    uses = parameter_uses(deployed, operators, static=static)
    stored = _Stored.of(held, uses if held is deployed else uses_in_both(held, uses, operators))
    shipped = list(deployed.stored_everywhere())
    learned = {tensor.id: tensor for tensor in shipped if tensor.role is Role.PARAMETER}
    elements = [tensor.elements for tensor in learned.values()]
    nodes, costs = _nodes(deployed, learned, uses, operators, static)
    inputs = [deployed.tensors[tensor] for tensor in deployed.inputs if tensor not in static]
    values = Values(known_total(t.elements for t in inputs), known_total(t.bytes for t in inputs))
    macs, work = 0, Work()
    nonzero_macs: int | None = 0
    uncounted: list[Uncounted] = []
    notes = list(stored.notes)
    for cost, times in _equal(costs):
        macs += cost.macs * times
        work = work.plus(cost.work.times(times))
        nonzero_macs = add_known(nonzero_macs, None if cost.nonzero_macs is None else cost.nonzero_macs * times)
        values = values.plus(cost.values.times(times))
        uncounted += cost.uncounted * times
        notes += cost.notes * times
    if values.elements is None or values.bytes is None:
        notes.append("a shape or a number of trips is unknown, so the total of the activations is missing")
    if nonzero_macs is None:
        notes.append(_uneven(nodes))
    return NetworkFacts(
        parameters=parameters(held),
        weights=stored.elements["weight"],
        biases=stored.elements["bias"],
        other_parameters=stored.elements["other"],
        deployed_parameters=sum(number or 0 for number in elements),
        parameter_bytes=stored.parameter_bytes,
        weight_bytes=stored.weight_bytes,
        constant_bytes=stored.constant_bytes,
        deployed_bytes=known_total(tensor.bytes for tensor in shipped),
        macs=macs,
        flops=2 * macs,
        ops=2 * macs,
        work=work,
        activations=Activations(values.elements, values.bytes, dict(peak_elements or {})),
        exact=all(cost.macs_exact for cost in costs) and not stored.notes and None not in elements,
        work_exact=all(cost.work_exact for cost in costs),
        uncounted=tuple(uncounted),
        nodes=tuple(nodes),
        notes=tuple(notes),
        nonzero_parameters=stored.nonzeros,
        nonzero_macs=nonzero_macs,
    )


def parameters(held: Graph) -> int:
    """How many parameters the model holds, each storage once; one of unknown shape is in no count, as ``facts.notes`` say."""
    return sum(tensor.elements or 0 for tensor in held.stored_everywhere() if tensor.role is Role.PARAMETER)


def _uneven(nodes: Iterable[NodeFacts]) -> str:
    """Why the MACs by weights that are not zero are missing."""
    named = [node.name for node in nodes if node.nonzero_macs is None and node.macs is not None]
    more = f" and {len(named) - 3:,} more" if len(named) > 3 else ""
    return f"how often each weight of {', '.join(named[:3])}{more} is used is not known, so nonzero_macs is missing"


def _equal(costs: list[Cost]) -> list[tuple[Cost, int]]:
    """Each cost once, and how many nodes have it; equal nodes share theirs."""
    times = Counter(map(id, costs))
    return [(cost, times[place]) for place, cost in {id(cost): cost for cost in costs}.items()]


class _Stored(NamedTuple):
    """Sizes of what the model holds."""

    elements: dict[str, int]
    parameter_bytes: int | None
    weight_bytes: int | None
    constant_bytes: int | None
    nonzeros: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, held: Graph, uses: Mapping[str, str]) -> _Stored:
        elements = {"weight": 0, "bias": 0, "other": 0}
        of_parameters: int | None = 0
        of_weights: int | None = 0
        of_constants: int | None = 0
        nonzeros = 0
        notes: list[str] = []
        for tensor in held.stored_everywhere():
            size = tensor.bytes
            if tensor.role is not Role.PARAMETER:
                of_constants = add_known(of_constants, size)
                continue
            use, number = uses[tensor.id], tensor.elements
            if number is None:
                notes.append(f"the shape of the parameter {tensor.id} is unknown, so it is in no count")
            elements[use] += number or 0
            nonzeros += _nonzeros(tensor) or 0
            of_parameters = add_known(of_parameters, size)
            if use == "weight":
                of_weights = add_known(of_weights, size)
        return cls(elements, of_parameters, of_weights, of_constants, nonzeros, tuple(notes))


def _nonzeros(tensor: Tensor) -> int | None:
    """The values that are not zero: all where nobody said that any are; None where their number is unknown."""
    return tensor.elements if tensor.nonzeros is None else tensor.nonzeros


def _nodes(
    graph: Graph,
    learned: Mapping[str, Tensor],
    uses: Mapping[str, str],
    operators: Mapping[str, Op],
    static: frozenset[str],
) -> tuple[list[NodeFacts], list[Cost]]:
    """The facts and the costs of the nodes that run."""
    sources = static_sources(graph, static, operators)
    facts: list[NodeFacts] = []
    costs: list[Cost] = []
    known: dict[object, Cost] = {}
    for node in graph.nodes:
        if runs(node, static):
            cost = cost_of(node, graph, operators, static, known=known)
            held: set[str] = set()
            for _, tensor in node.operands:
                if tensor in sources:
                    held |= sources[tensor]
            for body in node.bodies:
                held.update(tensor.id for tensor in body.graph.stored_everywhere() if tensor.role is Role.PARAMETER)
            weights = [learned[source] for source in held if uses[source] == "weight"]
            sizes = _Held(
                known_total([learned[source].elements for source in held]),
                known_total([tensor.elements for tensor in weights]),
                known_total([tensor.bytes for tensor in weights]),
                known_total(map(_nonzeros, weights)),
            )
            facts.append(_node_facts(node, graph, operators, cost, sizes))
            costs.append(cost)
    return facts, costs


class _Held(NamedTuple):
    """What the operands of a node hold: elements of parameters, those of weights among them, bytes of weights, and how many of
    the weights are not zero.
    """

    parameters: int | None
    weights: int | None
    weight_bytes: int | None
    nonzero_weights: int | None


def _node_facts(node: Node, graph: Graph, operators: Mapping[str, Op], cost: Cost, held: _Held) -> NodeFacts:
    op = operators.get(node.operator)
    first = graph.tensors[node.outputs[0]] if node.outputs else None
    known = cost.macs_exact or bool(node.bodies)
    macs = cost.macs if known else None
    return NodeFacts(
        name=node.name,
        scope=node.scope,
        module_call=None,
        operator=node.operator,
        kind=op.kind if op is not None else "control" if node.bodies else "unknown",
        origin=node.origin,
        fused=tuple([function.operator for function in node.fused]) if node.fused else (),
        parameters=held.parameters,
        weights=held.weights,
        macs=macs,
        flops=None if macs is None else 2 * macs,
        work=cost.work if cost.work_exact else None,
        output=None if first is None else first.shape,
        output_dtype="" if first is None else first.dtype.name,
        output_bytes=cost.values.bytes,
        read_bytes=cost.read_bytes,
        write_bytes=cost.write_bytes,
        loops=cost.loops,
        uses_per_weight=_uses_per_weight(macs, held.weights),
        exact=cost.macs_exact and held.parameters is not None,
        weight_bytes=held.weight_bytes,
        file_node=node.file_node,
        nonzero_weights=held.nonzero_weights,
        nonzero_macs=cost.nonzero_macs if known else None,
    )


def _uses_per_weight(macs: int | None, weights: int | None) -> int | float | None:
    """How many MACs a weight is used in, an int where it is one or too large for a float's fraction; None without either."""
    if not macs or not weights:
        return None
    uses, rest = divmod(macs, weights)
    return macs / weights if rest and uses < 1 << 53 else uses

"""What a deployed network asks of any device: bytes to keep, bytes to move, operations, and their precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weighbridge.counts.facts import NetworkFacts
from weighbridge.estimates.precision import precision_of
from weighbridge.graph import BRANCH, UNKNOWN, Graph, Node, Tensor, TensorType
from weighbridge.memory.records import MemoryPlan
from weighbridge.operators.record import Call, Op, grouped, read_all_write_all
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import runs, static_tensors

__all__ = ["Demand", "demand"]


class Demand(NamedTuple):
    """The needs of one inference.

    ``stored_bytes``: parameters, buffers and constants of the deployed graph and of all its bodies, each storage once;
    None where a size is unknown; ``stored_exact`` is False where a node without a rule may keep more in places we cannot see.
    ``stored_read_bytes``: those that an inference has to read at least once: the rows that a lookup takes, not its table,
    and of the branches of an ``if`` the one that reads most.  ``input_bytes`` and ``output_bytes`` are the graph's.
    Where ``moved_exact`` is False these three are lower bounds.  ``ops`` is 2 x MACs, a lower bound unless
    ``ops_exact``.  ``precision`` is the one in which most MACs are computed, None without MACs or where it has no name.
    """

    stored_bytes: int | None
    stored_exact: bool
    weight_bytes: int | None
    peak_bytes: int | None
    peak_exact: bool
    peak_node: str | None
    stored_read_bytes: int
    input_bytes: int
    output_bytes: int
    moved_exact: bool
    ops: int
    ops_exact: bool
    precision: str | None


def demand(deployed: Graph, facts: NetworkFacts, memory: MemoryPlan, operators: Mapping[str, Op] = OPERATORS) -> Demand:
    """What ``deployed`` needs; ``facts`` and ``memory`` are its own.  The peak is that of the policy ``live``."""
    static = static_tensors(deployed, operators)
    stored = _stored(deployed)
    reads = _Reads(operators, stored)
    stored_read = reads.stored(deployed, static)
    ends = _ends(deployed, static)
    sizes = [tensor.bytes for tensor in stored.values()]
    known = [size for size in sizes if size is not None]
    return Demand(
        stored_bytes=sum(known) if len(known) == len(sizes) else None,
        stored_exact=not _has_unknown(deployed),
        weight_bytes=facts.weight_bytes,
        peak_bytes=memory.peak_bytes.get("live"),
        peak_exact=memory.exact,
        peak_node=memory.peak_node.get("live"),
        stored_read_bytes=sum(stored_read.values()),
        input_bytes=sum(size or 0 for size in ends[0]),
        output_bytes=sum(size or 0 for size in ends[1]),
        moved_exact=reads.exact and None not in (*ends[0], *ends[1]),
        ops=facts.ops,
        ops_exact=facts.exact,
        precision=_precision(deployed, operators, static),
    )


def _stored(graph: Graph) -> dict[str, Tensor]:
    """Stored tensors of a graph and all its bodies by id: a body names what it shares with its surroundings alike."""
    found = {tensor.id: tensor for tensor in graph.stored()}
    for node in graph.nodes:
        for body in node.bodies:
            found.update(_stored(body.graph))
    return found


def _has_unknown(graph: Graph) -> bool:
    return any(
        node.operator == UNKNOWN or any(_has_unknown(body.graph) for body in node.bodies) for node in graph.nodes
    )


def _ends(graph: Graph, static: frozenset[str]) -> tuple[list[int | None], list[int | None]]:
    """Bytes of the inputs that something reads, and of the outputs that are computed."""
    read = {tensor for node in graph.nodes for tensor in node.inputs}
    inputs = [graph.tensors[tensor].bytes for tensor in graph.inputs if tensor in read and tensor not in static]
    made = {tensor for node in graph.nodes for tensor in node.outputs}
    outputs = [graph.tensors[tensor].bytes for tensor in set(graph.outputs) if tensor in made and tensor not in static]
    return inputs, outputs


class _Reads:
    """Collects the bytes of stored tensors that have to be read; ``exact`` turns False at what no rule tells."""

    def __init__(self, operators: Mapping[str, Op], stored: Mapping[str, Tensor]) -> None:
        self.operators = operators
        self.kept = stored
        self.exact = True

    def stored(self, graph: Graph, static: frozenset[str]) -> dict[str, int]:
        """By tensor id: what the nodes of ``graph`` and its bodies read of it, never more than its size."""
        reads: dict[str, int] = {}
        for node in graph.nodes:
            if not runs(node, static):
                continue
            for tensor, size in self._node(graph, node, static):
                known = self.kept.get(tensor) or graph.tensors.get(tensor)
                whole = known.bytes if known else None
                total = reads.get(tensor, 0) + size
                reads[tensor] = total if whole is None else min(total, whole)
        return reads

    def _node(self, graph: Graph, node: Node, static: frozenset[str]) -> Iterable[tuple[str, int]]:
        if node.bodies:
            branches = [
                self.stored(body.graph, static_tensors(body.graph, self.operators, outside=static))
                for body in node.bodies
                if body.trips != 0
            ]
            most = max(branches, key=lambda reads: sum(reads.values()), default={})
            return most.items() if node.operator == BRANCH else [item for reads in branches for item in reads.items()]
        op = self.operators.get(node.operator)
        kept = [(tensor, graph.tensors[tensor].bytes) for tensor in node.inputs if tensor in static]
        if not kept:
            return ()
        if op is None or any(size is None for _, size in kept):
            self.exact = False
            return ()
        whole = [(tensor, size) for tensor, size in kept if size is not None]
        return whole if op.traffic is read_all_write_all else self._partly(graph, node, op, whole)

    def _partly(self, graph: Graph, node: Node, op: Op, kept: list[tuple[str, int]]) -> Iterable[tuple[str, int]]:
        """What an operator that reads only part of an operand takes from its stored ones, in their order."""
        call = _call(graph, node)
        total = op.traffic(call).read_bytes if call else None
        stored = dict(kept)
        running = [graph.tensors[tensor].bytes for tensor in node.inputs if tensor not in stored]
        if total is None or any(size is None for size in running):
            self.exact = False
            return ()
        left = max(0, total - sum(size or 0 for size in running))
        taken = []
        for tensor, size in kept:
            taken.append((tensor, min(size, left)))
            left -= min(size, left)
        return taken


def _call(graph: Graph, node: Node) -> Call | None:
    """The node as rules see it, or None where a shape is unknown."""
    types: list[tuple[str, TensorType]] = []
    for name, tensor in node.operands:
        type_ = graph.tensors[tensor].type
        if type_ is None:
            return None
        types.append((name, type_))
    outputs = [graph.tensors[tensor].type for tensor in node.outputs]
    known = tuple(type_ for type_ in outputs if type_ is not None)
    if len(known) < len(outputs):
        return None
    return Call(grouped(types), node.attributes, known)


def _precision(graph: Graph, operators: Mapping[str, Op], static: frozenset[str]) -> str | None:
    """The precision in which most MACs are computed."""
    macs: dict[str | None, int] = {}
    _add_macs(graph, operators, static, 1, macs)
    return max(macs, key=lambda precision: macs[precision], default=None)


def _add_macs(
    graph: Graph, operators: Mapping[str, Op], static: frozenset[str], times: int, macs: dict[str | None, int]
) -> None:
    for node in graph.nodes:
        for body in node.bodies:
            trips = 1 if body.trips is None else body.trips
            inside = static_tensors(body.graph, operators, outside=static)
            _add_macs(body.graph, operators, inside, times * trips, macs)
        op = operators.get(node.operator)
        if op is None or op.loops is None or not runs(node, static):
            continue
        call = _call(graph, node)
        if call is not None:
            multiplied = {slot.name for slot in op.slots if slot.use in ("data", "weight")}
            precision = precision_of(
                graph.tensors[tensor].dtype for name, tensor in node.operands if name in multiplied
            )
            macs[precision] = macs.get(precision, 0) + times * op.macs(call)

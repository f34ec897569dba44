"""What a deployed network asks of any device: bytes to keep, bytes to move, operations, and their precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from weighbridge.counts.facts import NetworkFacts, NodeFacts
from weighbridge.estimates.multiplications import macs_by_precision, most_frequent
from weighbridge.estimates.reads import StoredReads
from weighbridge.graph import UNKNOWN, Graph, Tensor
from weighbridge.memory.records import MemoryPlan
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import runs, static_tensors

__all__ = ["Demand", "NodeDemand", "demand"]


class NodeDemand(NamedTuple):
    """What one node asks: operations (2 x MACs) at ``precision``, and bytes that have to move however it is computed.

    ``stored_bytes`` are those of weights and other stored tensors that it reads, ``running_bytes`` those of its inputs and
    outputs.  Lower bounds unless ``exact``.
    """

    name: str
    ops: int
    precision: str | None
    stored_bytes: int
    running_bytes: int
    exact: bool


class Demand(NamedTuple):
    """The needs of one inference.

    ``stored_bytes``: parameters, buffers and constants of the deployed graph and of all its bodies, each storage once;
    None where a size is unknown; ``stored_exact`` is False where a node without a rule may keep more in places we cannot see.
    ``stored_read_bytes``: those that an inference has to read at least once: the rows that a lookup takes, not its table,
    and of the branches of an ``if`` the one that reads most.  ``input_bytes`` and ``output_bytes`` are the graph's.
    Where ``moved_exact`` is False these three are lower bounds.  ``ops`` is 2 x MACs, a lower bound unless
    ``ops_exact``.  ``precision`` is the one in which most MACs are computed, None without MACs or where it has no name;
    ``macs_by_precision`` has them all.  ``value_bytes`` are those of the inputs and of every node's outputs, None where a
    size is unknown.  ``nodes`` are the single nodes, in the order in which they run.
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
    macs_by_precision: tuple[tuple[str | None, int], ...] = ()
    value_bytes: int | None = None
    nodes: tuple[NodeDemand, ...] = ()


def demand(deployed: Graph, facts: NetworkFacts, memory: MemoryPlan, operators: Mapping[str, Op] = OPERATORS) -> Demand:
    """What ``deployed`` needs; ``facts`` and ``memory`` are its own.  The peak is that of the policy ``live``."""
    static = static_tensors(deployed, operators)
    stored = _stored(deployed)
    reads = StoredReads(operators, stored)
    stored_read = reads.stored(deployed, static)
    ends = _ends(deployed, static)
    sizes = [tensor.bytes for tensor in stored.values()]
    known = [size for size in sizes if size is not None]
    macs = macs_by_precision(deployed, operators, static)
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
        precision=most_frequent(macs),
        macs_by_precision=tuple(macs.items()),
        value_bytes=facts.activations.total_bytes,
        nodes=tuple(_nodes(deployed, facts, stored, operators)),
    )


def _nodes(
    deployed: Graph, facts: NetworkFacts, stored: Mapping[str, Tensor], operators: Mapping[str, Op]
) -> Iterator[NodeDemand]:
    """The demand of every node that runs.  Stored bytes of a node with bodies are those that a single trip reads."""
    static = static_tensors(deployed, operators)
    running = (node for node in deployed.nodes if runs(node, static))
    for node, counted in zip(running, facts.nodes, strict=True):
        reads = StoredReads(operators, stored)
        kept = sum(size for _, size in reads.of(deployed, node, static))
        macs = macs_by_precision(deployed, operators, static, nodes=(node,))
        yield _node(counted, kept, most_frequent(macs), reads.exact)


def _node(counted: NodeFacts, kept: int, precision: str | None, exact: bool) -> NodeDemand:
    known = [size for size in (counted.read_bytes, counted.write_bytes) if size is not None]
    exact = exact and counted.macs is not None and counted.exact and len(known) == 2
    return NodeDemand(counted.name, 2 * (counted.macs or 0), precision, kept, max(0, sum(known) - kept), exact)


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

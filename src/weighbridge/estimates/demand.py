"""What a deployed network asks of any device: bytes to keep, bytes to move, operations, and their precision."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from weighbridge.arena import PersistentBytes
from weighbridge.counts import count
from weighbridge.counts.facts import NetworkFacts, NodeFacts
from weighbridge.estimates.class_work import NodeWork, node_works
from weighbridge.estimates.moves import Moves, storage_of
from weighbridge.estimates.multiplications import macs_by_precision, most_frequent
from weighbridge.graph import UNKNOWN, Graph, Tensor
from weighbridge.memory.records import ARENA, MemoryPlan
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op, known_total
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import parameter_uses, runs, static_sources, static_tensors

__all__ = ["LIVE", "ArenaDemand", "Demand", "NodeDemand", "demand", "stored_bytes", "stored_exact"]

LIVE: Final = "live"
"""The memory policy that decides what activations need where no runtime plans them."""


class NodeDemand(NamedTuple):
    """What one node asks: operations (2 x MACs) at ``precision``, and bytes that have to move however it is computed.

    ``stored_bytes`` are those of weights and other stored tensors that it reads, ``running_bytes`` those of its inputs and
    outputs.  Lower bounds unless ``exact``.  ``operator`` is its name, ``outputs`` are the values of its first output (None where
    that is unknown), ``uses_per_weight`` its MACs for each weight (None without any).
    """

    name: str
    ops: int
    precision: str | None
    stored_bytes: int
    running_bytes: int
    exact: bool
    operator: str = ""
    outputs: int | None = None
    uses_per_weight: int | float | None = None


class ArenaDemand(NamedTuple):
    """What a runtime that plans its memory needs: the plan's peak, the tensors that live on, what it keeps for itself.

    ``peak_bytes`` is None where there is no plan, as ``reason`` says; a lower bound unless ``exact``.
    """

    peak_bytes: int | None
    peak_node: str | None
    variable_bytes: int | None
    persistent: tuple[PersistentBytes, ...] = ()
    reason: str = ""
    exact: bool = True


class Demand(NamedTuple):
    """The needs of one inference.

    ``stored_bytes``: parameters, buffers and constants of the deployed graph and of all its bodies, each storage once;
    None where a size is unknown; ``stored_exact`` is False where a node without a rule may keep more in places we cannot see.
    ``stored_read_bytes``: those that an inference has to read at least once: the rows that a lookup takes, not its table,
    and of the branches of an ``if`` the one that reads most.  ``input_bytes`` are what it has to read of the graph's inputs
    in the same way, ``output_bytes`` what it has to write of its outputs: each storage once, and nothing for a view of an input.
    Where ``moved_exact`` is False these three are lower bounds.  ``ops`` is 2 x MACs, a lower bound unless
    ``ops_exact``.  ``precision`` is the one in which most MACs are computed, None without MACs or where it has no name;
    ``macs_by_precision`` has them all.  ``weight_bytes`` are the weights among what is stored, ``weight_read_bytes`` those among
    what is read.  ``value_bytes`` are those of the inputs and of every node's outputs, None where a size is unknown.  ``nodes``
    are the single nodes, in the order in which they run.  ``peak_bytes`` is the peak of the policy ``live``, ``variable_bytes``
    are those of variables, which lie beside it (None where a size is unknown); ``arena`` is there where the network is a file
    for a runtime that plans its memory.  ``work`` is what the nodes ask of kernels, ``work_as_written`` what those of the
    graph ask that nothing is merged in; each is None where nobody asked for it.
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
    weight_read_bytes: int = 0
    value_bytes: int | None = None
    nodes: tuple[NodeDemand, ...] = ()
    variable_bytes: int | None = 0
    arena: ArenaDemand | None = None
    work: tuple[NodeWork, ...] | None = None
    work_as_written: tuple[NodeWork, ...] | None = None


def demand(
    deployed: Graph,
    facts: NetworkFacts,
    memory: MemoryPlan,
    operators: Mapping[str, Op] = OPERATORS,
    *,
    written: Graph | None = None,
    is_timed: bool = True,
) -> Demand:
    """What ``deployed`` needs; ``facts`` and ``memory`` are its own.

    ``written`` is the graph that nothing is merged in, where it is of interest what that asks of kernels; ``is_timed`` says whether it is
    of interest for ``deployed``.
    """
    static = static_tensors(deployed, operators)
    stored = {tensor.id: tensor for tensor in deployed.stored_everywhere()}
    moved = _moved(deployed, facts, stored, operators, static)
    return Demand(
        stored_bytes=stored_bytes(deployed),
        stored_exact=stored_exact(deployed),
        weight_bytes=known_total(stored[weight].bytes for weight in moved.weights if weight in stored),
        weight_read_bytes=moved.weight_bytes,
        peak_bytes=memory.peak_bytes.get(LIVE),
        peak_exact=memory.exact,
        peak_node=memory.peak_node.get(LIVE),
        stored_read_bytes=moved.stored_bytes,
        input_bytes=moved.input_bytes,
        output_bytes=moved.output_bytes,
        moved_exact=moved.exact,
        ops=facts.ops,
        ops_exact=facts.exact,
        precision=most_frequent(moved.macs),
        macs_by_precision=tuple(moved.macs.items()),
        value_bytes=facts.activations.total_bytes,
        nodes=moved.nodes,
        variable_bytes=memory.variable_bytes,
        arena=_arena(deployed, memory),
        work=node_works(deployed, facts, operators) if is_timed else None,
        work_as_written=None if written is None else node_works(written, count(written, written, operators), operators),
    )


def stored_bytes(deployed: Graph) -> int | None:
    """Parameters, buffers and constants of a deployed graph and of all its bodies, each storage once; None where a size is unknown."""
    return known_total(tensor.bytes for tensor in deployed.stored_everywhere())


def stored_exact(deployed: Graph) -> bool:
    """Whether that is all: a node without a rule may keep more in places we cannot see."""
    return all(
        node.operator != UNKNOWN and all(stored_exact(body.graph) for body in node.bodies) for node in deployed.nodes
    )


def _arena(deployed: Graph, memory: MemoryPlan) -> ArenaDemand | None:
    if deployed.arena is None:
        return None
    return ArenaDemand(
        peak_bytes=memory.peak_bytes.get(ARENA),
        peak_node=memory.peak_node.get(ARENA),
        variable_bytes=memory.variable_bytes,
        persistent=memory.persistent,
        reason=memory.inapplicable.get(ARENA, "") or deployed.arena.reason,
        exact=deployed.arena.is_known,
    )


class _Moved(NamedTuple):
    macs: dict[str | None, int]
    weights: frozenset[str]
    weight_bytes: int
    stored_bytes: int
    input_bytes: int
    output_bytes: int
    exact: bool
    nodes: tuple[NodeDemand, ...]


def _moved(
    deployed: Graph,
    facts: NetworkFacts,
    stored: Mapping[str, Tensor],
    operators: Mapping[str, Op],
    static: frozenset[str],
) -> _Moved:
    """What has to move, node by node and once in the whole: the whole is never more than the nodes together."""
    lies_in, inputs = storage_of(deployed, operators, static), frozenset(deployed.inputs)
    moves = Moves(operators, stored, {key: owner for key, owner in lies_in.items() if owner in inputs})
    running = (node for node in deployed.nodes if runs(node, static))
    nodes, reads, writes = [], dict[str, int](), dict[str, int | None]()
    exact, every = True, dict[str | None, int]()
    weights = _weights(deployed, operators, static)
    for node, counted in zip(running, facts.nodes, strict=True):
        moves.exact = True
        taken = moves.of(deployed, node, static)
        if counted.read_bytes is not None:
            # Of an ``if`` another branch may be counted than the one that reads most.
            taken = _at_most(taken, counted.read_bytes)
        kept = sum(size for storage, size in taken.items() if storage not in inputs)
        moves.add(reads, taken.items(), deployed)
        macs = macs_by_precision(deployed, operators, static, nodes=(node,))
        for precision, macs_at in macs.items():
            every[precision] = every.get(precision, 0) + macs_at
        nodes.append(_node(counted, kept, sum(taken.values()), most_frequent(macs), moves.exact))
        exact = exact and moves.exact
        writes.update((tensor, counted.write_bytes) for tensor in node.outputs if lies_in.get(tensor) == tensor)
    made = {lies_in[tensor] for tensor in deployed.outputs if tensor in lies_in}
    outputs = [_least(deployed.tensors[owner].bytes, writes[owner]) for owner in made if owner in writes]
    return _Moved(
        macs=every,
        weights=weights,
        weight_bytes=sum(size for storage, size in reads.items() if storage in weights),
        stored_bytes=sum(size for storage, size in reads.items() if storage not in inputs),
        input_bytes=sum(size for storage, size in reads.items() if storage in inputs),
        output_bytes=sum(size or 0 for size in outputs),
        exact=exact and None not in outputs,
        nodes=tuple(nodes),
    )


def _weights(graph: Graph, operators: Mapping[str, Op], static: frozenset[str]) -> frozenset[str]:
    """The stored tensors that are weights, in bodies as well, and what is computed from them in advance."""
    learned = {tensor for tensor, use in parameter_uses(graph, operators).items() if use == "weight"}
    found, graphs = set(learned), [(graph, static)]
    while graphs:
        current, fixed = graphs.pop()
        sources = static_sources(current, fixed, operators)
        found.update(tensor for tensor, of in sources.items() if not learned.isdisjoint(of))
        graphs += [
            (body.graph, static_tensors(body.graph, operators, outside=fixed))
            for node in current.nodes
            for body in node.bodies
        ]
    return frozenset(found)


def _at_most(taken: Mapping[str, int], limit: int) -> dict[str, int]:
    """``taken``, cut where all of it together is more than ``limit``."""
    left, found = limit, {}
    for storage, size in taken.items():
        found[storage] = min(size, left)
        left -= found[storage]
    return found


def _least(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else min(one, other)


def _node(counted: NodeFacts, kept: int, taken: int, precision: str | None, exact: bool) -> NodeDemand:
    """``kept`` are the stored bytes of the ``taken`` ones, which are all that is known where the count is not."""
    reads = taken if counted.read_bytes is None else counted.read_bytes
    exact = exact and counted.macs_exact and None not in (counted.read_bytes, counted.write_bytes)
    running = max(0, reads - kept) + (counted.write_bytes or 0)
    return NodeDemand(
        counted.name,
        2 * (counted.macs or 0),
        precision,
        kept,
        running,
        exact,
        counted.operator,
        None if counted.output is None else prod(counted.output),
        counted.uses_per_weight,
    )

"""Which bytes of stored tensors an inference has to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weighbridge.graph import BRANCH, Graph, Node, Tensor, TensorType
from weighbridge.operators.record import Call, Op, grouped, read_all_write_all
from weighbridge.passes.static import runs, static_tensors

__all__ = ["StoredReads", "call_where_known"]


class StoredReads:
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
            for tensor, size in self.of(graph, node, static):
                known = self.kept.get(tensor) or graph.tensors.get(tensor)
                whole = known.bytes if known else None
                total = reads.get(tensor, 0) + size
                reads[tensor] = total if whole is None else min(total, whole)
        return reads

    def of(self, graph: Graph, node: Node, static: frozenset[str]) -> Iterable[tuple[str, int]]:
        """What one node reads, as (tensor id, bytes); of a node with bodies what its bodies read, each tensor once."""
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
        call = call_where_known(graph, node)
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


def call_where_known(graph: Graph, node: Node) -> Call | None:
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

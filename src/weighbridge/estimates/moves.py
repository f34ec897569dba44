"""Which bytes of stored tensors and of the network's inputs an inference has to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weighbridge.graph import BRANCH, Graph, Node, Tensor, TensorType
from weighbridge.operators.record import Call, Op, grouped, read_all_write_all
from weighbridge.passes.static import runs, static_tensors

__all__ = ["Moves", "call_where_known", "storage_of"]


class Moves:
    """Tells what nodes read of storages that are there before they run; ``exact`` turns False at what no rule tells.

    ``kept`` are the stored tensors by id; ``lies_in`` names the network's input that a running tensor is, or is a view of.
    """

    def __init__(self, operators: Mapping[str, Op], kept: Mapping[str, Tensor], lies_in: Mapping[str, str]) -> None:
        self.operators = operators
        self.kept = kept
        self.lies_in = lies_in
        self.exact = True

    def of(self, graph: Graph, node: Node, static: frozenset[str]) -> dict[str, int]:
        """Bytes by storage that one node reads; of a node with bodies what its bodies read, each storage once."""
        if node.bodies:
            return self._bodies(node, static)
        sizes = {tensor: graph.tensors[tensor].bytes for tensor in node.inputs}
        wanted = {
            tensor: tensor if tensor in static else self.lies_in[tensor]
            for tensor in sizes
            if self._is_there(tensor, static)
        }
        op = self.operators.get(node.operator)
        if not wanted:
            return {}
        taken = None if op is None else self._taken(graph, node, op, sizes)
        if taken is None:
            self.exact = False
            return {}
        reads: dict[str, int] = {}
        for tensor, storage in wanted.items():
            self.exact = self.exact and taken[tensor] is not None
            reads[storage] = reads.get(storage, 0) + (taken[tensor] or 0)
        return reads

    def _is_there(self, tensor: str, static: frozenset[str]) -> bool:
        return tensor in static or tensor in self.lies_in

    def _taken(
        self, graph: Graph, node: Node, op: Op, sizes: Mapping[str, int | None]
    ) -> Mapping[str, int | None] | None:
        """What a node takes of each operand: all of it, or of the largest no more than its rule says; None is unknown."""
        if op.view_of is not None:
            return dict.fromkeys(sizes, 0)
        if op.traffic is read_all_write_all:
            return sizes
        call = call_where_known(graph, node)
        left = op.traffic(call).read_bytes if call else None
        if left is None:
            return None
        taken: dict[str, int | None] = {}
        for size, tensor in sorted((size, tensor) for tensor, size in sizes.items() if size is not None):
            taken[tensor] = min(size, left)
            left -= min(size, left)
        return taken if len(taken) == len(sizes) else None

    def _bodies(self, node: Node, static: frozenset[str]) -> dict[str, int]:
        found = [
            self.total(body.graph, static_tensors(body.graph, self.operators, outside=static))
            for body in node.bodies
            if body.trips != 0
        ]
        if node.operator == BRANCH:
            return max(found, key=lambda reads: sum(reads.values()), default={})
        together: dict[str, int] = {}
        for reads in found:
            for storage, size in reads.items():
                together[storage] = together.get(storage, 0) + size
        return together

    def total(self, graph: Graph, static: frozenset[str]) -> dict[str, int]:
        """Bytes by storage that all nodes of a graph read, of each no more than its size."""
        reads: dict[str, int] = {}
        for node in graph.nodes:
            if runs(node, static):
                self.add(reads, self.of(graph, node, static).items(), graph)
        return reads

    def add(self, reads: dict[str, int], more: Iterable[tuple[str, int]], graph: Graph) -> None:
        """Add to ``reads``, of each storage no more than its size."""
        for storage, size in more:
            known = self.kept.get(storage) or graph.tensors.get(storage)
            whole = known.bytes if known else None
            total = reads.get(storage, 0) + size
            reads[storage] = total if whole is None else min(total, whole)


def storage_of(graph: Graph, operators: Mapping[str, Op], static: frozenset[str]) -> dict[str, str]:
    """By every running tensor of ``graph`` the one in whose storage it lies: itself, or what it is a view of.

    A view of something static lies in no running storage and is not here.
    """
    found = {tensor: tensor for tensor in graph.inputs if tensor not in static}
    for node in graph.nodes:
        if not runs(node, static):
            continue
        op = operators.get(node.operator)
        viewed = op.view_of if op else None
        source = next((tensor for operand, tensor in node.operands if operand == viewed), "") if viewed else ""
        for tensor in node.outputs:
            if tensor not in static and source not in static:
                found[tensor] = found.get(source, tensor)
    return found


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

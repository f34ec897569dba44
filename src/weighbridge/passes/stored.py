"""What is computed from stored tensors alone: done once, before the first inference, and stored in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from weighbridge.graph import Graph, Node, Role, Tensor
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import body_tensors, in_bodies, rebuilt, renamed
from weighbridge.passes.static import reads_values, runs, static_sources, static_tensors

__all__ = ["fold_stored"]


def fold_stored(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with results of stored tensors stored instead of computed.

    A result is a parameter if a parameter is among its sources, else a buffer if a buffer is, else a constant.  The same
    computation done twice is done once.  A result stays computed where storing it would add to what is learned: where
    it is larger than its parameters (an expansion), or where they are needed anyway, by another node or for another
    result (a tied weight, transposed), or where they may be, in a body.  It costs no inference anything all the same.
    """
    return _fold(in_bodies(graph, lambda body: _fold_body(body, operators)), operators, in_body=False)


def _fold_body(graph: Graph, operators: Mapping[str, Op]) -> Graph:
    return _fold(in_bodies(graph, lambda body: _fold_body(body, operators)), operators, in_body=True)


def _fold(graph: Graph, operators: Mapping[str, Op], *, in_body: bool) -> Graph:
    static = static_tensors(graph, operators)
    if all(runs(node, static) for node in graph.nodes):
        return graph
    graph = _without_repetition(graph, static)
    folding = _Folding(graph, static, operators, in_body)
    kept = folding.kept_nodes()
    nodes = [node for place, node in enumerate(graph.nodes) if place in kept]
    if len(nodes) == len(graph.nodes):
        return graph
    tensors = dict(graph.tensors)
    made = {tensor for node in nodes for tensor in node.outputs}
    for node in graph.nodes:
        for tensor in node.outputs:
            if tensor not in made:
                del tensors[tensor]
    for tensor in folding.stored:
        tensors[tensor] = replace(graph.tensors[tensor], role=folding.role(tensor))
    return rebuilt(graph, nodes, tensors=tensors)


def _without_repetition(graph: Graph, static: frozenset[str]) -> Graph:
    """``graph`` with one of several static nodes that do the same to the same tensors."""
    fixed = body_tensors(graph).union(graph.outputs)
    seen: dict[object, Node] = {}
    names: dict[str, str] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        node = renamed(node, names)  # noqa: PLW2901
        if not runs(node, static) and not fixed.intersection(node.outputs):
            types = tuple(graph.tensors[tensor].type for tensor in node.outputs)
            key = (node.operator, node.operands, tuple(sorted(node.attributes.items())), types)
            same = seen.setdefault(key, node)
            if same is not node:
                names.update(zip(node.outputs, same.outputs, strict=True))
                continue
        nodes.append(node)
    if not names:
        return graph
    return rebuilt(graph, nodes, tensors={key: tensor for key, tensor in graph.tensors.items() if key not in names})


class _Folding:
    """Which static results are stored, and which static nodes have to stay."""

    def __init__(self, graph: Graph, static: frozenset[str], operators: Mapping[str, Op], in_body: bool) -> None:
        self.graph = graph
        self.static = static
        self.operators = operators
        self.sources = static_sources(graph, static, operators)
        self.roles = self._roles()
        self.producers = {
            tensor: place for place, node in enumerate(graph.nodes) if not runs(node, static) for tensor in node.outputs
        }
        wanted = self._wanted()
        self.needed = self._parameters() if in_body else self._needed_anyway(wanted)
        self.learned = self._learned()
        self.stored: set[str] = set()
        self.open = list(wanted)

    def role(self, tensor: str) -> Role:
        return self.roles[tensor]

    def kept_nodes(self) -> set[int]:
        """The places of the nodes that stay: those that run, and static ones whose result is not stored."""
        kept = {place for place, node in enumerate(self.graph.nodes) if runs(node, self.static)}
        seen: set[str] = set()
        while self.open:
            tensor = self.open.pop()
            place = self.producers.get(tensor)
            if place is None or tensor in seen:
                continue
            seen.add(tensor)
            if self._may_store(self.graph.tensors[tensor]):
                self.stored.add(tensor)
            elif place not in kept:
                kept.add(place)
                self.open.extend(self.graph.nodes[place].inputs)
        # A node that stays for one of its results makes the others too.
        for place in kept:
            self.stored.difference_update(self.graph.nodes[place].outputs)
        return kept

    def _may_store(self, tensor: Tensor) -> bool:
        if tensor.elements is None or tensor.bytes is None:
            return False
        sources = self.sources.get(tensor.id)
        return not sources or (self.learned[tensor.id] == tensor.elements and self.needed.isdisjoint(sources))

    def _wanted(self) -> list[str]:
        """The static tensors that nodes which run, bodies or the outside read, each once."""
        found = dict.fromkeys(
            tensor
            for node in self.graph.nodes
            if runs(node, self.static)
            for _, tensor in node.operands
            if tensor in self.static
        )
        found.update(dict.fromkeys(tensor for tensor in self.graph.outputs if tensor in self.static))
        bodies = body_tensors(self.graph)
        found.update(
            dict.fromkeys(tensor for tensor in self.graph.tensors if tensor in bodies and tensor in self.static)
        )
        return list(found)

    def _parameters(self) -> set[str]:
        return {tensor.id for tensor in self.graph.stored() if tensor.role is Role.PARAMETER}

    def _needed_anyway(self, wanted: list[str]) -> set[str]:
        """The parameters that more than one wanted tensor depends on."""
        uses = Counter(source for tensor in wanted for source in self.sources.get(tensor, ()))
        return {source for source, count in uses.items() if count > 1}

    def _learned(self) -> dict[str, int]:
        """How many elements that were learned a static tensor can stand for: those of its operands, no more than its own."""
        tensors = self.graph.tensors
        learned = {tensor.id: tensor.elements or 0 for tensor in self.graph.stored() if tensor.role is Role.PARAMETER}
        for node in self.graph.nodes:
            if not runs(node, self.static) and reads_values(node, self.operators):
                total = sum(learned.get(tensor, 0) for tensor in set(node.inputs))
                for tensor in node.outputs:
                    learned[tensor] = min(total, tensors[tensor].elements or 0)
        return learned

    def _roles(self) -> dict[str, Role]:
        roles = {tensor.id: tensor.role for tensor in self.graph.stored()}
        for node in self.graph.nodes:
            if not runs(node, self.static):
                found: set[Role] = set()
                if reads_values(node, self.operators):
                    found = {roles.get(tensor, Role.CONSTANT) for _, tensor in node.operands}
                role = next((r for r in (Role.PARAMETER, Role.BUFFER) if r in found), Role.CONSTANT)
                roles.update(dict.fromkeys(node.outputs, role))
        return roles

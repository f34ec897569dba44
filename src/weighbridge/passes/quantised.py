"""Quantised networks that a file writes as float operators between dequantising and quantising (QDQ)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from weighbridge.dtypes import DType
from weighbridge.graph import Graph, Node, Tensor
from weighbridge.operators.record import Kind, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import body_tensors, changed, in_bodies, rebuilt, renamed
from weighbridge.passes.static import runs, static_tensors

__all__ = ["fold_quantisation"]

_MOVES: Final = frozenset({Kind.MOVE, Kind.VIEW, Kind.IDENTITY})


def fold_quantisation(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with float operators between dequantised operands and quantised results made quantised operators.

    An operator is folded if all its running float operands come from ``dequantize`` and all readers of its results are
    ``quantize`` (one that folds), a chain of unary functions in between included; it then reads and writes the quantised tensors.
    Dequantised stored tensors are read as they are stored by every operator that runs, also where the activations are
    float (weight-only quantisation), and through static moves.  What is left of ``quantize`` and ``dequantize`` (at the
    inputs and outputs, around an operator that stays float) is nodes of the graph.
    """
    graph = in_bodies(graph, lambda body: fold_quantisation(body, operators))
    if not any(node.operator == "dequantize" for node in graph.nodes):
        return graph
    static = static_tensors(graph, operators)
    graph = _read_as_stored(graph, operators, static)
    return _Folding(graph, operators, static).graph()


def _is_dequantize(node: Node) -> bool:
    return node.operator == "dequantize"


def _folds(node: Node) -> bool:
    """Whether it quantises what a quantised operator before it may have computed."""
    return node.operator == "quantize" and bool(node.attributes.get("folds", True))


def _read_as_stored(graph: Graph, operators: Mapping[str, Op], static: frozenset[str]) -> Graph:
    """``graph`` with quantised stored tensors read as they are by nodes that run, directly or through static moves."""
    plain = _moved_as_stored(graph, operators, static)
    names: dict[str, str] = {}
    tensors = dict(graph.tensors)
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.bodies:
            nodes.append(node)
        elif runs(node, static):
            nodes.append(renamed(node, names))
        elif _is_dequantize(node):
            names[node.outputs[0]] = node.operands[0][1]
            nodes.append(node)
        elif plain.issuperset(node.outputs):
            node = renamed(node, names)  # noqa: PLW2901
            dtype = tensors[node.operands[0][1]].dtype
            for tensor in node.outputs:
                tensors[tensor] = replace(tensors[tensor], dtype=dtype)
            nodes.append(node)
        else:
            nodes.append(node)
    wanted = {tensor for node in nodes for tensor in node.inputs}.union(graph.outputs, body_tensors(graph))
    unread = {source for source in names if source not in wanted}
    nodes = [node for node in nodes if not unread.issuperset(node.outputs) or not node.outputs]
    return rebuilt(graph, nodes, tensors={key: tensor for key, tensor in tensors.items() if key not in unread})


def _moved_as_stored(graph: Graph, operators: Mapping[str, Op], static: frozenset[str]) -> set[str]:
    """The results of static moves of dequantised tensors that nobody needs dequantised before a node that runs."""
    moved = {node.outputs[0] for node in graph.nodes if _is_dequantize(node) and not runs(node, static)}
    moves: list[Node] = []
    for node in graph.nodes:
        if not runs(node, static) and _moves_one(graph, operators, node) and node.operands[0][1] in moved:
            moves.append(node)
            moved.update(node.outputs)
    places = {node.name for node in moves}
    refused = body_tensors(graph).union(graph.outputs)
    refused.update(
        tensor
        for node in graph.nodes
        if not runs(node, static) and node.name not in places
        for _, tensor in node.operands
    )
    for node in reversed(moves):
        if refused.intersection(node.outputs):
            refused.add(node.operands[0][1])
    result: set[str] = set()
    refused -= {node.outputs[0] for node in graph.nodes if _is_dequantize(node)}
    for node in moves:
        source = node.operands[0][1]
        if source not in refused and not refused.intersection(node.outputs):
            result.update(node.outputs)
        else:
            refused.update(node.outputs)
    return result


def _moves_one(graph: Graph, operators: Mapping[str, Op], node: Node) -> bool:
    """Whether the node places the values of its first operand elsewhere and takes floats from nowhere else."""
    op = operators.get(node.operator)
    if op is None or op.kind not in _MOVES or not node.operands or node.fused:
        return False
    return not any(graph.tensors[tensor].dtype.kind == "float" for tensor in node.inputs[1:])


class _Folding:
    """The running part: which float tensors are quantised by all their readers, and which operators can use that."""

    def __init__(self, graph: Graph, operators: Mapping[str, Op], static: frozenset[str]) -> None:
        self.old = graph
        self.operators = operators
        self.static = static
        self.tensors: dict[str, Tensor] = dict(graph.tensors)
        self.readers = graph.readers()
        self.fixed = body_tensors(graph).union(graph.outputs)
        self.dequantised = {
            node.outputs[0]: node.operands[0][1] for node in graph.nodes if _is_dequantize(node) and runs(node, static)
        }
        self.results = self._results()
        self.folded: set[str] = set()  # float tensors that became quantised ones
        self.names: dict[str, str] = {}

    def _results(self) -> dict[str, tuple[DType, str]]:
        """For each float tensor that only ``quantize`` reads: the type and id of its result.

        Where unary functions stand between the two, the id is "".
        """
        results: dict[str, tuple[DType, str]] = {}
        for node in reversed(self.old.nodes):
            for tensor in node.outputs:
                found = None if tensor in self.fixed else self._result(tensor, results)
                if found is not None:
                    results[tensor] = found
        return results

    def _result(self, tensor: str, results: Mapping[str, tuple[DType, str]]) -> tuple[DType, str] | None:
        readers = [self.old.nodes[place] for place in self.readers.get(tensor, ())]
        if not readers:
            return None
        if all(_folds(reader) and reader.operands[0][1] == tensor for reader in readers):
            quantised = [self.tensors[reader.outputs[0]] for reader in readers]
            others = {one.id for one in quantised[1:]}
            if len({one.dtype.name for one in quantised}) == 1 and not others & self.fixed:
                return quantised[0].dtype, quantised[0].id
            return None
        if len(readers) == 1 and self._is_unary(readers[0]) and readers[0].outputs[0] in results:
            return results[readers[0].outputs[0]][0], ""
        return None

    def _is_unary(self, node: Node) -> bool:
        op = self.operators.get(node.operator)
        return (
            op is not None and op.kind in (Kind.UNARY, Kind.IDENTITY) and len(node.operands) == len(node.outputs) == 1
        )

    def graph(self) -> Graph:
        nodes: list[Node] = []
        for node in self.old.nodes:
            if node.operator == "quantize" and node.operands[0][1] in self.folded:
                continue
            nodes.append(self._folded(node) if self._may_fold(node) else renamed(node, self.names))
        if not self.folded and not self.dequantised:
            return self.old
        wanted = {tensor for node in nodes for tensor in node.inputs} | self.fixed
        nodes = [
            node
            for node in nodes
            if not (node.outputs and node.outputs[0] in self.dequantised) or node.outputs[0] in wanted
        ]
        made = {tensor for node in nodes for tensor in node.outputs}
        gone = {tensor for node in self.old.nodes for tensor in node.outputs if tensor not in made}
        outputs = tuple(self.names.get(tensor, tensor) for tensor in self.old.outputs)
        tensors = {key: tensor for key, tensor in self.tensors.items() if key not in gone}
        return rebuilt(self.old, nodes, tensors=tensors, outputs=outputs)

    def _may_fold(self, node: Node) -> bool:
        op = self.operators.get(node.operator)
        if op is None or op.kind == Kind.QUANTISATION or node.bodies or not runs(node, self.static):
            return False
        quantised = 0
        for tensor in node.inputs:
            if tensor in self.dequantised or tensor in self.folded:
                quantised += 1
            elif tensor not in self.static and self.tensors[tensor].dtype.kind == "float":
                return False
        if not quantised:
            return False
        floats = [tensor for tensor in node.outputs if self.tensors[tensor].dtype.kind == "float"]
        return bool(floats) and all(tensor in self.results for tensor in floats)

    def _folded(self, node: Node) -> Node:
        """``node`` on quantised tensors."""
        operands = tuple((name, self.names.get(t, self._quantised(t))) for name, t in node.operands)
        outputs: list[str] = []
        for tensor in node.outputs:
            if tensor not in self.results:
                outputs.append(tensor)
                continue
            dtype, quantised = self.results[tensor]
            self.folded.add(tensor)
            if quantised:
                for place in self.readers[tensor]:
                    self.names[self.old.nodes[place].outputs[0]] = quantised
                outputs.append(quantised)
            else:
                self.tensors[tensor] = replace(self.tensors[tensor], dtype=dtype)
                outputs.append(tensor)
        return changed(node, operands=operands, outputs=tuple(outputs))

    def _quantised(self, tensor: str) -> str:
        source = self.dequantised.get(tensor, tensor)
        return self.names.get(source, source)

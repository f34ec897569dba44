"""Additions and normalisations that a convolution or matrix product takes into its weights and bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from weighbridge.graph import Graph, Node, Role, Tensor
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import body_tensors, changed, in_bodies, read_counts, rebuilt, unused_id
from weighbridge.passes.static import runs, static_tensors

__all__ = ["fold_batch_norm", "fuse_bias"]

_PRODUCERS: Final = frozenset({"conv", "conv_transpose", "linear", "matmul"})
_ADDITIONS: Final = frozenset({"add", "sum"})
_NORMALISATIONS: Final = frozenset({"batch_norm"})
_WEIGHT, _BIAS = "w", "b"
_Operands = tuple[tuple[str, str], ...]


class _Layers:
    """The nodes of a graph as they are merged, and which of them could take one more operand for their output channels."""

    def __init__(self, graph: Graph, operators: Mapping[str, Op]) -> None:
        self.tensors = dict(graph.tensors)
        self.reads = read_counts(graph)
        self.static = static_tensors(graph, operators)
        self.nodes: list[Node | None] = []
        self.made: dict[str, int] = {}
        self.merged = 0

    def keep(self, node: Node) -> None:
        if node.operator in _PRODUCERS and self._may_take(node):
            self.made[node.outputs[0]] = len(self.nodes)
        self.nodes.append(node)

    def _may_take(self, node: Node) -> bool:
        """A layer whose result is a plain sum: of a static weight, not yet through a function, not requantised or scaled."""
        if node.fused or len(node.outputs) != 1 or not runs(node, self.static) or _operand(node, "y_scale"):
            return False
        if node.attributes.get("quantisation", "by_operands") != "by_operands":
            return False
        return _operand(node, _WEIGHT) in self.static and node.attributes.get("beta", 1.0) == 1.0

    def producer(self, tensor: str) -> Node | None:
        """The layer that makes ``tensor`` for one reader alone."""
        place = self.made.get(tensor)
        return self.nodes[place] if place is not None and self.reads[tensor] == 1 else None

    def merge(self, source: str, layer: Node, *, here: bool) -> None:
        """``layer`` replaces the producer of ``source``: in its place, or ``here``, where all operands are known to exist."""
        place = self.made.pop(source)
        del self.tensors[source]
        self.merged += 1
        if here:
            self.nodes[place] = None
            self.made[layer.outputs[0]] = len(self.nodes)
            self.nodes.append(layer)
        else:
            self.made[layer.outputs[0]] = place
            self.nodes[place] = layer

    def is_stored(self, tensor: str) -> bool:
        return self.tensors[tensor].role.is_stored

    def graph(self, old: Graph) -> Graph:
        if not self.merged:
            return old
        wanted = body_tensors(old).union(old.outputs)
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if node is None:
                continue
            if runs(node, self.static) or not wanted.isdisjoint(node.outputs):
                kept.append(node)
                wanted.update(node.inputs)
            else:  # computed in advance for a layer that has a copy of its own now
                for tensor in node.outputs:
                    del self.tensors[tensor]
        return rebuilt(old, reversed(kept), tensors=self.tensors)


def _has_both(graph: Graph, merged: frozenset[str]) -> bool:
    """Whether the graph has layers, and operators that could merge into them; most graphs lack one of the two."""
    present = {node.operator for node in graph.nodes}
    return not present.isdisjoint(_PRODUCERS) and not present.isdisjoint(merged)


def fuse_bias(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with an addition of one number for every output channel made the bias of the layer before it.

    The layer (convolution, linear, matrix product with a static weight) has no bias yet and no other reader, and the
    number depends on no input.
    """
    graph = in_bodies(graph, lambda body: fuse_bias(body, operators))
    if not _has_both(graph, _ADDITIONS):
        return graph
    layers = _Layers(graph, operators)
    for node in graph.nodes:
        if node.operator not in _ADDITIONS or not _take_bias(layers, node):
            layers.keep(node)
    return layers.graph(graph)


def _take_bias(layers: _Layers, node: Node) -> bool:
    if len(node.operands) != 2 or node.fused:
        return False
    for source, vector in (node.inputs, node.inputs[::-1]):
        layer = layers.producer(source)
        if layer is None or _operand(layer, _BIAS) or vector not in layers.static:
            continue
        if layers.tensors[node.outputs[0]].shape == layers.tensors[source].shape and _is_per_channel(
            layers, layer, vector
        ):
            merged = changed(layer, operands=_with_operand(layer.operands, _BIAS, vector), outputs=node.outputs)
            layers.merge(source, merged, here=not layers.is_stored(vector))
            return True
    return False


def _is_per_channel(layers: _Layers, layer: Node, vector: str) -> bool:
    output, shape = layers.tensors[layer.outputs[0]].shape, layers.tensors[vector].shape
    axis = _channel_axis(layers, layer)
    if output is None or shape is None or axis is None:
        return False
    aligned = (1,) * (len(output) - len(shape)) + shape
    return all(size == (output[axis] if place == axis else 1) for place, size in enumerate(aligned))


def fold_batch_norm(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with every batch normalisation folded into the convolution or linear layer that feeds nothing else.

    Its scale goes into the weights and its shift into the bias, which the layer gets if it has none.  A weight or bias
    that another node reads as well is copied, as the two are no longer the same.  A normalisation that finds no such
    layer, works along another axis, or is in training mode, stays.
    """
    graph = in_bodies(graph, lambda body: fold_batch_norm(body, operators))
    if not _has_both(graph, _NORMALISATIONS):
        return graph
    layers = _Layers(graph, operators)
    for node in graph.nodes:
        if node.operator not in _NORMALISATIONS or not _take_norm(layers, node):
            layers.keep(node)
    return layers.graph(graph)


def _take_norm(layers: _Layers, node: Node) -> bool:
    source, *others = node.inputs
    layer = layers.producer(source)
    if layer is None or node.fused or node.attributes.get("training") or any(layers.reads[o] for o in node.outputs[1:]):
        return False
    shape, axis = layers.tensors[source].shape, _channel_axis(layers, layer)
    if shape is None or axis is None or axis != _norm_axis(node, len(shape)):
        return False
    if not layers.static.issuperset(others):
        return False
    operands = layer.operands
    for slot in (_WEIGHT, _BIAS):
        held = _operand(layer, slot)
        own = _own(layers, layer, held) if held else ""
        if own != held:
            operands = _with_operand(operands, slot, own)
    if not held:
        added = unused_id(layers.tensors, f"{layer.name}:bias")
        layers.tensors[added] = Tensor(added, (shape[axis],), layers.tensors[others[0]].dtype, Role.PARAMETER)
        operands = _with_operand(operands, _BIAS, added)
    for spare in node.outputs[1:]:
        del layers.tensors[spare]
    layers.merge(source, changed(layer, operands=operands, outputs=node.outputs[:1]), here=False)
    return True


def _own(layers: _Layers, layer: Node, tensor: str) -> str:
    """``tensor`` if it is stored and the layer is alone in reading it, else a copy of it for the layer.

    What stays computed although it depends on no input is so because its parameters are needed elsewhere, as they were.
    """
    is_stored = layers.is_stored(tensor)
    if is_stored and layers.reads[tensor] == 1:
        return tensor
    copy = unused_id(layers.tensors, f"{tensor}@{layer.name}")
    held = layers.tensors[tensor]
    layers.tensors[copy] = replace(held, id=copy, role=held.role if is_stored else Role.PARAMETER)
    return copy


def _operand(node: Node, name: str) -> str:
    """The id of an operand, or "" where it is absent."""
    for operand, tensor in node.operands:
        if operand == name:
            return tensor
    return ""


def _with_operand(operands: _Operands, name: str, tensor: str) -> _Operands:
    """``operands`` with one replaced, or put behind the weight."""
    present = name in [operand for operand, _ in operands]
    result: list[tuple[str, str]] = []
    for operand, held in operands:
        result.append((operand, tensor if operand == name else held))
        if operand == _WEIGHT and not present:
            result.append((name, tensor))
    return tuple(result)


def _channel_axis(layers: _Layers, layer: Node) -> int | None:
    """The axis of the output channels in the layer's result."""
    output, weight = layers.tensors[layer.outputs[0]].shape, layers.tensors[_operand(layer, _WEIGHT)].shape
    if output is None or weight is None or len(weight) < 2:
        return None
    if layer.attributes.get("layout") == "channels_first":
        return len(output) - (len(weight) - 2) - 1
    return len(output) - 1


def _norm_axis(node: Node, rank: int) -> int:
    return 1 if node.attributes.get("layout") == "channels_first" else rank - 1

"""Layers of the literature: any node of a textbook network, as the symbols that describe it."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node
from weighbridge.operators.record import Call
from weighbridge.operators.shapes import per_axis, window_padding
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import call_of
from weighbridge.textbook import find

from .kinds import Conv, Depthwise, LayerSpec, Linear, Operation

__all__ = ["is_preset", "layer_of", "preset"]

_SHOWN: Final = 12
_READ: Final = frozenset({"stride", "padding", "dilation", "groups"})
"""Attributes that symbols stand for.  A node with another that is not the usual one is no such layer."""


def is_preset(name: str) -> bool:
    """Whether ``name`` is written as a layer of a network is: ``alexnet.conv3``, ``alexnet.conv1:resolution=256``."""
    return "." in name.partition(":")[0]


def preset(name: str) -> LayerSpec:
    """The layer that ``name`` stands for: network, dot, node, and after a colon the network's parameters.

    The symbols of a linear layer and of a convolution of two dimensions are read off its shapes and attributes, without
    its bias; any other node becomes an ``Operation``.  Raises ``BadSpec`` for a network, a parameter or a node that does
    not exist, with the nearest names.
    """
    path, colon, choices = name.partition(":")
    network, _, layer = (part.strip() for part in path.partition("."))
    graph = _graph(f"{network}:{choices}" if colon else network)
    for node in graph.nodes:
        if node.name == layer:
            return layer_of(node, graph)
    raise _unknown(network, layer, [node.name for node in graph.nodes])


@lru_cache(maxsize=4)
def _graph(spec: str) -> Graph:
    """Layers are asked for one by one, most often of one network."""
    return find(spec)


def layer_of(node: Node, graph: Graph) -> LayerSpec:
    """The layer that a node of a textbook network is."""
    usual = OPERATORS[node.operator].attributes
    unusual = {name for name, value in node.attributes.items() if value != usual.get(name)}
    if {operand for operand, _ in node.operands} <= {"x", "w", "b"} and unusual <= _READ:
        call = call_of(node, graph)
        if node.operator == "linear" and len(call.x.shape) == 2:
            return Linear(n=call.x.shape[0], c_i=call.x.shape[1], c_o=call.w.shape[0])
        if node.operator == "conv" and len(call.x.shape) == len(call.w.shape) == 4:
            return _convolution(call)
    read = dict.fromkeys(tensor for _, tensor in node.operands)
    return Operation(node, tuple(graph.tensors[tensor] for tensor in read))


def _unknown(network: str, layer: str, known: list[str]) -> BadSpec:
    near = get_close_matches(layer, known, 3)
    more = ", …" if len(known) > _SHOWN else ""
    meant = f"did you mean {' or '.join(near)}?" if near else f"its layers are {', '.join(known[:_SHOWN])}{more}"
    return BadSpec(f"{network} has no layer {layer!r}", hint=meant)


def _convolution(call: Call) -> Conv | Depthwise:
    (n, c_i, *sizes), (c_o, _, *kernel) = call.x.shape, call.w.shape
    stride, dilation = (per_axis(call.integers(name), 2, name) for name in ("stride", "dilation"))
    before, after = zip(*window_padding(call["padding"], tuple(sizes), tuple(kernel), stride, dilation), strict=True)
    groups = call.integer("groups")
    is_depthwise = groups == c_i > 1
    conv = Conv(
        n=n,
        c_i=c_i,
        c_o=c_o,
        g=groups,
        h_i=sizes[0],
        w_i=sizes[1],
        k=tuple(kernel),
        stride=stride,
        padding=before if before == after else (*before, *after),
        dilation=dilation,
    )
    return Depthwise.like(conv, None if c_o == c_i else c_o) if is_depthwise else conv

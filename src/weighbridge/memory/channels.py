"""Which axis of each running tensor holds channels, as far as the operators that touch it tell.

A layout (``channels_first``, ``channels_last``) says it of a convolution or a pool; a linear layer, an attention or a recurrent
layer has its features on the last axis.  Operators that work element by element, or that join, cut, pad or quantise, keep the
axes of what they read.  A format whose graphs never say ``channels_first``, as TensorFlow Lite, has all channels last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from weighbridge.graph import Graph, Node, Shape
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Kind, Op

__all__ = ["Places", "channel_axes"]

_FIRST: Final = "channels_first"
_LAST_AXIS: Final = frozenset(
    {"linear", "matmul", "attention", "layer_norm", "rms_norm", "embedding", "lstm", "gru", "rnn", "linear_attention"}
)
_KEEPS: Final = frozenset({"concat", "pad", "slice", "split", "softmax", "log_softmax", "resize", "reduce_mean"})
_KEEPING_KINDS: Final = frozenset(
    {Kind.UNARY, Kind.ELEMENTWISE, Kind.IDENTITY, Kind.QUANTISATION, Kind.NORMALISATION, Kind.POOLING}
)


class Places(NamedTuple):
    """Axes by tensor id.  ``unknown`` is the first tensor of which nobody can tell, None if there is none."""

    axes: Mapping[str, int]
    unknown: str | None = None


def channel_axes(graph: Graph, nodes: Sequence[Node], running: Iterable[str], operators: Mapping[str, Op]) -> Places:
    """The axis of channels of each tensor in ``running`` that has a shape; of one with two dimensions or fewer the last."""
    shapes = {tensor: shape for tensor in running if (shape := graph.tensors[tensor].shape)}
    if not any(node.attributes.get("layout") == _FIRST for node in nodes):
        return Places({tensor: len(shape) - 1 for tensor, shape in shapes.items()})
    said: dict[str, int] = {}
    for tensor, axis in (fact for node in nodes for fact in _facts(node, shapes, graph)):
        if said.setdefault(tensor, axis) != axis:
            return Places(said, tensor)
    disputed = _spread(said, nodes, shapes, operators)
    if disputed is not None:
        return Places(said, disputed)
    for tensor, shape in shapes.items():
        if tensor not in said and len(shape) > 2:
            return Places(said, tensor)
        said.setdefault(tensor, len(shape) - 1)
    return Places(said)


def _facts(node: Node, shapes: Mapping[str, Shape], graph: Graph) -> Iterator[tuple[str, int]]:
    """What a node says of its operand x and its first result; of tensors with two dimensions or fewer nothing needs saying."""
    touched = [tensor for operand, tensor in node.operands if operand in ("x", "q", "k", "v")][:3]
    for tensor in (*touched, *node.outputs[:1]):
        rank = len(shapes.get(tensor, ()))
        if rank < 3:
            continue
        if "layout" in node.attributes:
            yield tensor, _axis(node, rank, graph)
        elif node.operator in _LAST_AXIS:
            yield tensor, rank - 1


def _axis(node: Node, rank: int, graph: Graph) -> int:
    """The axis of channels of a map of ``rank`` dimensions, with or without a batch."""
    if node.attributes["layout"] != _FIRST:
        return rank - 1
    weight = next((graph.tensors[tensor].shape for operand, tensor in node.operands if operand == "w"), None)
    window = node.attributes.get("kernel", node.attributes.get("output_size"))
    if weight is not None:
        return rank - (len(weight) - 2) - 1
    return rank - (len(window) if isinstance(window, tuple) and len(window) > 1 else max(rank - 2, 1)) - 1


def _spread(
    said: dict[str, int], nodes: Sequence[Node], shapes: Mapping[str, Shape], operators: Mapping[str, Op]
) -> str | None:
    """Carry what is ``said`` to tensors that operators keep the axes of, both ways; returns one that two operators disagree on."""
    changed = True
    while changed:
        changed = False
        for node in (*nodes, *reversed(nodes)):
            links = list(_links(node, shapes, operators))
            for one, other, move in links:
                for known, told, axis in ((one, other, move), (other, one, _inverse(move))):
                    if known not in said:
                        continue
                    there = axis[said[known]]
                    if told not in said:
                        said[told], changed = there, True
                    elif said[told] != there:
                        return told
    return None


def _links(
    node: Node, shapes: Mapping[str, Shape], operators: Mapping[str, Op]
) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Pairs of tensors of one rank whose axes correspond, and where each axis of the first lies in the second."""
    op = operators.get(node.operator)
    if op is None:
        return
    tensors = [tensor for tensor in (*node.inputs, *node.outputs) if len(shapes.get(tensor, ())) > 2]
    if op.name == "transpose":
        permutation = node.attributes["permutation"]
        if len(tensors) == 2 and isinstance(permutation, tuple):
            yield tensors[1], tensors[0], tuple(axis for axis in permutation if isinstance(axis, int))
    elif op.name in _KEEPS or op.kind in _KEEPING_KINDS:
        same = [tensor for tensor in tensors if len(shapes[tensor]) == len(shapes[tensors[-1]])]
        yield from ((one, same[-1], tuple(range(len(shapes[one])))) for one in same[:-1])


def _inverse(move: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(move.index(axis) for axis in range(len(move)))

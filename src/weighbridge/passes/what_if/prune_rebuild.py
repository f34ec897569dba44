"""A graph with fewer channels: the shapes of its tensors, the sizes in its nodes' attributes, and whether all of it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Node, Tensor, TensorType
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Call, grouped
from weighbridge.passes.what_if.channel_links import Links
from weighbridge.passes.what_if.channel_site import Sizes
from weighbridge.passes.what_if.channel_spaces import Axis

__all__ = ["Draft", "misfits", "resized"]


class Draft(NamedTuple):
    """Tensors and nodes of a graph to be; ``touched`` are the names of the nodes that read or make something of another size."""

    tensors: Mapping[str, Tensor]
    nodes: tuple[Node, ...]
    touched: frozenset[str]


def resized(links: Links, removed: Mapping[int, int]) -> Draft:
    """The tensors and nodes of the graph with the channels that are ``removed``, by space, gone."""

    def size(axis: Axis, before: int) -> int:
        return before if axis is None else links.spaces.size(axis, removed)

    graph = links.graph
    tensors = {key: _resized(tensor, links.axes.get(key, ()), size) for key, tensor in graph.tensors.items()}
    nodes: list[Node] = []
    touched: set[str] = set()
    for node in graph.nodes:
        if all(tensors[one] is graph.tensors[one] for one in (*node.inputs, *node.outputs)):
            nodes.append(node)
            continue
        touched.add(node.name)
        mend = links.mends.get(node.name)
        changes: Mapping[str, Attribute] = {} if mend is None else mend(size)
        nodes.append(replace(node, attributes={**node.attributes, **changes}) if changes else node)
    return Draft(tensors, tuple(nodes), frozenset(touched))


def _resized(tensor: Tensor, axes: tuple[Axis, ...], size: Sizes) -> Tensor:
    """A tensor of another shape.  Of a parameter with zeros as large a part is zero as before."""
    shape = tensor.shape
    if shape is None or not axes:
        return tensor
    found = tuple(size(axis, before) for axis, before in zip(axes, shape, strict=True))
    if found == shape:
        return tensor
    made = replace(tensor, shape=found, nonzeros=None)
    if tensor.nonzeros is None:
        return made
    return replace(made, nonzeros=tensor.nonzeros * (made.elements or 0) // (tensor.elements or 1))


def misfits(links: Links, draft: Draft) -> Iterator[Node]:
    """The nodes whose operator's own rule does not give the shapes that their results have now."""
    for node in draft.nodes:
        if node.name not in draft.touched:
            continue
        op = links.operators[node.operator]
        operands = [(name, draft.tensors[tensor].type) for name, tensor in node.operands]
        known = [(name, kind) for name, kind in operands if kind is not None]
        try:
            inferred = op.infer(Call(grouped(known), node.attributes))
        except GraphError:
            yield node
            continue
        shapes = [one.shape if isinstance(one, TensorType) else None for one in inferred]
        if len(known) != len(operands) or shapes != [draft.tensors[one].shape for one in node.outputs]:
            yield node

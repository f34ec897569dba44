"""Global average pooling in place of flattening: a linear layer then reads a value of each channel and not of each pixel.

So do Lin, Chen and Yan (Network In Network, 2013, section 3.2); of the 9,216 inputs of AlexNet's fc6 256 are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Final

from weighbridge.graph import Graph, Node, Shape
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Kind, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import changed
from weighbridge.passes.what_if.layers import Draft, Left, input_axis, left_note, nothing_changed, rebuilt_without_run

__all__ = ["pool_globally"]

_CHANGE: Final = "global-pool"
_SAME_PLACES: Final = frozenset({Kind.UNARY, Kind.ELEMENTWISE, Kind.IDENTITY, Kind.QUANTISATION, Kind.NORMALISATION})
"""Operators whose result has the axes of their first operand, so that its layout is theirs."""
_FLATTENS: Final = frozenset({"flatten", "reshape"})


class _Path(NamedTuple):
    """A map that is flattened, the nodes from there on that keep its values in place, and the linear layer that reads them."""

    flatten: Node
    between: tuple[Node, ...]
    layer: Node
    layout: str


def pool_globally(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with a global average pool before each flattening of a map for a linear layer, which then has an input a channel.

    The weight of that layer is new, so it has no known zeros; its bias stays.  The map has a batch, and one of its makers says
    which axis its channels are; nothing but views, identities and functions of single values lies between it and the layer,
    which alone reads it.  What is flattened and left as it is, a note says.  Raises ``BadSpec`` where there is nothing to replace.
    """
    draft = Draft(graph, operators)
    finder = _Finder(draft)
    replaced: dict[str, tuple[Node, ...]] = {}
    left: list[Left] = []
    for node in draft.running(*_FLATTENS):
        found = finder.path(node)
        if isinstance(found, _Path):
            replaced.update(_pooled(draft, found))
        elif found:
            left.append(Left(node.name, found))
    if not replaced:
        raise nothing_changed(_CHANGE, "no map that is flattened for a linear layer", left)
    nodes = [one for node in graph.nodes for one in replaced.get(node.name, (node,))]
    return rebuilt_without_run(graph, nodes, draft.tensors, [left_note(_CHANGE, left)] if left else [])


class _Finder:
    """Finds what makes and what reads the tensors of a graph."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.makers = {tensor: node for node in draft.graph.nodes for tensor in node.outputs}
        self.readers: dict[str, list[Node]] = {}
        for node in draft.graph.nodes:
            for tensor in node.inputs:
                self.readers.setdefault(tensor, []).append(node)

    def path(self, flatten: Node) -> _Path | str:
        """The path that begins with ``flatten``, or why there is none: "" where no map is flattened for a linear layer."""
        tensors = self.draft.graph.tensors
        before, after = tensors[flatten.inputs[0]].shape, tensors[flatten.outputs[0]].shape
        if not _flattens(before, after):
            return ""
        between: list[Node] = []
        node = self._only_reader(flatten)
        while node is not None and self._keeps_places(node):
            between.append(node)
            node = self._only_reader(node)
        if node is None or node.operator not in ("linear", "matmul"):
            return ""
        layout = self._layout(flatten.inputs[0])
        if not layout:
            return "which axis has the channels is not known"
        if before is not None and prod(before) == before[0] * before[1 if layout == "channels_first" else -1]:
            return "a map of one pixel"
        reason = self._why_not(node, (between or [flatten])[-1].outputs[0])
        return f"of {node.name}, {reason}" if reason else _Path(flatten, tuple(between), node, layout)

    def _why_not(self, layer: Node, x: str) -> str:
        """Why ``layer`` cannot have fewer inputs."""
        weight = dict(layer.operands)["w"]
        if layer.inputs[0] != x or layer.attributes["transpose_x"]:
            return "the inputs are the rows of its product"
        return self.draft.why_own(layer, weight) or (
            "" if len(self.draft.tensors[weight].shape or ()) == 2 else "the weight is no matrix"
        )

    def _only_reader(self, node: Node) -> Node | None:
        tensor = node.outputs[0]
        found = self.readers.get(tensor, [])
        return found[0] if self.draft.reads[tensor] == 1 and found else None

    def _keeps_places(self, node: Node) -> bool:
        """Whether a node does the same to every value: a function, an identity, a view that changes no shape."""
        op = self.draft.operators.get(node.operator)
        if op is None or len(node.outputs) != 1 or node.bodies:
            return False
        if op.kind in (Kind.UNARY, Kind.IDENTITY, Kind.QUANTISATION):
            return True
        tensors = self.draft.graph.tensors
        return node.operator in _FLATTENS and tensors[node.inputs[0]].shape == tensors[node.outputs[0]].shape

    def _layout(self, tensor: str) -> str:
        """Where the channels of a map are, as the nearest node says that made it from one; "" where none does."""
        rank = len(self.draft.graph.tensors[tensor].shape or ())
        while (node := self.makers.get(tensor)) is not None:
            op = self.draft.operators.get(node.operator)
            layout = node.attributes.get("layout")
            if isinstance(layout, str) and layout in ("channels_first", "channels_last"):
                return layout
            before = self.draft.graph.tensors[node.inputs[0]].shape if node.inputs else None
            keeps = op is not None and (op.kind in _SAME_PLACES or op.name == "concat")
            if not keeps or before is None or len(before) != rank:
                return ""
            tensor = node.inputs[0]
        return ""


def _flattens(before: Shape | None, after: Shape | None) -> bool:
    """Whether a map with a batch becomes a row for each of it."""
    return before is not None and after is not None and len(before) > 2 and after == (before[0], prod(before[1:]))


def _pooled(draft: Draft, path: _Path) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """The nodes that take the place of those on the path, by name; their tensors are filed."""
    flatten, layer = path.flatten, path.layer
    pool = draft.before(flatten, "pool", "global_average_pool", flatten.inputs[0], layout=path.layout)
    yield flatten.name, (pool, draft.instead(flatten, "flatten", pool.outputs[0], axis=1))
    for node in path.between:
        if node.operator in _FLATTENS:
            yield node.name, (draft.instead(node, "flatten", node.inputs[0], axis=1),)
        else:
            draft.infer(node, node)
    channels = (draft.tensors[layer.inputs[0]].shape or (0,))[-1]
    old = dict(layer.operands)["w"]
    shape = [*(draft.tensors[old].shape or ())]
    shape[input_axis(layer)] = channels
    weight = draft.parameter(old, f"{old}.pooled", tuple(shape))
    operands = tuple((name, weight if name == "w" else tensor) for name, tensor in layer.operands)
    made = changed(layer, operands=operands)
    draft.infer(made, layer)
    yield layer.name, (made,)

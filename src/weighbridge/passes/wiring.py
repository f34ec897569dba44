"""Who makes and who reads each tensor of a graph, as the patterns of recognition ask, and what they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Graph, Node, Shape, Tensor, TensorType
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Call, Op, grouped
from weighbridge.operators.rules import axes_of
from weighbridge.passes.rewrite import read_counts
from weighbridge.passes.static import static_tensors

__all__ = ["SCORES", "VIEWS", "Match", "Wiring", "other_operand"]

VIEWS: Final = ("reshape", "flatten", "squeeze", "unsqueeze")
SCORES: Final = frozenset({"matmul", "mul", "div", "add", "where", "cast", *VIEWS})
"""The operators that may make what a softmax of scores is applied to."""

_PLAIN: Final = ((), (), "")
"""The bodies, fused functions and reason of a node that is what its operator says and nothing more."""


class Match(NamedTuple):
    """A function found in a graph: ``nodes`` stand in the place of those that they are filed under.

    ``parts`` are the names of the nodes that make it up; those that nobody reads any more go.  ``tensors`` have another
    shape than before.
    """

    nodes: Mapping[str, tuple[Node, ...]]
    parts: Iterable[str]
    tensors: tuple[Tensor, ...] = ()


class Wiring:
    """A graph seen from its tensors.  Only plain nodes are found in it: no bodies, nothing fused, one result."""

    def __init__(self, graph: Graph, operators: Mapping[str, Op]) -> None:
        self.graph = graph
        self.operators = operators
        self.tensors = graph.tensors
        self.reads = read_counts(graph)
        self.static = static_tensors(graph, operators)
        self._makers: dict[str, Node] = {}
        self._readers: dict[str, list[Node]] = {}
        self._attributes: dict[object, Mapping[str, Attribute]] = {}
        self._transposes: dict[tuple[str, Shape], Node] | None = None
        self._places: dict[str, int] = {}
        for place, node in enumerate(graph.nodes):
            self._places[node.name] = place
            is_plain = (node.bodies, node.fused, node.reason) == _PLAIN and len(node.outputs) == 1
            if is_plain:
                self._makers[node.outputs[0]] = node
            for _, tensor in node.operands:
                self._readers.setdefault(tensor, []).append(node)

    def maker(self, tensor: str, *operators: str) -> Node | None:
        """The node that makes ``tensor``, if it is of one of these operators."""
        found = self._makers.get(tensor)
        return found if found is not None and found.operator in operators else None

    def part(self, tensor: str, *operators: str) -> Node | None:
        """The node of one of these operators that makes ``tensor`` for one reader alone."""
        return self.maker(tensor, *operators) if self.reads[tensor] == 1 else None

    def readers(self, tensor: str) -> list[Node]:
        """The nodes that read ``tensor``, once for every operand, in their order."""
        return self._readers.get(tensor, [])

    def reader(self, tensor: str, *operators: str) -> Node | None:
        """The one node that reads ``tensor``, if it is plain and of one of these operators."""
        found = self.readers(tensor)
        if self.reads[tensor] != 1 or not found or not found[0].outputs:
            return None
        return self.maker(found[0].outputs[0], *operators)

    def transposed(self, tensor: str, order: Shape) -> Node | None:
        """The first node that transposes ``tensor`` to this order of its axes."""
        if self._transposes is None:
            self._transposes = {}
            for node in self._makers.values():
                if node.operator == "transpose":
                    self._transposes.setdefault((node.inputs[0], self.order(node)), node)
        return self._transposes.get((tensor, order))

    def order(self, transpose: Node) -> Shape:
        """The order of the axes that a transpose makes; () where the shape is unknown."""
        call = self.call(transpose, {})
        rank = 0 if call is None else len(call.x.shape)
        if call is None or call["permutation"] == "reversed":
            return tuple(range(rank))[::-1]
        return axes_of(call, rank, "permutation")

    def comes_before(self, node: Node, other: Node) -> bool:
        """Whether a node runs before another."""
        return self._places[node.name] < self._places[other.name]

    def shape(self, tensor: str) -> Shape | None:
        return self.tensors[tensor].shape

    def is_number(self, tensor: str) -> bool:
        """Whether it is one value that depends on no input."""
        return tensor in self.static and self.tensors[tensor].elements == 1

    def beside_number(self, node: Node) -> str:
        """What a node of two operands takes beside a number, which of a ``div`` is the divisor; "" where neither is one."""
        (_, a), (_, b) = node.operands
        if self.is_number(b):
            return a
        return b if node.operator != "div" and self.is_number(a) else ""

    def is_closed(self, parts: Iterable[Node], last: Node) -> bool:
        """Whether nobody but these nodes reads what ``parts`` make, and the last one is among their readers."""
        inside = [*parts, last]
        counts = Counter([tensor for node in inside for _, tensor in node.operands])
        return all(self.reads[tensor] == counts[tensor] for node in inside[:-1] for tensor in node.outputs)

    def attributes(self, operator: str, **changes: Attribute) -> Mapping[str, Attribute]:
        """The attributes of an operator, all but ``changes`` its defaults; equal ones are one object."""
        key = operator, tuple(changes.items())
        if key not in self._attributes:
            self._attributes[key] = {**self.operators[operator].attributes, **changes}
        return self._attributes[key]

    def makes(self, node: Node, kind: TensorType | None, types: Mapping[str, TensorType] | None = None) -> bool:
        """Whether the operator's own rule gives ``node`` one result, of the type ``kind``; ``types`` go before the graph's."""
        found = self.call(node, types or {})
        if found is None or kind is None:
            return False
        try:
            return tuple(self.operators[node.operator].infer(found)) == (kind,)
        except GraphError:
            return False

    def call(self, node: Node, types: Mapping[str, TensorType]) -> Call | None:
        """What the rules see of ``node``; None where a shape is unknown."""
        operands: list[tuple[str, TensorType]] = []
        for name, tensor in node.operands:
            kind = types.get(tensor) or self.tensors[tensor].type
            if kind is None:
                return None
            operands.append((name, kind))
        return Call(grouped(operands), node.attributes)

    def unused_name(self, wanted: str) -> str:
        """``wanted``, or it with the first number behind it that makes it a new name for a node and its result."""
        name, number = wanted, 1
        while name in self._places or name in self.tensors:
            number += 1
            name = f"{wanted}#{number}"
        self._places[name] = len(self._places)
        return name


def other_operand(node: Node, tensor: str) -> str:
    """Of a node with two operands the one that is not ``tensor``; itself where both are."""
    (_, a), (_, b) = node.operands
    return b if a == tensor else a

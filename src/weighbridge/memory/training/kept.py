"""What every node keeps for the backward pass, and has in use while it runs, by the rule ``paper``.

The rule is that of the literature on training on small devices (Cai, Gan, Zhu and Han, TinyTL, 2020, and the lectures on it), worded
for convolutional networks and taken further for the rest, on the graph as written, each call counted:

- a convolution, a linear layer and a batch normalisation keep their input where their weight or scale is trained, as the gradient of
  a weight is made of it; that of a bias needs nothing;
- a function that switches (ReLU, ReLU6) keeps a bit a value, a smooth one its input, where a gradient goes through it;
- of tensors that multiply each other each keeps the others; softmax and the normalisations without stored statistics keep their
  input; what adds, moves or picks (pooling and dropout too) keeps nothing.

While a convolution runs, its input and a group's share of its output are in use; a linear layer's input and output; the input of
a function and of a normalisation; nothing more of the rest.  What two layers keep of one tensor counts for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from fractions import Fraction
from math import ceil
from typing import Final

from weighbridge.graph import BRANCH, Graph, Node, Tensor
from weighbridge.memory.training.trained import Part
from weighbridge.memory.training.widths import bytes_in_training
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Keeps, Kind, Op, known_total

__all__ = ["Kept", "Rule"]

_WITHOUT_GRADIENT: Final = frozenset({Kind.INDEX, Kind.GENERATOR})
_COUNTS: Final = frozenset({"bool", "int32", "int64", "uint32", "uint64", "string", "opaque"})
"""Element types of conditions, indices and text, which have no gradient; narrow integers stand for values."""


class Kept(NamedTuple):
    """``saved_bytes`` from here to the backward pass, ``in_use_bytes`` while the node runs; False: a lower bound."""

    saved_bytes: int
    in_use_bytes: int
    exact: bool = True


class Rule:
    """Walks a graph in execution order and says of each node what it keeps.

    ``trained`` are the parts of parameters that are trained; ``mixed`` is mixed precision.
    """

    def __init__(self, trained: Mapping[str, Part], operators: Mapping[str, Op], *, mixed: bool) -> None:
        self._trained = trained
        self._operators = operators
        self._mixed = mixed
        self.missing: dict[str, str] = {}

    def bytes_of(self, tensor: Tensor) -> int | None:
        """Bytes of a tensor while the network is trained; None where they are not known."""
        return bytes_in_training(tensor, mixed=self._mixed)

    def size_of(self, tensor: Tensor, node: Node) -> int:
        """Bytes of a tensor that ``node`` reads; 0 where they are not known, and then the node is missing something."""
        size = self.bytes_of(tensor)
        if size is None:
            self.missing.setdefault(node.name, "a size is unknown")
        return size or 0

    def walk(self, graph: Graph, differentiable: Set[str] = frozenset()) -> list[Kept]:
        """What each node of ``graph`` keeps; ``differentiable`` are tensors of an enclosing graph that have a gradient."""
        has_gradient = {*self._trained, *differentiable}
        return [self._kept(node, graph, has_gradient) for node in graph.nodes]

    def _kept(self, node: Node, graph: Graph, has_gradient: set[str]) -> Kept:
        op = self._operators.get(node.operator)
        reached = any(tensor in has_gradient for tensor in node.inputs) or self._is_reached_inside(node, has_gradient)
        if reached and (op is None or op.kind not in _WITHOUT_GRADIENT):
            has_gradient.update(one for one in node.outputs if graph.tensors[one].dtype.name not in _COUNTS)
        if node.bodies:
            return self._of_bodies(node, has_gradient)
        if op is None:
            self.missing[node.name] = node.reason or "there is no rule for its operator"
            return Kept(0, 0, exact=False)
        saved = self._saved(node, op, graph, has_gradient)
        in_use = self._in_use(node, op, graph)
        if saved is None or in_use is None:
            self.missing[node.name] = "a size is unknown"
            return Kept(saved or 0, in_use or 0, exact=False)
        return Kept(saved, in_use)

    def _is_reached_inside(self, node: Node, has_gradient: set[str]) -> bool:
        """Whether a body reads something trained that is no operand of the node, as stored tensors are not."""
        return any(
            one.id in has_gradient for body in node.bodies for one in body.graph.stored() if one.id in self._trained
        )

    def _of_bodies(self, node: Node, has_gradient: set[str]) -> Kept:
        """The largest branch; of a loop every trip's, as each keeps its own."""
        found: list[Kept] = []
        for body in node.bodies:
            carried = body.graph.inputs if any(one in has_gradient for one in (*node.inputs, *node.outputs)) else ()
            inside = self.walk(body.graph, has_gradient | set(carried))
            trips = 1 if body.trips is None else body.trips
            if body.trips is None:
                self.missing[node.name] = "nobody knows how often it runs; one time is in the figures"
            saved = sum(one.saved_bytes for one in inside)
            found.append(
                Kept(
                    trips * saved,
                    max((one.in_use_bytes for one in inside), default=0),
                    exact=body.trips is not None and all(one.exact for one in inside),
                )
            )
        if node.operator == BRANCH:
            largest = max(found, key=lambda one: one.saved_bytes)
            return largest._replace(exact=all(one.exact for one in found))
        return Kept(
            sum(one.saved_bytes for one in found),
            max((one.in_use_bytes for one in found), default=0),
            exact=all(one.exact for one in found),
        )

    def _saved(self, node: Node, op: Op, graph: Graph, has_gradient: Set[str]) -> int | None:
        total = 0
        for tensor, bits, share in self._needed(node, op, graph, has_gradient):
            size = graph.tensors[tensor].elements if bits else self.bytes_of(graph.tensors[tensor])
            if size is None:
                return None
            total += -(-size // 8) if bits else ceil(size * share)
        return total

    def _needed(self, node: Node, op: Op, graph: Graph, has_gradient: Set[str]) -> Iterator[tuple[str, bool, Fraction]]:
        """The running tensors that a node keeps, whether as bits, and which share of them; a tensor once."""
        added = {slot.name for slot in op.slots if slot.is_added}
        sought = [place for place, (name, one) in enumerate(node.operands) if one in has_gradient and name not in added]
        if op.kept == Keeps.NOTHING or not sought:
            return
        running = [place for place, tensor in enumerate(node.inputs) if not graph.tensors[tensor].role.is_stored]
        if op.kept in (Keeps.BITS, Keeps.INPUT):
            yield from ((node.inputs[place], op.kept == Keeps.BITS, Fraction(1)) for place in running[:1])
            return
        needed: dict[str, Fraction] = {}
        for place in running:
            name, tensor = node.operands[place]
            why = [node.inputs[at] for at in sought if _NEEDS[op.kept](at, place)]
            if why and name not in added:
                needed[tensor] = max(needed.get(tensor, Fraction(0)), *map(self._share, why))
        yield from ((tensor, False, share) for tensor, share in needed.items())

    def _share(self, tensor: str) -> Fraction:
        part = self._trained.get(tensor)
        return Fraction(1) if part is None else part.share

    def _in_use(self, node: Node, op: Op, graph: Graph) -> int | None:
        """The input, and of a contraction by a weight the output with it: a group's share of it in a convolution."""
        if op.kind not in (Kind.CONTRACTION, Kind.UNARY, Kind.NORMALISATION):
            return 0
        running = [tensor for tensor in node.inputs if not graph.tensors[tensor].role.is_stored]
        sizes = [self.bytes_of(graph.tensors[tensor]) for tensor in running[:1]]
        if op.loops is not None:
            made = [self.bytes_of(graph.tensors[tensor]) for tensor in node.outputs[:1]]
            groups = node.attributes.get("groups", 1)
            sizes += [size // groups if size and isinstance(groups, int) and groups else size for size in made]
        return known_total(sizes)


_Needs = Callable[[int, int], bool]
_NEEDS: Final[Mapping[str, _Needs]] = {
    Keeps.OTHERS: lambda at, place: at != place,
    Keeps.OPERANDS: lambda at, place: True,
    Keeps.SECOND: lambda at, place: 1 in (at, place),
}
"""Whether the operand at ``place`` is needed for the gradient of the one at ``at``."""

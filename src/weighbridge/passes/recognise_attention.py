"""Scaled dot-product attention, written as two matrix products and a softmax between them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from weighbridge.graph import UNKNOWN, Attribute, Node, Shape, Tensor, TensorType
from weighbridge.operators.shapes import axis_of
from weighbridge.passes.wiring import SCORES, VIEWS, Match, Wiring, other_operand

__all__ = ["attention"]

_Operands = tuple[tuple[str, str], ...]
_LONGEST: Final = 12
"""More operators than follow each other between a product and the softmax: what is longer is something else."""


def attention(wiring: Wiring, softmax: Node) -> Match | None:
    """The attention around ``softmax``: softmax(c q k^T + mask) v, along the last axis.

    A number c multiplies or divides the scores, the queries or the keys; it goes, learned or not, as the scale of a folded
    batch normalisation does.  A mask is added or selects (a ``where`` with a number); where it is itself selected between two
    numbers, the condition is the mask.  There may be two, one of them added.  A tanh between two numbers caps the scores.
    Casts, views that leave the last two axes alone, and ``where(is_nan(p), number, p)`` behind the softmax belong to it.

    The product takes keys transposed and the operator takes them plain: a transpose that swaps their last two axes goes, and
    one that moves others, too, becomes the rest of it.  Values are none of a graph's: which side of a condition hides a score
    and where the cap lies costs the same.
    """
    shape, axis = wiring.shape(softmax.outputs[0]) or (), softmax.attributes["axis"]
    if len(shape) < 2 or not isinstance(axis, int) or axis_of(axis, len(shape)) != len(shape) - 1:
        return None
    found = _Attention(wiring, softmax)
    if not found.reads_values() or not found.reads_scores(softmax.inputs[0], _LONGEST):
        return None
    return found.match()


def _swapped(axes: tuple[int, ...]) -> tuple[int, ...]:
    return (*axes[:-2], axes[-1], axes[-2])


class _Attention:
    """What belongs to the attention around one softmax, as it is found."""

    def __init__(self, wiring: Wiring, softmax: Node) -> None:
        self.wiring = wiring
        self.product = self.last = self.softmax = softmax
        self.inside: list[Node] = [softmax]  # what these make must have no other readers
        self.spare: list[str] = []  # these go if they have none
        self.masks: list[str] = []
        self.lead: Shape | None = None  # the axes in front of the queries, as a mask sees them
        self.is_capped = False
        self.views: list[Node] = []  # in front of the attention, where queries, keys and values need them
        self.behind: list[Node] = []
        self.instead: dict[str, tuple[Node, ...]] = {}
        self.types: dict[str, TensorType] = {}

    # From the softmax to both products

    def reads_values(self) -> bool:
        """Finds the product with the values."""
        weights = self.softmax.outputs[0]
        for _ in range(_LONGEST):
            node = self.wiring.reader(weights, "matmul", "cast", *VIEWS) or self._without_nan(weights)
            if node is None:
                return False
            if node.operator == "matmul":
                self.last = node
                return node.inputs[0] == weights and node.inputs[1] != weights and self._is_product(node)
            if not self._is_in_front(node):
                return False
            self.inside.append(node)
            weights = node.outputs[0]
        return False

    def _without_nan(self, weights: str) -> Node | None:
        """A ``where`` that puts a number in the place of what is none: of rows without any key."""
        for node in self.wiring.readers(weights):
            test = self.wiring.maker(node.outputs[0], "is_nan")
            chosen = self.wiring.reader(node.outputs[0], "where")
            if test is None or chosen is None:
                continue
            condition, number, otherwise = chosen.inputs
            if (condition, otherwise) == (test.outputs[0], weights) and self.wiring.is_number(number):
                self.inside.append(test)
                return chosen
        return None

    def reads_scores(self, tensor: str, steps: int) -> bool:
        """Finds the product that ``tensor`` is computed from, in so many steps, and the masks on the way."""
        node = self.wiring.part(tensor, *SCORES)
        if node is None or not steps:
            return False
        found = self._reads_through(node, steps - 1)
        if found:
            self.inside.append(node)
        return found

    def _reads_through(self, node: Node, steps: int) -> bool:
        if node.operator == "matmul":
            return self._reads_product(node)
        if node.operator in ("mul", "div"):
            return self._reads_scaled(self.wiring.beside_number(node), steps)
        if node.operator == "add":
            return any(self._reads_masked(node, one, other_operand(node, one), steps) for one in node.inputs)
        if node.operator == "where":
            condition, x, y = node.inputs
            scores = y if self.wiring.is_number(x) else x if self.wiring.is_number(y) else ""
            return bool(scores) and self._reads_masked(node, scores, condition, steps)
        return self._is_in_front(node) and self.reads_scores(node.inputs[0], steps)

    def _reads_product(self, node: Node) -> bool:
        """The product of queries and keys, with what it adds itself."""
        self.product = node
        self.masks = [tensor for name, tensor in node.operands if name == "b"]
        is_running = node.outputs[0] not in self.wiring.static
        return is_running and self._is_product(node, "alpha", "beta", "transpose_w")

    def _reads_scaled(self, tensor: str, steps: int) -> bool:
        """Below a factor, where a tanh of other multiples is a cap."""
        if not tensor:
            return False
        cap = self.wiring.part(tensor, "tanh")
        if cap is None:
            return self.reads_scores(tensor, steps)
        scaled = self.wiring.part(cap.inputs[0], "mul", "div")
        below = "" if scaled is None else self.wiring.beside_number(scaled)
        if scaled is None or not below or not self.reads_scores(below, steps):
            return False
        self.is_capped = True
        self.inside += cap, scaled
        return True

    def _reads_masked(self, node: Node, scores: str, mask: str, steps: int) -> bool:
        if not self.reads_scores(scores, steps):
            return False
        self.masks.append(self._condition(mask))
        self.lead = (self.wiring.shape(node.outputs[0]) or ())[:-2]
        return True

    def _condition(self, mask: str) -> str:
        """The condition of a mask that is one number where it holds and another where not."""
        node = self.wiring.maker(mask, "where")
        if node is None or not all(map(self.wiring.is_number, node.inputs[1:])):
            return mask
        self.spare.append(node.name)
        return node.inputs[0]

    def _is_product(self, node: Node, *free: str) -> bool:
        """Whether a node multiplies two tensors and does nothing more, whatever its attributes ``free`` are."""
        usual = self.wiring.operators[node.operator].attributes
        differs = {name for name, value in node.attributes.items() if value != usual[name]}
        names = [name for name, _ in node.operands]
        return names in (["x", "w"], ["x", "w", "b"] if "beta" in free else []) and differs.issubset(free)

    def _is_in_front(self, node: Node) -> bool:
        """Whether a cast or a view leaves the last two axes as they are."""
        before, after = self._shape(node.inputs[0]), self._shape(node.outputs[0])
        return min(len(before), len(after)) >= 2 and before[-2:] == after[-2:]

    # Queries, keys and values

    def _shape(self, tensor: str) -> Shape:
        """The shape of a tensor, of one that is changed the new one; () where it is not known."""
        kind = self.types.get(tensor)
        return kind.shape if kind is not None else self.wiring.shape(tensor) or ()

    def _unscaled(self, tensor: str) -> str:
        """What is multiplied with a number, or divided by one, for nobody else."""
        while (node := self.wiring.part(tensor, "mul", "div")) is not None:
            beside = self.wiring.beside_number(node)
            if not beside:
                break
            self.inside.append(node)
            tensor = beside
        return tensor

    def _keys(self, tensor: str) -> str:
        """The tensor that is ``tensor`` with its last two axes swapped; "" where there is none."""
        tensor = self._unscaled(tensor)
        node = self.wiring.maker(tensor, "transpose", *VIEWS)
        if node is None:
            return ""
        if node.operator == "transpose":
            return self._keys_transposed(node)
        keys = self._keys(node.inputs[0]) if self._is_in_front(node) and self.wiring.reads[tensor] == 1 else ""
        if not keys:
            return ""
        shape = _swapped(self._shape(tensor))
        for same in (keys, self._viewed(keys)):
            if self._shape(same) == shape:
                self.spare.append(node.name)
                return same
        attributes = self.wiring.attributes("reshape", shape=shape, allow_zero=True)
        return self._changed(node, keys, "reshape", attributes, shape)

    def _keys_transposed(self, node: Node) -> str:
        made, order = node.outputs[0], self.wiring.order(node)
        if len(order) < 2:
            return ""
        rest = _swapped(order)
        if rest == tuple(range(len(order))):
            self.spare.append(node.name)
            return node.inputs[0]
        # The keys may be there plain: as a result of the network for the next step, or because their shape was asked for.
        plain = self.wiring.transposed(node.inputs[0], rest)
        if plain is not None and self.wiring.comes_before(plain, node):
            self.spare.append(node.name)
            return plain.outputs[0]
        if self.wiring.reads[made] != 1:
            return ""
        attributes = self.wiring.attributes("transpose", permutation=rest)
        return self._changed(node, node.inputs[0], "transpose", attributes, _swapped(self._shape(made)))

    def _viewed(self, tensor: str) -> str:
        """What ``tensor`` is a view of, its last two axes the same; itself where it is none."""
        node = None if tensor in self.types else self.wiring.maker(tensor, *VIEWS)
        if node is None or not self._is_in_front(node):
            return tensor
        self.spare.append(node.name)
        return node.inputs[0]

    def _changed(self, node: Node, x: str, operator: str, attributes: Mapping[str, Attribute], shape: Shape) -> str:
        """Puts another operator in the place of ``node``; returns its result, which has another shape now."""
        self.instead[node.name] = (
            Node(
                node.name,
                operator,
                (("x", x),),
                node.outputs,
                attributes,
                node.scope,
                node.origin,
                file_node=node.file_node,
            ),
        )
        self.types[node.outputs[0]] = TensorType(shape, self.wiring.tensors[node.outputs[0]].dtype)
        return node.outputs[0]

    # The whole

    def match(self) -> Match | None:
        """The attention in the place of its last product, if the operators' own rules say that it is the same."""
        q, w = map(self._unscaled, self.product.inputs[:2])
        k = w if self.product.attributes["transpose_w"] else self._keys(w)
        if not k or not self.wiring.is_closed(self.inside, self.last):
            return None
        before, behind = self._shape(self.product.outputs[0])[:-2], self._shape(self.last.outputs[0])[:-2]
        lead = before if self.lead is None else self.lead
        operands = (
            ("q", self._under(lead, q, before, "q")),
            ("k", self._under(lead, k, before, "k")),
            ("v", self._under(lead, self.last.inputs[1], behind, "v")),
            *self._masked_by(),
        )
        made = self._result(lead, behind)
        attributes = self.wiring.attributes("attention", **({"softcap": UNKNOWN} if self.is_capped else {}))
        node = self._node(self.last.name, "attention", operands, made, attributes)
        if not all(tensor for _, tensor in operands) or not self._is_same(node):
            return None
        self.instead[self.last.name] = (*self.views, node, *self.behind)
        return Match(self.instead, [*self.spare, *(part.name for part in self.inside)], self._tensors())

    def _masked_by(self) -> list[tuple[str, str]]:
        """The operands that mask: of two the first one that is added is the bias; an empty one where the operator has no slot."""
        masks = self.masks[:]
        added = [mask for mask in masks if self.wiring.tensors[mask].dtype.kind != "bool"]
        bias = [("score_bias", masks.pop(masks.index(added[0])))] if added and len(masks) > 1 else []
        return [*(("mask", mask if len(masks) == 1 else "") for mask in masks), *bias]

    def _under(self, lead: Shape, tensor: str, found: Shape, slot: str) -> str:
        """``tensor`` with other axes in front; as it is where they are the same, "" where they cannot be these."""
        shape = self._shape(tensor)
        if found == lead:
            return tensor
        if shape[:-2] != found or prod(found) != prod(lead):
            return ""
        name = self._added(slot, (*lead, *shape[-2:]), tensor)
        self.views.append(self._view(name, tensor, name))
        return name

    def _result(self, lead: Shape, behind: Shape) -> str:
        """What the attention makes: the last product's result, or what that is a view of."""
        result = self.last.outputs[0]
        if behind == lead:
            return result
        name = self._added("y", (*lead, *self._shape(result)[-2:]), result)
        self.behind.append(self._view(name, name, result))
        return name

    def _added(self, slot: str, shape: Shape, like: str) -> str:
        """A new tensor with the type of ``like``; its name is that of a node, too."""
        name = self.wiring.unused_name(f"{self.last.name}.{slot}")
        self.types[name] = TensorType(shape, self.wiring.tensors[like].dtype)
        return name

    def _view(self, name: str, x: str, y: str) -> Node:
        attributes = self.wiring.attributes("reshape", shape=self._shape(y), allow_zero=True)
        return self._node(name, "reshape", (("x", x),), y, attributes)

    def _node(
        self, name: str, operator: str, operands: _Operands, made: str, attributes: Mapping[str, Attribute]
    ) -> Node:
        last = self.last
        return Node(name, operator, operands, (made,), attributes, last.scope, last.origin, file_node=last.file_node)

    def _is_same(self, node: Node) -> bool:
        """Whether the attention has the type of what it makes, and the MACs of both products."""
        wiring, made = self.wiring, node.outputs[0]
        if not wiring.makes(node, self.types.get(made) or wiring.tensors[made].type, self.types):
            return False
        return self._macs(node) == self._macs(self.product) + self._macs(self.last)

    def _macs(self, node: Node) -> int:
        types = self.types if node.operator == "attention" else {}
        call = self.wiring.call(node, types)
        return 0 if call is None else self.wiring.operators[node.operator].macs(call)

    def _tensors(self) -> tuple[Tensor, ...]:
        """What is new, or has a new shape."""
        return tuple([Tensor(tensor, kind.shape, kind.dtype) for tensor, kind in self.types.items()])

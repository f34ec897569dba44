"""What is saved where a result is written over an operand that nobody needs any more."""

from __future__ import annotations

from collections.abc import Mapping, Set

from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node
from weighbridge.memory.lifetimes import Lifetimes
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.passes.rewrite import call_of

__all__ = ["Saving", "most", "savings"]


class Saving(NamedTuple):
    """A storage that a node's result may be written over, and what that saves; more than nothing."""

    storage: str
    bytes: int
    elements: int


def savings(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> list[list[Saving]]:
    """For each node that runs, the storages that it may overwrite.

    These die at the node, lie in no input or output of ``graph``, and every operand in them is one that the operator may
    overwrite.  Operand and result take the larger of the two then, and what the operator keeps apart.
    """
    kept = {spans.storage_of[tensor] for tensor in (*graph.inputs, *graph.outputs) if tensor in spans.storage_of}
    rules = _Rules(graph)
    return [_of_node(place, node, rules, spans, operators, kept) for place, node in enumerate(spans.nodes)]


def most(found: list[Saving], held: Set[str] = frozenset()) -> tuple[int, int]:
    """The most bytes and elements that one overwriting saves; storages that are ``held`` are not overwritten."""
    free = [saving for saving in found if saving.storage not in held]
    return max((one.bytes for one in free), default=0), max((one.elements for one in free), default=0)


class _Rules:
    """What the rules of operators say of the nodes of one graph; each is asked once for equal calls, as networks repeat themselves.

    Attributes are compared as objects, which live as long as the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[object, tuple[int | None, ...] | None] = {}

    def apart(self, node: Node, op: Op) -> tuple[int | None, ...] | None:
        """For each operand the elements kept apart where the result is written over it, None where it may not be.

        None in all where shapes depend on values, so that nothing is known.
        """
        tensors = self.graph.tensors
        types = [((tensor := tensors[one]).shape, tensor.dtype.name) for one in (*node.inputs, *node.outputs)]
        key = op.name, id(node.attributes), tuple([name for name, _ in node.operands]), tuple(types)
        if key not in self._known:
            self._known[key] = self._asked(node, op)
        return self._known[key]

    def _asked(self, node: Node, op: Op) -> tuple[int | None, ...] | None:
        try:
            call = call_of(node, self.graph)
        except GraphError:
            return None
        types = [(operand, self.graph.tensors[tensor].type) for operand, tensor in node.operands]
        return tuple(
            None if kind is None or op.may_overwrite is None else op.may_overwrite(call, operand, kind)
            for operand, kind in types
        )


def _of_node(
    place: int, node: Node, rules: _Rules, spans: Lifetimes, operators: Mapping[str, Op], kept: Set[str]
) -> list[Saving]:
    op = operators.get(node.operator)
    if op is None or op.may_overwrite is None or len(node.outputs) != 1:
        return []
    result = spans.storages.get(node.outputs[0])
    if result is None or result.bytes is None or result.elements is None:
        return []
    dying = {
        name
        for tensor in node.inputs
        if (name := spans.storage_of.get(tensor)) is not None
        and spans.storages[name].last == place
        and name not in kept
    }
    if not dying:
        return []
    found: list[Saving] = []
    for name, apart in _overwritable(node, op, rules, spans).items():
        storage = spans.storages[name]
        if name not in dying or storage.bytes is None or storage.elements is None:
            continue
        apart_bytes = rules.graph.tensors[node.outputs[0]].dtype.bytes_of(apart) if apart else 0
        if apart_bytes is not None:
            saved = min(storage.bytes, result.bytes) - apart_bytes
            if saved > 0:
                found.append(Saving(name, saved, min(storage.elements, result.elements) - apart))
    return found


def _overwritable(node: Node, op: Op, rules: _Rules, spans: Lifetimes) -> dict[str, int]:
    """The storages of which the operator may overwrite every operand that lies in them, and the elements kept apart."""
    apart: dict[str, int] = {}
    refused: set[str] = set()
    for (_, tensor), elements in zip(node.operands, rules.apart(node, op) or (), strict=False):
        storage = spans.storage_of.get(tensor)
        if storage is None:
            continue
        if elements is None:
            refused.add(storage)
        else:
            apart[storage] = max(elements, apart.get(storage, 0))
    return {storage: elements for storage, elements in apart.items() if storage not in refused}

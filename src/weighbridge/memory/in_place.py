"""What is saved where a result is written over an operand that nobody needs any more."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node
from weighbridge.memory.lifetimes import Lifetimes
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
    return [_of_node(place, node, graph, spans, operators, kept) for place, node in enumerate(spans.nodes)]


def most(found: list[Saving], held: Set[str] = frozenset()) -> tuple[int, int]:
    """The most bytes and elements that one overwriting saves; storages that are ``held`` are not overwritten."""
    free = [saving for saving in found if saving.storage not in held]
    return max((one.bytes for one in free), default=0), max((one.elements for one in free), default=0)


def _of_node(
    place: int, node: Node, graph: Graph, spans: Lifetimes, operators: Mapping[str, Op], kept: Set[str]
) -> list[Saving]:
    op = operators.get(node.operator)
    if op is None or op.may_overwrite is None or len(node.outputs) != 1:
        return []
    result = spans.storages.get(node.outputs[0])
    if result is None or result.bytes is None or result.elements is None:
        return []
    found: list[Saving] = []
    for name, apart in _overwritable(node, op, graph, spans).items():
        storage = spans.storages[name]
        if name in kept or storage.last != place or storage.bytes is None or storage.elements is None:
            continue
        apart_bytes = graph.tensors[node.outputs[0]].dtype.bytes_of(apart)
        if apart_bytes is not None:
            saved = min(storage.bytes, result.bytes) - apart_bytes
            if saved > 0:
                found.append(Saving(name, saved, min(storage.elements, result.elements) - apart))
    return found


def _overwritable(node: Node, op: Op, graph: Graph, spans: Lifetimes) -> dict[str, int]:
    """The storages of which the operator may overwrite every operand that lies in them, and the elements kept apart."""
    try:
        call = call_of(node, graph)
    except GraphError:
        return {}  # nothing is known of shapes that depend on values
    apart: dict[str, int] = {}
    refused: set[str] = set()
    for operand, tensor in node.operands:
        storage, kind = spans.storage_of.get(tensor), graph.tensors[tensor].type
        if storage is None or kind is None or op.may_overwrite is None:
            continue
        elements = op.may_overwrite(call, operand, kind)
        if elements is None:
            refused.add(storage)
        else:
            apart[storage] = max(elements, apart.get(storage, 0))
    return {storage: elements for storage, elements in apart.items() if storage not in refused}

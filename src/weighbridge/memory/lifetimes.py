"""Which storages a running graph has, and from when to when they are alive."""

from __future__ import annotations

from collections.abc import Mapping

from weighbridge.graph import Graph, Node, Role
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.passes.static import runs, static_tensors

__all__ = ["Lifetimes", "Storage", "lifetimes"]


class Storage(NamedTuple):
    """One piece of memory: bytes and elements (None: unknown), first and last node that it has to exist for."""

    name: str
    bytes: int | None
    elements: int | None
    first: int
    last: int


class Lifetimes(NamedTuple):
    """The nodes that run, what is static, every running storage by name, and which storage each running tensor lies in."""

    nodes: tuple[Node, ...]
    static: frozenset[str]
    storages: Mapping[str, Storage]
    storage_of: Mapping[str, str]

    def around(self, node: Node) -> tuple[int | None, int | None]:
        """Bytes and elements of the storages of a node's operands and outputs, each once."""
        storages, storage_of = self.storages, self.storage_of
        of_bytes: int | None = 0
        of_elements: int | None = 0
        for name in {storage_of[tensor] for tensor in (*node.inputs, *node.outputs) if tensor in storage_of}:
            _, more_bytes, more_elements, _, _ = storages[name]
            of_bytes = None if of_bytes is None or more_bytes is None else of_bytes + more_bytes
            of_elements = None if of_elements is None or more_elements is None else of_elements + more_elements
        return of_bytes, of_elements


def lifetimes(graph: Graph, operators: Mapping[str, Op], outside: frozenset[str] = frozenset()) -> Lifetimes:
    """Lifetimes over the nodes of ``graph`` that run, numbered from 0.

    An input is alive from the start to its last reader (without one, at the start alone), an output of the graph to the
    end, and what nobody reads while the node runs that writes it.  The output of a view lies in its operand's storage.
    Stored and static tensors are not here, nor are variables (role ``state``) and views of them.
    """
    static = static_tensors(graph, operators, outside=outside)
    nodes = tuple(node for node in graph.nodes if runs(node, static))
    variables = {key for key, tensor in graph.tensors.items() if tensor.role is Role.STATE}
    running = {key for key in graph.tensors if key not in static and key not in variables}
    storage_of = {tensor: tensor for tensor in graph.inputs if tensor in running}
    first, last = dict.fromkeys(storage_of, 0), dict.fromkeys(storage_of, 0)
    for place, node in enumerate(nodes):
        for _, tensor in node.operands:
            if tensor in storage_of:
                last[storage_of[tensor]] = place
        viewed = _viewed(node, operators)
        for tensor in node.outputs:
            if viewed in variables:
                variables.add(tensor)
            if tensor not in running or viewed in static or viewed in variables:
                continue  # a variable, or a view of one or of something stored: none takes room here
            owner = storage_of[tensor] = storage_of.get(viewed, tensor)
            first.setdefault(owner, place)
            last[owner] = place
    for tensor in graph.outputs:
        if tensor in storage_of:
            last[storage_of[tensor]] = max(len(nodes) - 1, 0)
    sizes = _sizes(graph, storage_of)
    storages = {name: Storage(name, *sizes[name], first[name], last[name]) for name in first}
    return Lifetimes(nodes, static, storages, storage_of)


def _viewed(node: Node, operators: Mapping[str, Op]) -> str:
    """The id of the operand whose storage the node's output is, or ""."""
    op = operators.get(node.operator)
    if op is None or op.view_of is None:
        return ""
    return next((tensor for operand, tensor in node.operands if operand == op.view_of), "")


def _sizes(graph: Graph, storage_of: Mapping[str, str]) -> dict[str, tuple[int | None, int | None]]:
    """(bytes, elements) of every storage; where its own shape is unknown that of a view of it will do."""
    sizes: dict[str, tuple[int | None, int | None]] = {}
    for tensor, storage in storage_of.items():
        if sizes.get(storage, (None, None))[1] is None:
            sizes[storage] = (graph.tensors[tensor].bytes, graph.tensors[tensor].elements)
    return sizes

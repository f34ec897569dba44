"""What a graph asks of an arena: its storages where no runtime has made requests, and scratch that a user adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final

from weighbridge.arena import Arena, ArenaBuffer
from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node
from weighbridge.memory.lifetimes import Lifetimes, lifetimes
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.convolution import unrolled_elements
from weighbridge.operators.record import Op
from weighbridge.passes.rewrite import call_of

__all__ = ["IM2COL", "SCRATCH", "requests_of", "with_im2col"]

IM2COL: Final = "im2col"
SCRATCH: Final = (IM2COL,)
"""The names of scratch that can be asked for."""

_UNROLLED: Final = frozenset({"conv", "deformable_conv"})


class _NoPlan(Exception):
    """Why nothing can be planned."""


def requests_of(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op], scratch: str) -> tuple[Arena, list[int]]:
    """The storages of ``graph`` as requests, in the order of their making, and the scope of each running node.

    A node is a scope, and so is each node of its bodies, one body after the other: what is alive outside stays so all the
    while, and what a body takes from outside is there once.  Where a size is unknown, the arena has the reason alone.
    """
    walk = _Walk(operators, scratch)
    try:
        starts = walk.enter(graph, spans)
    except _NoPlan as reason:
        return Arena(reason=str(reason)), []
    return Arena((*walk.buffers, *walk.scratch), tuple(walk.scopes)), starts


def with_im2col(arena: Arena, graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> Arena:
    """``arena`` with the unrolled input of every convolution of ``graph`` that makes one, in the scope of its node."""
    scopes: dict[str, int] = {}
    for place, name in enumerate(arena.scopes):
        scopes.setdefault(name, place)
    try:
        scratch = [_buffer(node, size, scopes) for node, size in _unrolled_inputs(graph, spans, operators)]
    except _NoPlan as reason:
        return Arena(persistent=arena.persistent, reason=str(reason))
    return arena._replace(buffers=(*arena.buffers, *scratch))


def _buffer(node: Node, size: int, scopes: Mapping[str, int]) -> ArenaBuffer:
    scope = scopes.get(node.name)
    if scope is None:
        raise _NoPlan(f"the runtime's requests do not say when {node.name} runs, so its {IM2COL} has no place")
    return _im2col(node, size, scope)


def _im2col(node: Node, size: int, scope: int) -> ArenaBuffer:
    return ArenaBuffer(f"{node.name}: {IM2COL}", size, scope, scope, node=node.name, is_scratch=True)


def _unrolled_inputs(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> Iterator[tuple[Node, int]]:
    for node in spans.nodes:
        size = _unrolled_bytes(node, graph)
        if size:
            yield node, size
        for body in node.bodies:
            yield from _unrolled_inputs(body.graph, lifetimes(body.graph, operators, spans.static), operators)


def _unrolled_bytes(node: Node, graph: Graph) -> int:
    if node.operator not in _UNROLLED:
        return 0
    try:
        call = call_of(node, graph)
        size = call.x.dtype.bytes_of(unrolled_elements(call))
    except GraphError:
        size = None
    if size is None:
        raise _NoPlan(f"the size of the {IM2COL} of {node.name} is unknown")
    return size


class _Lives(NamedTuple):
    """The first and the last scope of every node of a graph."""

    starts: list[int]
    ends: list[int]


class _Walk:
    """Counts scopes while it goes through a graph and its bodies."""

    def __init__(self, operators: Mapping[str, Op], scratch: str) -> None:
        self._operators, self._with_im2col = operators, scratch == IM2COL
        self.scopes: list[str] = []
        self.buffers: list[ArenaBuffer] = []
        self.scratch: list[ArenaBuffer] = []

    def enter(self, graph: Graph, spans: Lifetimes, outside: Set[str] = frozenset()) -> list[int]:
        """The scopes of the nodes of ``graph``; storages ``outside`` are those of an enclosing one, and there already."""
        lives, before = _Lives([], []), len(self.buffers)
        for node in spans.nodes:
            scope = len(self.scopes)
            self.scopes.append(node.name)
            lives.starts.append(scope)
            size = _unrolled_bytes(node, graph) if self._with_im2col else 0
            if size:
                self.scratch.append(_im2col(node, size, scope))
            for body in node.bodies:
                inner = lifetimes(body.graph, self._operators, spans.static)
                self.enter(body.graph, inner, frozenset(node.inputs).intersection(body.graph.inputs))
            lives.ends.append(len(self.scopes) - 1)
        self.buffers[before:before] = self._storages(graph, spans, lives, outside)
        return lives.starts

    def _storages(self, graph: Graph, spans: Lifetimes, lives: _Lives, outside: Set[str]) -> Iterator[ArenaBuffer]:
        now = len(self.scopes) - 1
        starts, ends = lives if spans.nodes else ([now], [now])
        if now < 0:  # nothing runs: there is no moment at which anything is alive
            return
        given = frozenset(graph.inputs)
        for name, size, _, first, last in spans.storages.values():
            if name in outside:
                continue
            if size is None:
                raise _NoPlan(f"the size of {name} is unknown")
            node = "" if name in given else spans.nodes[first].name
            yield ArenaBuffer(name, size, starts[first], ends[last], node=node)

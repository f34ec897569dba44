"""An ONNX file with its nodes in another order: the messages of the nodes change places, every other byte stays.

Protobuf has no offsets, so that a message may stand anywhere in its list, and the file keeps its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from weighbridge.errors import BadModel
from weighbridge.frontends.file_order import Piece, Rewritten
from weighbridge.frontends.onnx_model import read
from weighbridge.frontends.onnx_scope import Record, graphs_of, in_order, records_of
from weighbridge.frontends.onnx_wire import node_spans
from weighbridge.named_tuple import NamedTuple

__all__ = ["OnnxList", "onnx_list"]


class OnnxList(NamedTuple):
    """The nodes of the graph of an ONNX file; ``spans`` are where they stand in it, ``size`` is its length in bytes."""

    before: tuple[frozenset[int], ...]
    order: tuple[int, ...]
    effects: frozenset[int]
    spans: tuple[tuple[int, int], ...]
    size: int

    def rewritten(self, order: Sequence[int]) -> Rewritten:
        """The file with its nodes in this order: what stands between two nodes stays between the places that they had."""
        return Rewritten(tuple(_joined(_pieces(self.spans, order, self.size))))


def onnx_list(path: Path) -> OnnxList:
    """The nodes of the file at ``path``.

    Raises what reading a model does, and ``BadModel`` where the graph stands in the file in several pieces.
    """
    records = records_of(read(path).proto.graph.node)
    try:
        order = tuple(one.position for one in in_order(records))
        spans = node_spans(path)
        if len(spans) != len(records):
            raise BadModel("the file has changed while it was read", hint="was it being written?")
    except BadModel as error:
        raise error.at(path.name) from None
    before = _waits(records, order)
    effects = frozenset(one.position for one in records if not any(one.outputs))
    return OnnxList(before, order, effects, spans, path.stat().st_size)


def _waits(records: Sequence[Record], order: Sequence[int]) -> tuple[frozenset[int], ...]:
    """For each node those that make what it reads, and those that come before it and have the name of its result inside.

    What a graph inside a node makes must not be called like something that is there already.
    """
    makers = {name: one.position for one in records for name in one.outputs if name}
    waits = [{makers[name] for name in (*one.inputs, *one.outer) if name in makers} for one in records]
    at = {place: time for time, place in enumerate(order)}
    for one in records:
        for name in _made_inside(graphs_of(one.attributes)):
            maker = makers.get(name, one.position)
            if at[maker] > at[one.position]:
                waits[maker].add(one.position)
    return tuple(map(frozenset, waits))


def _made_inside(graphs: list[Any]) -> Iterator[str]:
    """The names of all that is made or taken in by graphs inside a node, and in those inside these."""
    pending = list(graphs)
    while pending:
        graph = pending.pop()
        yield from (one.name for one in (*graph.input, *graph.initializer))
        for node in graph.node:
            yield from node.output
            pending += graphs_of(node.attribute)


def _pieces(spans: Sequence[tuple[int, int]], order: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Ranges of the file: what is between two nodes, and in the place of each node the one that runs then."""
    copied = 0
    for (start, stop), place in zip(spans, order, strict=True):
        yield copied, start
        yield spans[place]
        copied = stop
    yield copied, size


def _joined(ranges: Iterator[tuple[int, int]]) -> Iterator[Piece]:
    """The same ranges without empty ones, neighbours as one."""
    begin = end = 0
    for start, stop in ranges:
        if start == stop:
            continue
        if start != end:
            if end > begin:
                yield begin, end
            begin = start
        end = stop
    if end > begin:
        yield begin, end

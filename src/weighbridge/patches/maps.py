"""Which axes of the tensors of a network are the rows and the columns of a map, and which nodes see all of a map at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Box, Slot, Span, whole
from weighbridge.operators.record import Call, Kind, Op
from weighbridge.passes.rewrite import call_of

__all__ = ["NO_MAPS", "Maps", "maps_of", "slots_of"]

Axes = tuple[int | None, int | None]
"""Rows and columns; None where they have gone into something else."""
NO_MAPS: Final = "no layer makes a map with rows and columns that windows go over, as those of networks for images do"
_EACH: Final = (Kind.UNARY, Kind.ELEMENTWISE, Kind.IDENTITY)


class Maps(NamedTuple):
    """``axes`` by tensor; ``seeing_all`` are the names of nodes of which no part needs only a part of a map.

    ``made`` are the axes of results as what comes before them has it, whoever reads them.
    """

    axes: Mapping[str, Axes]
    seeing_all: frozenset[str]
    made: Mapping[str, Axes]


def maps_of(graph: Graph, nodes: Iterable[Node], operators: Mapping[str, Op]) -> Maps:
    """The maps are those that windows go over, and what is made of them: an axis goes on where parts along it need parts of it."""
    axes: dict[str, Axes] = {}
    made: dict[str, Axes] = {}
    seeing = set()
    for node in nodes:
        if not _over_maps(graph, node, operators, axes):
            seeing.add(node.name)
        made.update({one: axes[one] for one in node.outputs if one in axes})
    return Maps(axes, frozenset(seeing), made)


def _over_maps(graph: Graph, node: Node, operators: Mapping[str, Op], axes: dict[str, Axes]) -> bool:
    """Whether a part of what a node makes needs only a part of each map; ``axes`` grow by those of its results."""
    window = _window(graph, node)
    if window is not None and axes.get(node.inputs[0], window) == window:
        axes.update(dict.fromkeys((node.inputs[0], *node.outputs), window))
        return True
    goes_on, sees_part = dict(_going_on(graph, node, operators, axes)), True
    for slot, tensor in slots_of(node):
        if tensor not in axes:
            continue
        shape, to = graph.tensors[tensor].shape or (), dict(goes_on.get(slot, {}))
        if len(shape) == len(graph.tensors[node.outputs[0]].shape or ()):
            # A row by itself may be needed for every row of the result.
            to = {axis: axis for axis, size in enumerate(shape) if size == 1} | to
        rows, columns = axes[tensor]
        kept = _gone(rows, to), _gone(columns, to)
        if any(
            after is None and one is not None and shape[one] > 1 for one, after in zip(axes[tensor], kept, strict=True)
        ):
            sees_part = False
            kept = axes[tensor]
        for one in node.outputs:
            if kept != (None, None) and _fits(graph, one, kept):
                axes.setdefault(one, kept)
    return sees_part


def _gone(axis: int | None, to: Mapping[int, int]) -> int | None:
    return None if axis is None else to.get(axis)


def slots_of(node: Node) -> Iterator[tuple[Slot, str]]:
    """The operands of a node, those of one name counted."""
    places: dict[str, int] = {}
    for operand, tensor in node.operands:
        place = places[operand] = places.get(operand, -1) + 1
        yield (operand, place), tensor


def _fits(graph: Graph, tensor: str, axes: Axes) -> bool:
    rank = len(graph.tensors[tensor].shape or ())
    return all(axis is None or axis < rank for axis in axes)


def _window(graph: Graph, node: Node) -> Axes | None:
    """The rows and columns that the windows of a node go over, over maps in two dimensions."""
    layout = node.attributes.get("layout")
    if "stride" not in node.attributes or not node.inputs or len(graph.tensors[node.inputs[0]].shape or ()) != 4:
        return None
    return {"channels_first": (2, 3), "channels_last": (1, 2)}.get(str(layout))


def _going_on(
    graph: Graph, node: Node, operators: Mapping[str, Op], axes: Mapping[str, Axes]
) -> Iterator[tuple[Slot, Mapping[int, int]]]:
    """For each operand that is a map which axis of the results an axis of it becomes."""
    op = operators.get(node.operator)
    if not any(tensor in axes for tensor in node.inputs) or op is None:
        return
    try:
        call = call_of(node, graph)
    except GraphError:
        return
    rank = len(call.outputs[0].shape)
    if op.halo_rule is None or (op.kind in _EACH and op.halo is None):
        # What has no rule is refused by its own name, and not what comes behind it.
        for slot, tensor in slots_of(node):
            own = len(graph.tensors[tensor].shape or ())
            yield slot, {axis: axis + rank - own for axis in range(own) if axis + rank - own >= 0}
        return
    found: dict[Slot, dict[int, int]] = {}
    for axis, size in enumerate(call.outputs[0].shape):
        for slot, own in _moved_by(op, call, axis, size):
            found.setdefault(slot, {}).setdefault(own, axis)
    yield from found.items()


def _moved_by(op: Op, call: Call, axis: int, size: int) -> Iterator[tuple[Slot, int]]:
    """The axes of operands that a place before the result needs another part of than one behind it: there no border gets in the way."""
    needs = []
    for span in (Span(-1, 0), Span(size, size + 1)):
        box: Box = tuple(span if place == axis else one for place, one in enumerate(whole(call.outputs[0].shape)))
        try:
            needed = None if op.halo_rule is None else op.halo_rule(call, op.grain(call, box))
        except GraphError:
            return
        if needed is None:
            return
        needs.append(needed)
    for slot, first in needs[0].items():
        for own, (one, other) in enumerate(zip(first, needs[1][slot], strict=True)):
            if one != other:
                yield slot, own

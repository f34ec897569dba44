"""The first stage of a network, which can run patch by patch: the nodes that one tensor depends on, and nothing else reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.passes.static import runs, static_tensors
from weighbridge.patches.maps import Maps, maps_of

__all__ = ["Running", "Stage", "of_unknown_shape", "running_in", "sizes_unknown", "stage_to", "stages"]


class Stage(NamedTuple):
    """``nodes`` run for ``output``, in order; ``axes`` are the rows and the columns of it.

    ``seeing_all`` are the names of nodes of the network that have to see all of a map.
    """

    nodes: tuple[Node, ...]
    output: str
    axes: tuple[int, int]
    static: frozenset[str]
    seeing_all: frozenset[str]

    @property
    def last(self) -> Node:
        return self.nodes[-1]


class Running(NamedTuple):
    """What all stages of a network have in common: the nodes that run, their places by name, what is stored, and the maps."""

    nodes: tuple[Node, ...]
    places: Mapping[str, int]
    static: frozenset[str]
    maps: Maps


def running_in(graph: Graph, operators: Mapping[str, Op]) -> Running:
    """Of a network; whoever asks about many of its stages finds it once."""
    static = static_tensors(graph, operators)
    nodes = tuple(node for node in graph.nodes if runs(node, static))
    places = {node.name: place for place, node in enumerate(nodes)}
    return Running(nodes, places, static, maps_of(graph, nodes, operators))


def stage_to(graph: Graph, last: str, operators: Mapping[str, Op], running: Running | None = None) -> Stage:
    """The stage that ends with the node called ``last``; ``running`` is what ``running_in`` says, where that is known.

    Raises ``BadSpec`` for a node that there is none of, for one inside a branch, with who else reads what, and for a result without
    rows and columns, or for which that is not known.
    """
    all_of_it = running_in(graph, operators) if running is None else running
    place = all_of_it.places.get(last)
    if place is None:
        near = get_close_matches(last, all_of_it.places, 1)
        hint = f"did you mean {near[0]}?" if near else "the layers of the report have their names"
        raise BadSpec(f"there is no node {last!r}", where="last", hint=hint)
    nodes = _needed(all_of_it.nodes[: place + 1])
    inside = {node.name for node in nodes}
    if len(nodes[-1].outputs) != 1:
        raise BadSpec(f"{last} has {len(nodes[-1].outputs)} results", where="last", hint="a stage ends with one")
    (output,) = nodes[-1].outputs
    reader = _reader_outside(graph, all_of_it, inside, output)
    if reader is not None:
        raise BadSpec(
            f"{last} lies inside a branch: {reader}", where="last", hint="end the stage where all branches have met"
        )
    rows, columns = all_of_it.maps.made.get(output, (None, None))
    if rows is None or columns is None:
        unknown = of_unknown_shape(graph, nodes)
        if unknown is not None:
            raise BadSpec(f"the shape of what {unknown} makes is unknown", where="last", hint="end the stage before it")
        raise BadSpec(f"what {last} makes has no rows and columns that windows go over", where="last")
    return Stage(nodes, output, (rows, columns), all_of_it.static, all_of_it.maps.seeing_all)


def stages(graph: Graph, operators: Mapping[str, Op]) -> tuple[str, ...]:
    """The nodes that a stage can end with, in order: those that have rows and columns, and behind which nobody reads what is before."""
    static = static_tensors(graph, operators)
    running = [node for node in graph.nodes if runs(node, static)]
    last_reader: dict[str, int] = dict.fromkeys(graph.outputs, len(running))
    for place, node in enumerate(running):
        for tensor in node.inputs:
            last_reader[tensor] = max(place, last_reader.get(tensor, 0))
    found, reach, given = [], 0, frozenset(graph.inputs)
    for place, node in enumerate(running):
        reach = max([reach, *(last_reader[one] for one in node.inputs if one in given)])
        if reach <= place and len(node.outputs) == 1 and place + 1 < len(running):
            found.append(node.name)
        reach = max([reach, *(last_reader.get(one, place) for one in node.outputs)])
    return tuple(found)


def of_unknown_shape(graph: Graph, nodes: Iterable[Node]) -> str | None:
    """The first of ``nodes`` that makes something of unknown shape, with its operator; None where there is none."""
    unknown = (node for node in nodes if any(graph.tensors[one].shape is None for one in node.outputs))
    return next((f"{node.name} ({node.operator})" for node in unknown), None)


def sizes_unknown(graph: Graph) -> tuple[str, str]:
    """What is said of a graph whose memory is not known: why, and what to do."""
    unknown = of_unknown_shape(graph, graph.nodes)
    if unknown is None:
        return "the sizes of some tensors are unknown", "give the sizes that the source leaves open"
    hint = "where the source leaves a size open give it; an operator that nobody here knows has none"
    return f"the shape of what {unknown} makes is unknown", hint


def _needed(running: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes that the last one depends on, and itself."""
    wanted = set(running[-1].outputs)
    found: list[Node] = []
    for node in reversed(running):
        if not wanted.isdisjoint(node.outputs):
            found.append(node)
            wanted.update(node.inputs)
    return tuple(reversed(found))


def _reader_outside(graph: Graph, running: Running, inside: set[str], output: str) -> str | None:
    """Who reads something of the stage behind it, in words."""
    own = {tensor for node in running.nodes if node.name in inside for tensor in (*node.inputs, *node.outputs)}
    own = {tensor for tensor in own if tensor not in running.static and tensor != output}
    for tensor in graph.outputs:
        if tensor in own:
            return f"{tensor} is a result of the network"
    for node in running.nodes:
        if node.name not in inside:
            for tensor in node.inputs:
                if tensor in own:
                    return f"{node.name} reads {tensor} too"
    return None

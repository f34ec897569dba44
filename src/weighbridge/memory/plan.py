"""Peaks and profiles by policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from weighbridge.graph import BRANCH, Body, Graph, Node, Role, Tensor
from weighbridge.memory.eager import EAGER, WORKSPACE, eager_peak
from weighbridge.memory.lifetimes import Lifetimes, Storage, lifetimes
from weighbridge.memory.records import MemoryPlan, TensorSpan
from weighbridge.operators.record import Op, known_total
from weighbridge.operators.table import OPERATORS

__all__ = ["plan"]

Size = int | None
Sizer = Callable[[Storage], Size]


class _Profiles(NamedTuple):
    """What is alive at each node that runs, in bytes and in elements."""

    bytes: list[Size]
    elements: list[Size]


def plan(deployed: Graph, operators: Mapping[str, Op] = OPERATORS) -> MemoryPlan:
    """The memory plan of a graph as it runs, under the policies ``pair`` and ``live``, and ``eager`` where the graph has a record.

    Linear in the size of the graph.  At a node with bodies, ``pair`` is the larger of the node's own inputs and outputs
    and the worst node in a body; ``live`` adds to what is alive outside the worst moment of a body, tensors that the body
    takes from outside not counted twice (for an ``if`` the node's outputs are those of the branch).
    """
    spans = lifetimes(deployed, operators)
    profiles = {
        "pair": _pair(spans, operators),
        "live": _live(spans, operators, frozenset()),
    }
    unknown = list(dict.fromkeys(_unknown(spans, operators)))
    notes = tuple(f"the size of {name} is unknown, so memory figures that need it are missing" for name in unknown)
    peaks = {policy: _peak(profile.bytes) for policy, profile in profiles.items()}
    return _with_eager(
        deployed,
        spans,
        MemoryPlan(
            peak_bytes=peaks,
            peak_elements={policy: _peak(profile.elements) for policy, profile in profiles.items()},
            peak_node={
                policy: _peak_node(spans.nodes, profile.bytes, peaks[policy]) for policy, profile in profiles.items()
            },
            profile={policy: tuple(profile.bytes) for policy, profile in profiles.items()},
            tensors=tuple(
                TensorSpan(storage.name, storage.bytes, storage.first, storage.last)
                for storage in spans.storages.values()
            ),
            variable_bytes=known_total(tensor.bytes for tensor in _variables(deployed)),
            persistent_bytes=None,
            exact=not unknown,
            notes=notes,
        ),
    )


def _with_eager(graph: Graph, spans: Lifetimes, made: MemoryPlan) -> MemoryPlan:
    if not graph.allocations:
        return made
    found = eager_peak(graph.allocations, [node.name for node in spans.nodes])
    return made._replace(
        peak_bytes={**made.peak_bytes, EAGER: found.bytes},
        peak_elements={**made.peak_elements, EAGER: None},
        peak_node={**made.peak_node, EAGER: found.node},
        profile=made.profile if found.profile is None else {**made.profile, EAGER: found.profile},
        notes=(*made.notes, WORKSPACE),
    )


def _variables(graph: Graph) -> list[Tensor]:
    return [tensor for tensor in graph.tensors.values() if tensor.role is Role.STATE]


def _peak(profile: list[Size]) -> Size:
    """The largest; None where one is unknown; 0 for a graph in which nothing runs."""
    largest = 0
    for size in profile:
        if size is None:
            return None
        largest = max(largest, size)
    return largest


def _peak_node(nodes: tuple[Node, ...], profile: list[Size], peak: Size) -> str | None:
    return None if peak is None or not nodes else nodes[profile.index(peak)].name


def _bytes(storage: Storage) -> Size:
    return storage.bytes


def _elements(storage: Storage) -> Size:
    return storage.elements


def _pair(spans: Lifetimes, operators: Mapping[str, Op]) -> _Profiles:
    profiles = _Profiles([], [])
    for node in spans.nodes:
        of_bytes, of_elements = spans.around(node)
        for body in node.bodies:
            inner = _pair(lifetimes(body.graph, operators, spans.static), operators)
            of_bytes = _larger(of_bytes, _peak(inner.bytes))
            of_elements = _larger(of_elements, _peak(inner.elements))
        profiles.bytes.append(of_bytes)
        profiles.elements.append(of_elements)
    return profiles


def _larger(one: Size, other: Size) -> Size:
    return None if one is None or other is None else max(one, other)


def _live(spans: Lifetimes, operators: Mapping[str, Op], counted: frozenset[str]) -> _Profiles:
    """``counted`` are storages of an enclosing graph, which are in its figures."""
    storages = [storage for storage in spans.storages.values() if storage.name not in counted]
    length = len(spans.nodes)
    profiles = _Profiles(_running(storages, length, _bytes), _running(storages, length, _elements))
    for place, node in enumerate(spans.nodes):
        if node.bodies:
            inner = [_inside(body, node, spans, operators) for body in node.bodies]
            made = _made_by_branch(node, spans)
            for profile, peaks, sizer in (
                (profiles.bytes, [_peak(one.bytes) for one in inner], _bytes),
                (profiles.elements, [_peak(one.elements) for one in inner], _elements),
            ):
                profile[place] = _with_worst(profile[place], known_total(map(sizer, made)), peaks)
    return profiles


def _with_worst(outside: Size, shared: Size, peaks: list[Size]) -> Size:
    """What is alive outside, with the worst body in place of what the two share."""
    if outside is None or shared is None:
        return None
    worst = outside
    for peak in peaks:
        if peak is None:
            return None
        worst = max(worst, outside - shared + peak)
    return worst


def _inside(body: Body, node: Node, spans: Lifetimes, operators: Mapping[str, Op]) -> _Profiles:
    inner = lifetimes(body.graph, operators, spans.static)
    return _live(inner, operators, frozenset(node.inputs).intersection(body.graph.inputs))


def _made_by_branch(node: Node, spans: Lifetimes) -> list[Storage]:
    """The outputs of an ``if``, which are the outputs of the branch that ran."""
    if node.operator != BRANCH:
        return []
    return [spans.storages[tensor] for tensor in node.outputs if tensor in spans.storages]


def _running(storages: list[Storage], length: int, sizer: Sizer) -> list[Size]:
    """What is alive at each of ``length`` nodes: a running sum over the births and deaths."""
    change, unknown = [0] * (length + 1), [0] * (length + 1)
    for storage in storages:
        size = sizer(storage)
        if length == 0:
            break
        counts, step = (unknown, 1) if size is None else (change, size)
        counts[storage.first] += step
        counts[storage.last + 1] -= step
    profile: list[Size] = []
    alive = missing = 0
    for place in range(length):
        alive += change[place]
        missing += unknown[place]
        profile.append(None if missing else alive)
    return profile


def _unknown(spans: Lifetimes, operators: Mapping[str, Op]) -> list[str]:
    """The storages whose size nobody knows, bodies included."""
    found = [storage.name for storage in spans.storages.values() if storage.bytes is None]
    for node in spans.nodes:
        for body in node.bodies:
            found.extend(_unknown(lifetimes(body.graph, operators, spans.static), operators))
    return found

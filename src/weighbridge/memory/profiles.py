"""What is alive at each node, policy by policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from weighbridge.graph import BRANCH, Body, Graph, Node
from weighbridge.memory.held import held_storages
from weighbridge.memory.in_place import Saving, most, savings
from weighbridge.memory.lifetimes import Lifetimes, Storage, lifetimes
from weighbridge.memory.records import IN_PLACE
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op, known_total

__all__ = ["Profiles", "Size", "largest", "profiles_by_policy", "totals"]

Size = int | None
Sizer = Callable[[Storage], Size]


class Profiles(NamedTuple):
    """What is alive at each node that runs, in bytes and in elements."""

    bytes: list[Size]
    elements: list[Size]


class _Rule(NamedTuple):
    """The table of operators, and whether they overwrite operands that die."""

    operators: Mapping[str, Op]
    in_place: bool


class _Sizes(NamedTuple):
    """What every policy starts from: the sizes around each node, what is alive at it, and what overwriting could save."""

    graph: Graph
    spans: Lifetimes
    around: list[tuple[Size, Size]]
    alive: Profiles
    savings: list[list[Saving]]

    @classmethod
    def of(cls, graph: Graph, spans: Lifetimes, operators: Mapping[str, Op], counted: Set[str] = frozenset()) -> _Sizes:
        """``counted`` are storages of an enclosing graph, which are in its figures."""
        storages = [storage for storage in spans.storages.values() if storage.name not in counted]
        length = len(spans.nodes)
        return cls(
            graph,
            spans,
            [spans.around(node) for node in spans.nodes],
            totals(storages, length),
            savings(graph, spans, operators),
        )


def profiles_by_policy(
    graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]
) -> Iterator[tuple[str, Profiles | None]]:
    """The profiles under ``pair``, ``live`` and ``held``, then the same in place; None where the policy does not apply."""
    sizes, held = _Sizes.of(graph, spans, operators), held_storages(graph, spans)
    for ending, in_place in (("", False), (IN_PLACE, True)):
        rule = _Rule(operators, in_place)
        yield f"pair{ending}", _pair(sizes, rule)
        yield f"live{ending}", _live(sizes, rule)
        yield f"held{ending}", None if held is None else _held(sizes, rule, held)


def totals(storages: Sequence[Storage], length: int) -> Profiles:
    """What is alive at each of ``length`` nodes, of ``storages`` that last from their first to their last node."""
    return Profiles(_running(storages, length, _bytes), _running(storages, length, _elements))


def largest(sizes: Sequence[Size]) -> Size:
    """The largest; None where one is unknown; 0 for a graph in which nothing runs."""
    found = 0
    for size in sizes:
        if size is None:
            return None
        found = max(found, size)
    return found


def _bytes(storage: Storage) -> Size:
    return storage.bytes


def _elements(storage: Storage) -> Size:
    return storage.elements


def _less(size: Size, saved: int) -> Size:
    return None if size is None else size - saved


def _pair(sizes: _Sizes, rule: _Rule) -> Profiles:
    profiles = Profiles([of_bytes for of_bytes, _ in sizes.around], [of_elements for _, of_elements in sizes.around])
    if rule.in_place:
        _save(profiles, sizes)
    for place, node in enumerate(sizes.spans.nodes):
        for body in node.bodies:
            spans = lifetimes(body.graph, rule.operators, sizes.spans.static)
            inner = _pair(_Sizes.of(body.graph, spans, rule.operators), rule)
            profiles.bytes[place] = _larger(profiles.bytes[place], largest(inner.bytes))
            profiles.elements[place] = _larger(profiles.elements[place], largest(inner.elements))
    return profiles


def _save(profiles: Profiles, sizes: _Sizes, held: Sequence[Set[str]] | None = None) -> None:
    """Take off what overwriting saves; storages that are ``held`` at a node are not overwritten."""
    for place, found in enumerate(sizes.savings):
        if found:
            of_bytes, of_elements = most(found, frozenset() if held is None else held[place])
            profiles.bytes[place] = _less(profiles.bytes[place], of_bytes)
            profiles.elements[place] = _less(profiles.elements[place], of_elements)


def _larger(one: Size, other: Size) -> Size:
    return None if one is None or other is None else max(one, other)


def _live(sizes: _Sizes, rule: _Rule, held: Sequence[Set[str]] | None = None) -> Profiles:
    profiles = Profiles(list(sizes.alive.bytes), list(sizes.alive.elements))
    if rule.in_place:
        _save(profiles, sizes, held)
    for place, node in enumerate(sizes.spans.nodes):
        if node.bodies:
            inner = [_inside(body, node, sizes.spans, rule) for body in node.bodies]
            made = _made_by_branch(node, sizes.spans)
            for profile, peaks, sizer in (
                (profiles.bytes, [largest(one.bytes) for one in inner], _bytes),
                (profiles.elements, [largest(one.elements) for one in inner], _elements),
            ):
                profile[place] = _with_worst(profile[place], known_total(map(sizer, made)), peaks)
    return profiles


def _held(sizes: _Sizes, rule: _Rule, held: Sequence[Set[str]]) -> Profiles:
    """What is alive, and what is held of the rest."""
    profiles, storages = _live(sizes, rule, held), sizes.spans.storages
    for place, names in enumerate(held):
        rest = [storages[name] for name in names]
        rest = [storage for storage in rest if not storage.first <= place <= storage.last]
        if not rest:
            continue
        for profile, sizer in ((profiles.bytes, _bytes), (profiles.elements, _elements)):
            profile[place] = known_total((profile[place], *map(sizer, rest)))
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


def _inside(body: Body, node: Node, spans: Lifetimes, rule: _Rule) -> Profiles:
    inner = lifetimes(body.graph, rule.operators, spans.static)
    counted = frozenset(node.inputs).intersection(body.graph.inputs)
    return _live(_Sizes.of(body.graph, inner, rule.operators, counted), rule)


def _made_by_branch(node: Node, spans: Lifetimes) -> list[Storage]:
    """The outputs of an ``if``, which are the outputs of the branch that ran."""
    if node.operator != BRANCH:
        return []
    return [spans.storages[tensor] for tensor in node.outputs if tensor in spans.storages]


def _running(storages: Sequence[Storage], length: int, sizer: Sizer) -> list[Size]:
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

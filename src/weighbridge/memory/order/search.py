"""The order of execution with the smallest peak: what is alive depends on which nodes have run, not on how they came to.

States are sets of nodes that have run; the cost of a step is what is alive while its node runs, and the peak of an order the largest
of its steps.  The search goes through the states best first, so that the first whole order it reaches is the best one, and what it
has got to when it is stopped is a lower bound (the way of Ahn et al., "Ordering Chaos", MLSys 2020, to schedule for memory).  Two facts
keep it small.  Where a node has every other one before or behind it, the orders before it and behind it are chosen apart.  And a
node that leaves no more alive than it found, and costs no more than a peak that cannot be avoided anyway, is run at once: in any
order it may be moved to the front, as the more nodes have run the more of its operands it frees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from weighbridge.graph import Graph, Node, Role
from weighbridge.memory.lifetimes import Lifetimes, lifetimes
from weighbridge.memory.order.stretch import Held, Stretch, stretch_of
from weighbridge.memory.profiles import profiles_by_policy, totals
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS

__all__ = ["MOST_STATES", "UNKNOWN_SIZES", "Ordering", "is_random", "least_peak"]

MOST_STATES = 50_000
"""States of one stretch between nodes that every order has in one place, beyond which the search is stopped."""
_MOST_NODES = 20_000
UNKNOWN_SIZES = "the sizes of some tensors are unknown"
"""Why there is no order where that is so."""


class Ordering(NamedTuple):
    """An order of the nodes that run, by their places in the graph as it was, and its peak under the policy ``live``.

    No order has a peak below ``bound_bytes``; ``is_least`` says that this one reaches it.  ``before_bytes`` is the peak of the order
    as it was, which is kept where none is found that is better, ``states`` how many sets of nodes were looked at.
    """

    places: tuple[int, ...]
    peak_bytes: int
    before_bytes: int
    bound_bytes: int
    states: int

    @property
    def is_least(self) -> bool:
        return self.peak_bytes == self.bound_bytes


def least_peak(
    deployed: Graph, operators: Mapping[str, Op] = OPERATORS, most_states: int = MOST_STATES
) -> Ordering | str:
    """The order of the nodes of ``deployed`` with the smallest peak under ``live``, or why there is none to be told.

    Exact unless a stretch with many branches has more than ``most_states`` states: it is gone through by a beam then, and the bound
    says how much better an order could be at most.  Nodes that read or write variables, or take random numbers, stay in their order.
    """
    spans = lifetimes(deployed, operators)
    count = len(spans.nodes)
    if any(storage.bytes is None for storage in spans.storages.values()):
        return UNKNOWN_SIZES
    if count > _MOST_NODES:
        return f"there are more than {_MOST_NODES:,} nodes"
    problem = _Problem.of(deployed, spans, operators)
    if problem is None:
        return "what a body of some node needs is unknown"
    given, stretches = list(range(count)), problem.stretches()
    floor = max((one.floor for one in stretches), default=0)
    found: list[int] = []
    peak, bound, states = floor, floor, 0
    for one in stretches:
        result = one.best(bound, most_states)
        found += result.places
        peak, bound, states = max(peak, result.peak_bytes), max(bound, result.bound_bytes), states + result.states
    before = problem.peak(given)
    if peak >= before:
        found, peak = given, before
    return Ordering(tuple(found), peak, before, bound, states)


class _Problem(NamedTuple):
    """The nodes that run, by place: ``before`` what has to have run; ``held`` the storages; ``made`` and ``read`` those of each node,
    ``extra`` what its bodies need beside; ``unread`` the bytes of inputs that nobody reads, alive at the first step alone.
    """

    before: tuple[frozenset[int], ...]
    held: tuple[Held, ...]
    extra: tuple[int, ...]
    unread: int

    @classmethod
    def of(cls, graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> _Problem | None:
        extra = _extra(graph, spans, operators)
        if extra is None:
            return None
        kept = {spans.storage_of[one] for one in graph.outputs if one in spans.storage_of}
        given = {spans.storage_of[one] for one in graph.inputs if one in spans.storage_of}
        makers: dict[str, int] = {}
        users: dict[str, set[int]] = {name: set() for name in spans.storages}
        for place, node in enumerate(spans.nodes):
            for tensor in (*node.inputs, *node.outputs):
                name = spans.storage_of.get(tensor)
                if name is None:
                    continue
                if name not in given:
                    makers.setdefault(name, place)
                users[name].add(place)
        held = [
            Held(spans.storages[name].bytes or 0, makers.get(name), frozenset(places), name in kept)
            for name, places in users.items()
            if places or name in kept
        ]
        unread = sum(
            spans.storages[name].bytes or 0 for name, places in users.items() if not places and name not in kept
        )
        return cls(tuple(_before(graph, spans, operators)), tuple(held), extra, unread)

    def peak(self, places: Sequence[int]) -> int:
        """The most that is alive when the nodes run in this order."""
        at = {place: time for time, place in enumerate(places)}
        change = [0] * (len(places) + 1)
        for one in self.held:
            times = [at[place] for place in one.users]
            first = 0 if one.maker is None else at[one.maker]
            change[first] += one.bytes
            change[len(places) if one.is_kept else max(times) + 1] -= one.bytes
        alive, most = self.unread, 0
        for time, place in enumerate(places):
            alive += change[time]
            most = max(most, alive + self.extra[place])
            alive -= self.unread if time == 0 else 0
        return most

    def stretches(self) -> list[Stretch]:
        """The nodes in groups that run one group after the other in every order."""
        groups = list(_groups(self.before))
        of = {place: number for number, group in enumerate(groups) for place in group}
        touched: list[list[Held]] = [[] for _ in groups]
        through = [0] * (len(groups) + 1)
        for one in self.held:
            numbers = {of[place] for place in one.users}
            first = 0 if one.maker is None else of[one.maker]
            last = len(groups) - 1 if one.is_kept else max(numbers)
            for number in numbers:
                touched[number].append(one._replace(is_kept=one.is_kept or number < last))
            for number in (first, last + 1):
                through[number] += one.bytes if number == first else -one.bytes
            for number in numbers:  # what the group itself touches is counted there
                through[number] -= one.bytes
                through[number + 1] += one.bytes
        made, alive = [], 0
        for number, group in enumerate(groups):
            alive += through[number]
            unread = 0 if number else self.unread
            made.append(stretch_of(group, self.before, touched[number], self.extra, alive, unread))
        return made


def _extra(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> tuple[int, ...] | None:
    """What is alive at each node under ``live`` beside the storages of this graph: the worst moment of its bodies."""
    alive = next(profile for policy, profile in profiles_by_policy(graph, spans, operators) if policy == "live")
    outside = totals(list(spans.storages.values()), len(spans.nodes))
    if alive is None or any(one is None for one in alive.bytes):
        return None
    return tuple((inner or 0) - (own or 0) for inner, own in zip(alive.bytes, outside.bytes, strict=True))


def _before(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> Iterator[frozenset[int]]:
    """The nodes that have to run before each: those that make what it reads, the one before it that touches a variable, and of
    those that take random numbers, which come from one generator, the one before it.
    """
    makers: dict[str, int] = {}
    variables = {name for name, tensor in graph.tensors.items() if tensor.role is Role.STATE}
    last: dict[str, int] = {}
    for place, node in enumerate(spans.nodes):
        needed = {makers[tensor] for tensor in node.inputs if tensor in makers}
        kinds = ["random"] if is_random(node, operators) else []
        if not variables.isdisjoint(node.inputs):
            variables.update(one for one in node.outputs if one not in spans.storage_of and one not in spans.static)
            kinds.append("variable")
        needed |= {last[kind] for kind in kinds if kind in last}
        last |= dict.fromkeys(kinds, place)
        makers.update((tensor, place) for tensor in node.outputs)
        yield frozenset(needed)


def is_random(node: Node, operators: Mapping[str, Op]) -> bool:
    """Whether a node takes random numbers, itself or in a body."""
    op = operators.get(node.operator)
    if op is not None and op.random:
        return True
    return any(is_random(inner, operators) for body in node.bodies for inner in body.graph.nodes)


def _groups(before: Sequence[frozenset[int]]) -> Iterator[tuple[int, ...]]:
    """The places in groups: each node that has all others before or behind it, and what lies between two such nodes."""
    count = len(before)
    above = [0] * count
    for place, needed in enumerate(before):
        for one in needed:
            above[place] |= above[one] | 1 << one
    below = [0] * count
    for place in reversed(range(count)):
        for one in before[place]:
            below[one] |= below[place] | 1 << place
    alone = [place for place in range(count) if above[place].bit_count() + below[place].bit_count() == count - 1]
    for one, other in pairwise((-1, *alone, count)):
        if other > one + 1:
            yield tuple(range(one + 1, other))
        if other < count:
            yield (other,)

"""The best order of a few nodes: those between two nodes that every order has in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush, nsmallest
from itertools import chain
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["Held", "Result", "Stretch"]

_BEAM: Final = 32
_BEAM_STEPS: Final = 40_000
"""Steps of the beam in all: of a long stretch it is narrower."""
_BEAM_AFTER: Final = 4_000
"""States after which a beam looks for an order: the search goes on without the states that cannot be better than that."""
_TRIED: Final = 8
"""Nodes that are tried next from each place of the beam."""
_MOST_FOR_FLOOR: Final = 2_000
"""Nodes of a stretch for which it is looked at what is alive at each in every order, which takes their square."""


class Held(NamedTuple):
    """A storage: who makes it (None: it is there from the start), who reads or makes it, and whether it is kept to the end."""

    bytes: int
    maker: int | None
    users: frozenset[int]
    is_kept: bool


class Result(NamedTuple):
    """An order and its peak; none has one below the bound."""

    places: tuple[int, ...]
    peak_bytes: int
    bound_bytes: int
    states: int


class _Node(NamedTuple):
    """A node by its number in the stretch; sets of nodes are whole numbers with a bit for each.

    ``before`` have to have run, ``behind`` wait for it.  ``frees`` are the storages that nobody needs any more once all of their users
    have run: pairs of bytes and users.  ``near`` are the nodes that read one of these, or wait for it: what it frees for them changes.
    """

    before: int
    behind: tuple[int, ...]
    makes: int
    extra: int
    frees: tuple[tuple[int, int], ...]
    near: int


class _Step(NamedTuple):
    """The nodes that have run, those that can run next, what is alive, and the most that was; ``waiting`` are those of the ready ones
    that free as much as they make, and would cost more than the most that was.
    """

    done: int
    ready: int
    alive: int
    peak: int
    waiting: int = 0


class Stretch(NamedTuple):
    """``places`` in the order in which they were; ``start`` bytes are alive when the first of them runs, ``unread`` of them no longer.

    In every order as much as ``floor`` is alive at some node.
    """

    places: tuple[int, ...]
    nodes: tuple[_Node, ...]
    start: int
    unread: int
    floor: int

    def best(self, floor: int, most_states: int) -> Result:
        """The order with the smallest peak; as that is ``floor`` elsewhere, one that stays below is as good as any.

        Beyond ``most_states`` states a beam finds the order, and the bound is what the search had come to.  States that cannot end in
        a better order than one that is known are not gone into.
        """
        order: tuple[int, ...] = tuple(range(len(self.nodes)))
        reached = self._peak(order, floor)
        if reached <= floor:
            return Result(self.places, floor, floor, 1)
        begin, first = self._settled(_Step(0, self._ready(), self.start, floor), self._ready())
        least, ways = {begin.done: begin.peak}, {begin.done: (0, first)}
        heap, entered = [(begin.peak, 0, begin)], dict[int, int]()
        full, is_beam_due = (1 << len(self.nodes)) - 1, True
        while heap:
            peak, _, step = heappop(heap)
            if peak > least[step.done]:
                continue
            if is_beam_due and len(least) > min(_BEAM_AFTER, most_states):
                is_beam_due = False
                found, most = self._by_beam(begin, first)
                order, reached = (found, most) if most < reached else (order, reached)
            if peak >= reached:
                break
            if step.done == full:
                return Result(self._named(_way(ways, full)), peak, peak, len(least))
            if len(least) > most_states:
                return Result(self._named(order), reached, peak, len(least))
            for new, trail in self._behind(step, reached, entered):
                if new.peak < min(reached, least.get(new.done, reached)):
                    least[new.done], ways[new.done] = new.peak, (step.done, trail)
                    heappush(heap, (new.peak, -new.done.bit_count(), new))
        return Result(self._named(order), reached, reached, len(least))

    def _behind(self, step: _Step, reached: int, entered: dict[int, int]) -> Iterator[tuple[_Step, tuple[int, ...]]]:
        """The steps behind ``step`` with a peak below ``reached``, and what runs until then; ``entered`` keeps the known ones."""
        for place in _places(step.ready):
            done, most = step.done | 1 << place, max(step.peak, self._cost(step, place))
            if most < min(reached, entered.get(done, reached)):
                entered[done] = most
                new, trail = self._settled(self._ran(step, place), self.nodes[place].near)
                yield new, (place, *trail)

    def _named(self, order: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.places[one] for one in order)

    def _ready(self) -> int:
        return _bits(number for number, node in enumerate(self.nodes) if not node.before)

    def _cost(self, step: _Step, place: int) -> int:
        node = self.nodes[place]
        return step.alive + node.makes + node.extra

    def _freed(self, done: int, place: int) -> int:
        return sum([size for size, users in self.nodes[place].frees if not users & ~done])

    def _ran(self, step: _Step, place: int) -> _Step:
        node, done = self.nodes[place], step.done | 1 << place
        ready = step.ready & ~(1 << place)
        for one in node.behind:
            if not self.nodes[one].before & ~done:
                ready |= 1 << one
        alive = step.alive + node.makes - self._freed(done, place) - (0 if step.done else self.unread)
        waiting = step.waiting & ~(1 << place)
        return _Step(done, ready, alive, max(step.peak, self._cost(step, place)), waiting)

    def _settled(self, step: _Step, unsure: int) -> tuple[_Step, tuple[int, ...]]:
        """The step after all nodes that may as well run at once, and these: they leave no more alive than there was, and cost no more
        than has been alive already.  What the ready nodes but those of ``unsure`` free has not changed since they were looked at.
        """
        trail: list[int] = []
        while True:
            step = self._looked_at(step, unsure)
            place = next((one for one in _places(step.waiting) if self._cost(step, one) <= step.peak), None)
            if place is None:
                return step, tuple(trail)
            step, unsure = self._ran(step, place), self.nodes[place].near
            trail.append(place)

    def _looked_at(self, step: _Step, unsure: int) -> _Step:
        """The step with those of the ``unsure`` nodes among the waiting that leave no more alive than there was."""
        waiting = step.waiting
        for place in _places(unsure & step.ready & ~waiting):
            if self.nodes[place].makes <= self._freed(step.done | 1 << place, place):
                waiting |= 1 << place
        return step if waiting == step.waiting else _Step(step.done, step.ready, step.alive, step.peak, waiting)

    def _peak(self, order: Iterable[int], floor: int) -> int:
        step = _Step(0, 0, self.start, floor)
        for place in order:
            step = self._ran(step, place)
        return step.peak

    def _by_beam(self, begin: _Step, first: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """An order that some steps at a time are the best for, and its peak."""
        width = max(1, min(_BEAM, _BEAM_STEPS // (_TRIED * len(self.nodes))))
        beam = [(begin, _Trail(first, None))]
        full = (1 << len(self.nodes)) - 1
        whole = beam[0] if begin.done == full else None
        while beam:
            wider: dict[int, tuple[_Step, _Trail]] = {}
            for step, trail in beam:
                for place in self._tried(step):
                    new, more = self._settled(self._ran(step, place), self.nodes[place].near)
                    known = wider.get(new.done)
                    if known is None or new.peak < known[0].peak:
                        wider[new.done] = (new, _Trail((place, *more), trail))
            done = wider.pop(full, None)
            if done is not None and (whole is None or done[0].peak < whole[0].peak):
                whole = done
            going = [one for one in wider.values() if whole is None or one[0].peak < whole[0].peak]
            beam = nsmallest(width, going, lambda one: (one[0].peak, one[0].alive))
        assert whole is not None, "every beam comes to its end"
        return whole[1].whole(), whole[0].peak

    def _tried(self, step: _Step) -> list[int]:
        """The nodes that cost the least now, and of these that leave the least alive."""

        def rank(place: int) -> tuple[int, int]:
            left = self.nodes[place].makes - self._freed(step.done | 1 << place, place)
            return max(step.peak, self._cost(step, place)), left

        return nsmallest(_TRIED, _places(step.ready), rank)


class _Trail(NamedTuple):
    """The nodes that ran last, and what ran before."""

    last: tuple[int, ...]
    before: _Trail | None

    def whole(self) -> tuple[int, ...]:
        parts: list[tuple[int, ...]] = []
        one: _Trail | None = self
        while one is not None:
            parts.append(one.last)
            one = one.before
        return tuple(chain.from_iterable(reversed(parts)))


def stretch_of(
    places: tuple[int, ...],
    before: Sequence[frozenset[int]],
    held: Sequence[Held],
    extra: Sequence[int],
    base: int,
    unread: int = 0,
) -> Stretch:
    """The stretch of these nodes.

    ``held`` are the storages that they touch, kept where a later stretch needs them; ``base`` are the bytes of all others that are alive
    all the while.  ``unread`` bytes are alive at the first node alone.
    """
    number = {place: one for one, place in enumerate(places)}
    makes, start = [0] * len(places), base + unread
    frees: list[list[tuple[int, int]]] = [[] for _ in places]
    for one in held:
        users = [number[place] for place in one.users if place in number]
        if one.maker is not None and one.maker in number:
            makes[number[one.maker]] += one.bytes
        else:
            start += one.bytes
        for place in () if one.is_kept else users:
            frees[place].append((one.bytes, _bits(users)))
    needs = [_bits(number[one] for one in before[place] if one in number) for place in places]
    behind: list[list[int]] = [[] for _ in places]
    for own, needed in enumerate(needs):
        for other in _places(needed):
            behind[other].append(own)
    near = [_bits(behind[own]) for own in range(len(places))]
    for own, freed in enumerate(frees):
        for _, together in freed:
            near[own] |= together
    nodes = tuple(
        _Node(needs[own], tuple(behind[own]), makes[own], extra[place], tuple(frees[own]), near[own])
        for own, place in enumerate(places)
    )
    return Stretch(places, nodes, start, unread, base + _floor(nodes, number, held))


def _floor(nodes: Sequence[_Node], number: Mapping[int, int], held: Sequence[Held]) -> int:
    """The most that is alive at some node in every order, of the storages that the stretch touches: those made before it, or by it, and
    read behind it, or by it; in a long stretch those that are there all the while or that the node touches.
    """
    if len(nodes) > _MOST_FOR_FLOOR:
        return _floor_of_many(nodes, number, held)
    above, below = _reach(nodes)
    most = 0
    sets = [
        (
            one.bytes,
            None if one.maker is None else number.get(one.maker),
            _bits(number[user] for user in one.users if user in number),
            one.is_kept,
        )
        for one in held
    ]
    for place, node in enumerate(nodes):
        own = 1 << place
        alive = sum(
            size
            for size, maker, users, is_kept in sets
            if (maker is None or (above[place] | own) >> maker & 1) and (is_kept or users & (below[place] | own))
        )
        most = max(most, alive + node.extra)
    return most


def _floor_of_many(nodes: Sequence[_Node], number: Mapping[int, int], held: Sequence[Held]) -> int:
    always, alive = 0, [node.extra for node in nodes]
    for one in held:
        users = [number[user] for user in one.users if user in number]
        if one.is_kept and (one.maker is None or one.maker not in number):
            always += one.bytes
            continue
        for place in users:
            alive[place] += one.bytes
    return always + max(alive)


def _reach(nodes: Sequence[_Node]) -> tuple[list[int], list[int]]:
    """What has to run before each node, and what has to run after it."""
    above, below = [0] * len(nodes), [0] * len(nodes)
    for place, node in enumerate(nodes):
        for one in _places(node.before):
            above[place] |= above[one] | 1 << one
    for place in reversed(range(len(nodes))):
        for one in nodes[place].behind:
            below[place] |= below[one] | 1 << one
    return above, below


def _way(ways: Mapping[int, tuple[int, tuple[int, ...]]], done: int) -> tuple[int, ...]:
    """The nodes in the order in which they came to have run."""
    parts = []
    while done:
        done, last = ways[done]
        parts.append(last)
    return tuple(chain.from_iterable(reversed(parts)))


def _bits(places: Iterable[int]) -> int:
    found = 0
    for place in places:
        found |= 1 << place
    return found


def _places(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest

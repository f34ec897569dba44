"""Offsets in an arena, as the greedy planner of TensorFlow Lite Micro gives them, faster than it finds them.

The rule is that of greedy_memory_planner.cc (tensorflow/tflite-micro): requests with an offset of their own come first, in
order; the others by size, the largest first, of equal ones the later; each goes to the lowest gap that takes it among the
requests placed before it that are alive when it is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

__all__ = ["Request", "pack"]

_SCAN: Final = 4
"""Looking at a request in the order of offsets takes this fraction of the time of finding it by its moments and sorting."""
_BLOCK: Final = 64


class Request(NamedTuple):
    """A piece of ``size`` from moment ``first`` to moment ``last``, both included; ``offset`` where it has one already."""

    size: int
    first: int
    last: int
    offset: int | None = None


_Taken = tuple[int, int]
"""Where something begins and ends."""
_Entry = tuple[int, int, int, int]
"""Where something begins and ends, and from when to when it is alive."""


def pack(requests: Sequence[Request]) -> list[int]:
    """The offset of every request.

    Near linear where few are alive at once, as in networks; in the worst case as the square of their number.
    """
    by_moment, by_offset = _ByMoment(requests), _ByOffset()
    offsets = [0] * len(requests)
    order = _order(requests)
    for placed, place in enumerate(order):
        size, _, _, given = requests[place]
        if given is not None:
            offset = given
        elif _SCAN * by_moment.most_alive[place] < placed:
            offset = by_moment.first_gap(place, size)
        else:
            by_offset.add((requests[one], offsets[one]) for one in order[by_offset.count : placed])
            offset = by_offset.first_gap(requests[place])
        offsets[place] = offset
        by_moment.add(place, (offset, offset + size))
    return offsets


def _order(requests: Sequence[Request]) -> list[int]:
    given = [place for place, request in enumerate(requests) if request.offset is not None]
    free = [place for place in reversed(range(len(requests))) if requests[place].offset is None]
    return [*given, *sorted(free, key=lambda place: -requests[place].size)]


class _ByMoment:
    """What is placed, found by the moments at which it is alive: what begins while a request lives, and what lives when it begins.

    The latter stands in a tree over the moments, at the few nodes that together are exactly the time for which it lives.
    Moments are numbered by rank, from the number of them on, which is where the leaves of the tree are.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        firsts, lasts = sorted([one.first for one in requests]), sorted([one.last for one in requests])
        moments = sorted({*firsts, *lasts})
        before = {moment: bisect_left(lasts, moment) for moment in moments}
        until = {moment: bisect_right(firsts, moment) for moment in moments}
        self.most_alive = [until[last] - before[first] for _, first, last, _ in requests]
        """How many, placed or not, are alive at some moment of each: all but those after it and before it."""
        ranks = dict(zip(moments, range(len(moments), 2 * len(moments)), strict=True))
        self._lives = [(ranks[first], ranks[last] + 1) for _, first, last, _ in requests]
        self._born = [(until[first], until[last]) for _, first, last, _ in requests]
        self._slots = [0] * len(requests)
        for slot, place in enumerate(sorted(range(len(requests)), key=lambda place: requests[place].first)):
            self._slots[place] = slot
        self._taken: list[_Taken | None] = [None] * len(requests)
        self._tree: dict[int, list[_Taken]] = {}
        self._levels: list[int] = []

    def first_gap(self, place: int, size: int) -> int:
        begin, end = self._born[place]
        alive = [taken for taken in self._taken[begin:end] if taken is not None]
        leaf = self._lives[place][0]
        for level in self._levels:
            found = self._tree.get(leaf >> level)
            if found is not None:
                alive += found
        alive.sort()
        lowest = 0
        for offset, past in alive:
            if offset - lowest >= size:
                break
            if past > lowest:  # noqa: PLR1730 - a call of max is slower, and this is the innermost loop
                lowest = past
        return lowest

    def add(self, place: int, taken: _Taken) -> None:
        self._taken[self._slots[place]] = taken
        low, high = self._lives[place]
        level = 0
        while low < high:
            if low & 1:
                self._stand(level, low, taken)
                low += 1
            if high & 1:
                high -= 1
                self._stand(level, high, taken)
            low, high, level = low >> 1, high >> 1, level + 1

    def _stand(self, level: int, node: int, taken: _Taken) -> None:
        if node in self._tree:
            self._tree[node].append(taken)
        else:
            self._tree[node] = [taken]
            if level not in self._levels:
                self._levels.append(level)


class _Block:
    """A stretch of what is placed, in the order of offsets, and what is true of all of it."""

    __slots__ = ("entries", "first", "gap", "last", "past")

    def __init__(self, entries: list[_Entry]) -> None:
        self.entries = entries
        self.first = min(one[2] for one in entries), max(one[2] for one in entries)
        self.last = min(one[3] for one in entries), max(one[3] for one in entries)
        self._measure()

    def add(self, entry: _Entry) -> None:
        insort(self.entries, entry)
        _, _, first, last = entry
        self.first = min(self.first[0], first), max(self.first[1], first)
        self.last = min(self.last[0], last), max(self.last[1], last)
        self._measure()

    def _measure(self) -> None:
        """Where the last of it ends, and the widest gap in it if all of it is alive."""
        past, gap = self.entries[0][0], 0
        for offset, end, _, _ in self.entries:
            if offset - past > gap:  # noqa: PLR1730
                gap = offset - past
            if end > past:  # noqa: PLR1730
                past = end
        self.past, self.gap = past, gap


class _ByOffset:
    """What is placed, in the order of offsets, in blocks that are stepped over where all of it is alive or none."""

    def __init__(self) -> None:
        self.count = 0
        self._blocks: list[_Block] = []
        self._starts: list[int] = []

    def add(self, placed: Iterable[tuple[Request, int]]) -> None:
        new = [(offset, offset + size, first, last) for (size, first, last, _), offset in placed]
        self.count += len(new)
        if len(new) > len(self._blocks):
            entries = sorted([*new, *(entry for block in self._blocks for entry in block.entries)])
            self._blocks = [_Block(entries[at : at + _BLOCK]) for at in range(0, len(entries), _BLOCK)]
            self._starts = [block.entries[0][0] for block in self._blocks]
            return
        for entry in new:
            self._add(entry)

    def _add(self, entry: _Entry) -> None:
        at = max(bisect_right(self._starts, entry[0]) - 1, 0)
        block = self._blocks[at]
        block.add(entry)
        self._starts[at] = block.entries[0][0]
        if len(block.entries) == 2 * _BLOCK:
            halves = block.entries[:_BLOCK], block.entries[_BLOCK:]
            self._blocks[at : at + 1] = map(_Block, halves)
            self._starts[at : at + 1] = [half[0][0] for half in halves]

    def first_gap(self, request: Request) -> int:
        size, first, last, _ = request
        lowest = 0
        for block in self._blocks:
            if block.first[0] > last or block.last[1] < first:
                continue
            is_closed = block.entries[0][0] - lowest < size and block.gap < size
            if is_closed and block.first[1] <= last and block.last[0] >= first:
                lowest = max(lowest, block.past)
                continue
            for offset, past, begins, ends in block.entries:
                if begins <= last and ends >= first:
                    if offset - lowest >= size:
                        return lowest
                    if past > lowest:  # noqa: PLR1730 - a call of max is slower, and this is the innermost loop
                        lowest = past
        return lowest

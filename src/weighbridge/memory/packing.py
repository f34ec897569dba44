"""Offsets in an arena, as the greedy planner of TensorFlow Lite Micro gives them, faster than it finds them.

The rule is that of greedy_memory_planner.cc (tensorflow/tflite-micro): requests with an offset of their own come first, in
order; the others by size, the largest first, of equal ones the later; each goes to the lowest gap that takes it among the
requests placed before it that are alive when it is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["Overwhelmed", "Request", "pack"]

_SCAN: Final = 4
"""Looking at a request in the order of offsets takes this fraction of the time of finding it by its moments and sorting."""
_MOST_LOOKS: Final = 100_000_000
"""That are taken at what is placed, some quarter of a minute: 5,000 requests that a third of the others meet take 7 million."""
_PARTS: Final = 64
"""So many entries are in half a block, and so many blocks on half a shelf."""


class Overwhelmed(Exception):
    """So many requests meet so many others that finding their places would take too long."""


class _Patience:
    """How many more looks at what is placed are worth it."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _MOST_LOOKS

    def look(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise Overwhelmed


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

    Near linear where few are alive at once, as in networks; in the worst case as the square of their number, which ends in
    ``Overwhelmed``.
    """
    patience = _Patience()
    by_moment, by_offset = _ByMoment(requests, patience), _ByOffset(patience)
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

    def __init__(self, requests: Sequence[Request], patience: _Patience) -> None:
        self._patience = patience
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
        self._patience.look(len(alive))
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


class _Stretch:
    """What is true of a part of what is placed: where it begins and ends, the widest gap in it if all of it is alive, and the
    least and the greatest first and last moment.
    """

    __slots__ = ("begin", "first", "gap", "last", "past")

    def __init__(self, begin: int, first: tuple[int, int], last: tuple[int, int]) -> None:
        self.begin = self.past = begin
        self.gap = 0
        self.first, self.last = first, last

    def widen(self, entry: _Entry) -> None:
        offset, _, first, last = entry
        self.begin = min(self.begin, offset)
        self.first = min(self.first[0], first), max(self.first[1], first)
        self.last = min(self.last[0], last), max(self.last[1], last)

    def is_alive(self, request: Request) -> bool:
        """Whether any of it may be alive when ``request`` is."""
        return self.first[0] <= request.last and self.last[1] >= request.first

    def has_room(self, request: Request, lowest: int) -> bool:
        """Whether a gap from ``lowest`` on may be wide enough, so that one has to look into it: not if it is all dead, nor if it
        is all alive and has no such gap.
        """
        is_closed = self.gap < request.size and self.begin - lowest < request.size
        if is_closed and self.first[1] <= request.last and self.last[0] >= request.first:
            return False
        return self.is_alive(request)

    def follow(self, begin: int, past: int, gap: int = 0) -> None:
        """Go on to a part that begins no earlier than what came before."""
        self.gap = max(self.gap, gap, begin - self.past)
        self.past = max(self.past, past)


class _Block(_Stretch):
    """Some of what is placed, in the order of offsets."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[_Entry]) -> None:
        self.entries = entries
        firsts, lasts = [one[2] for one in entries], [one[3] for one in entries]
        super().__init__(entries[0][0], (min(firsts), max(firsts)), (min(lasts), max(lasts)))
        self._measure()

    def add(self, entry: _Entry) -> None:
        self.widen(entry)
        if entry >= self.entries[-1]:
            self.entries.append(entry)
            self.follow(entry[0], entry[1])
        else:
            insort(self.entries, entry)
            self._measure()

    def _measure(self) -> None:
        past, gap = self.begin, 0
        for offset, end, _, _ in self.entries:
            if offset - past > gap:  # noqa: PLR1730 - a call of max is slower, and this is an inner loop
                gap = offset - past
            if end > past:  # noqa: PLR1730
                past = end
        self.past, self.gap = past, gap


class _Shelf(_Stretch):
    """Blocks that follow each other."""

    __slots__ = ("blocks", "starts")

    def __init__(self, blocks: list[_Block]) -> None:
        self.blocks, self.starts = blocks, [block.begin for block in blocks]
        first = min(one.first[0] for one in blocks), max(one.first[1] for one in blocks)
        last = min(one.last[0] for one in blocks), max(one.last[1] for one in blocks)
        super().__init__(blocks[0].begin, first, last)
        self._measure()

    def add(self, entry: _Entry) -> None:
        self.widen(entry)
        at = max(bisect_right(self.starts, entry[0]) - 1, 0)
        block = self.blocks[at]
        is_last = at == len(self.blocks) - 1 and entry >= block.entries[-1]
        block.add(entry)
        self.starts[at] = block.begin
        if len(block.entries) == 2 * _PARTS:
            self.blocks[at : at + 1] = halves = _blocks(block.entries)
            self.starts[at : at + 1] = [half.begin for half in halves]
        if is_last:
            self.follow(entry[0], entry[1])
        else:
            self._measure()

    def _measure(self) -> None:
        past, gap = self.begin, 0
        for block in self.blocks:
            if block.begin - past > gap:  # noqa: PLR1730
                gap = block.begin - past
            if block.gap > gap:  # noqa: PLR1730
                gap = block.gap
            if block.past > past:  # noqa: PLR1730
                past = block.past
        self.past, self.gap = past, gap


def _blocks(entries: list[_Entry]) -> list[_Block]:
    return [_Block(entries[at : at + _PARTS]) for at in range(0, len(entries), _PARTS)]


def _shelves(blocks: list[_Block]) -> list[_Shelf]:
    return [_Shelf(blocks[at : at + _PARTS]) for at in range(0, len(blocks), _PARTS)]


class _ByOffset:
    """What is placed, in the order of offsets, in blocks on shelves, which are passed by where all is alive or nothing."""

    def __init__(self, patience: _Patience) -> None:
        self.count = 0
        self._patience = patience
        self._shelves: list[_Shelf] = []
        self._starts: list[int] = []

    def add(self, placed: Iterable[tuple[Request, int]]) -> None:
        new = [(offset, offset + size, first, last) for (size, first, last, _), offset in placed]
        if len(new) > self.count // _PARTS:
            entries = [entry for shelf in self._shelves for block in shelf.blocks for entry in block.entries]
            self._shelves = _shelves(_blocks(sorted(entries + new)))
            self._starts = [shelf.begin for shelf in self._shelves]
        else:
            for entry in new:
                self._add(entry)
        self.count += len(new)

    def _add(self, entry: _Entry) -> None:
        at = max(bisect_right(self._starts, entry[0]) - 1, 0)
        shelf = self._shelves[at]
        shelf.add(entry)
        self._starts[at] = shelf.begin
        if len(shelf.blocks) == 2 * _PARTS:
            self._shelves[at : at + 1] = halves = _shelves(shelf.blocks)
            self._starts[at : at + 1] = [half.begin for half in halves]

    def first_gap(self, request: Request) -> int:
        lowest, is_found = 0, False
        for shelf in self._shelves:
            if shelf.has_room(request, lowest):
                lowest, is_found = _among_blocks(shelf.blocks, request, lowest, self._patience)
                if is_found:
                    break
            elif shelf.is_alive(request):
                lowest = max(lowest, shelf.past)
        return lowest


def _among_blocks(blocks: Iterable[_Block], request: Request, lowest: int, patience: _Patience) -> tuple[int, bool]:
    """Where ``request`` goes, or where what is alive of ``blocks`` ends, and which of them it is."""
    size, first, last, _ = request
    for block in blocks:
        if not block.has_room(request, lowest):
            if block.is_alive(request):
                lowest = max(lowest, block.past)
            continue
        patience.look(len(block.entries))
        for offset, past, begins, ends in block.entries:
            if past > lowest and begins <= last and ends >= first:
                if offset - lowest >= size:
                    return lowest, True
                lowest = past
    return lowest, False

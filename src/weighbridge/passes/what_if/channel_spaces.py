"""Runs of channels, and which of them have to have one size.

An axis of a tensor is made of *segments*: a space, which is a number of channels that is decided as one, times the values
that each of its channels has there.  A feature map of C channels that is flattened has one segment of C channels with height x
width values each; a concatenation has a segment for each of its parts.  Where two axes have to agree, as in a sum, spaces are
tied: one is bound to others, which it is made of from then on, and may have to be cut for that.

A graph holds no values, so only how many channels there are is told, never which.  Where a shuffle, groups or a split deal out
the values of a channel evenly, each share has as many of them, wherever they lie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from math import gcd

from weighbridge.named_tuple import NamedTuple

__all__ = ["Axis", "Part", "Segment", "Spaces", "Term", "times"]


class Segment(NamedTuple):
    """A space, by number, and how many values each of its channels has here."""

    space: int
    each: int = 1


Term = tuple[Segment, ...]
"""What an axis is made of, in order."""

Axis = Term | None
"""None: an axis that keeps its size, whatever is pruned."""


class Part(NamedTuple):
    """A piece of an axis, and what stands before it."""

    before: Term
    within: Term


def times(term: Term, count: int) -> Term:
    """An axis with ``count`` values for every one of ``term``."""
    return tuple(Segment(space, each * count) for space, each in term)


class Spaces:
    """The spaces of a graph: their sizes, what they are bound to, and why some are held, that is, keep their channels."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._bound: dict[int, Term] = {}
        self._held: dict[int, str] = {}

    def new(self, size: int) -> Term:
        """A space of ``size`` channels that nothing is tied to yet."""
        self._sizes.append(size)
        return (Segment(len(self._sizes) - 1),)

    def channels(self, space: int) -> int:
        """How many channels a space has."""
        return self._sizes[space]

    def size(self, term: Term, removed: Mapping[int, int] | None = None) -> int:
        """The values of an axis; with the channels that are ``removed``, by space, gone."""
        gone = removed or {}
        return sum((self._sizes[space] - gone.get(space, 0)) * each for space, each in self.flat(term))

    def flat(self, term: Term) -> Term:
        """``term`` by spaces that are bound to nothing."""
        found: list[Segment] = []
        for space, each in term:
            found += times(self._whole(space), each) if space in self._bound else (Segment(space, each),)
        return tuple(found)

    def _whole(self, space: int) -> Term:
        """What a bound space is made of in the end, remembered: of a long chain of sums each space is bound to the next."""
        pending = [space]
        while pending:
            bound = self._bound[pending[-1]]
            inner = [one for one, _ in bound if one in self._bound]
            chained = [one for one in inner if any(deeper in self._bound for deeper, _ in self._bound[one])]
            pending += chained
            if not chained:
                parts = (
                    times(self._bound[one], each) if one in self._bound else (Segment(one, each),)
                    for one, each in bound
                )
                self._bound[pending.pop()] = tuple(chain.from_iterable(parts)) if inner else bound
        return self._bound[space]

    def hold(self, axis: Axis, reason: str) -> None:
        """Keep the channels of an axis; the first reason given stands."""
        for space, _ in self.flat(axis or ()):
            self._held.setdefault(space, reason)

    def reason(self, space: int) -> str | None:
        """Why the channels of a space that is bound to nothing are kept; None if they are not."""
        return self._held.get(space)

    def is_held(self, axis: Axis) -> bool:
        """Whether an axis keeps its size."""
        return all(space in self._held for space, _ in self.flat(axis or ()))

    def tie(self, one: Term, other: Term) -> bool:
        """Make two axes of one size agree, segment by segment; False where they cannot be cut at the same places.

        Where channels have several values, nobody knows in which order these lie: what both axes have cancels out then, and a
        lone space on one side becomes what stands on the other.
        """
        left, right = self.flat(one), self.flat(other)
        if any(segment.each > 1 for segment in left + right):
            left, right = self._without_common(left, right)
            if self._bind_whole(left, right) or self._bind_whole(right, left):
                return True
        ahead, beside = [*reversed(left)], [*reversed(right)]
        while ahead and beside:
            a, b = self._next(ahead), self._next(beside)
            size = min(self._size(a), self._size(b))
            first, second = self._divided((a,), size), self._divided((b,), size)
            if first is None or second is None or not self._unite(self.flat(first[0]), self.flat(second[0])):
                return False
            ahead += reversed(first[1])
            beside += reversed(second[1])
        return not ahead and not beside

    def _next(self, pending: list[Segment]) -> Segment:
        """Take the last segment, which may have been bound since it was put there."""
        pending += reversed(self.flat((pending.pop(),)))
        return pending.pop()

    def part(self, term: Term, start: int, stop: int) -> Part | None:
        """The values from ``start`` to ``stop`` of an axis; None where a cut falls between the values of a channel.

        One of several equal parts has its share of every channel, where each has values for all of the parts.
        """
        length = stop - start
        if length and not start % length:
            shares = self._shares(self.flat(term), self.size(term) // length)
            if shares is not None and self.size(shares) == length:
                return Part(times(shares, start // length), shares)
        first = self._divided(self.flat(term), start)
        second = None if first is None else self._divided(first[1], length)
        return None if first is None or second is None else Part(first[0], second[0])

    def share(self, term: Term, count: int) -> Term | None:
        """What each of ``count`` equal parts of an axis is made of; None where there are no such parts.

        A lone space is made of as many equal ones; segments that are the parts as they stand are tied; else each space is.
        """
        flat = self.flat(term)
        if count < 1 or self.size(flat) % count:
            return None
        shares = self._shares(flat, count)
        if shares is not None:
            return shares
        for parts in range(min(len(flat), count), 1, -1):
            first = None if count % parts else self._tied_parts(flat, parts)
            if first is not None:
                return self.share(first, count // parts)
        self._refine(flat, count)
        return self._shares(self.flat(flat), count)

    def _size(self, segment: Segment) -> int:
        return self._sizes[segment.space] * segment.each

    def _shares(self, flat: Term, count: int) -> Term | None:
        """A part of every space, as many times as it stands in an axis; None where these do not divide."""
        if all(each % count == 0 for _, each in flat):
            return tuple(Segment(space, each // count) for space, each in flat)
        found = _by_space(flat)
        if any(each % count for each in found.values()):
            return None
        return tuple(Segment(space, each // count) for space, each in found.items())

    def _tied_parts(self, flat: Term, count: int) -> Term | None:
        """The first of ``count`` runs of segments of one size, to which the others are tied."""
        size = self.size(flat) // count
        parts: list[list[Segment]] = [[]]
        filled = 0
        for segment in flat:
            if filled == size:
                parts.append([])
                filled = 0
            parts[-1].append(segment)
            filled += self._size(segment)
            if filled > size:
                return None
        first = tuple(parts[0])
        return self.flat(first) if all(self.tie(first, tuple(part)) for part in parts[1:]) else None

    def _refine(self, flat: Term, count: int) -> None:
        """Make each space of an axis of so many equal ones that ``count`` divides its values, where its size allows it."""
        for space, each in flat:
            more = count // gcd(count, each)
            if more > 1 and space not in self._bound and not self._sizes[space] % more:
                self._bind(space, times(self.new(self._sizes[space] // more), more))

    def _without_common(self, left: Term, right: Term) -> tuple[Term, Term]:
        """Two axes less what both have of a space."""
        common = _by_space(left) & _by_space(right)
        return _less(left, common), _less(right, common)

    def _bind_whole(self, left: Term, right: Term) -> bool:
        """Bind the one space on the left to what is on the right, as far as its values there divide."""
        if not left and not right:
            return True
        if len(left) != 1 or any(segment.each % left[0].each for segment in right):
            return False
        self._bind(left[0].space, tuple(Segment(space, each // left[0].each) for space, each in right))
        return True

    def _divided(self, term: Term, at: int) -> tuple[Term, Term] | None:
        """The first ``at`` values of an axis and the rest: between segments, values of all channels, or channels."""
        before: list[Segment] = []
        for place, segment in enumerate(term):
            size, channels = self._size(segment), self._sizes[segment.space]
            if size <= at:
                before.append(segment)
                at -= size
                continue
            if not at:
                return tuple(before), term[place:]
            if not at % channels:
                first = Segment(segment.space, at // channels)
                second = Segment(segment.space, segment.each - first.each)
                return (*before, first), (second, *term[place + 1 :])
            if at % segment.each:
                return None
            head, tail = self.new(at // segment.each), self.new((size - at) // segment.each)
            self._bind(segment.space, head + tail)
            return (*before, *times(head, segment.each)), (*times(tail, segment.each), *term[place + 1 :])
        return tuple(before), ()

    def _unite(self, one: Term, other: Term) -> bool:
        """Tie two pieces of one size, each a segment unless a cut changed it meanwhile."""
        left, right = self._without_common(one, other)
        if self._bind_whole(left, right) or self._bind_whole(right, left):
            return True
        if len(left) != 1 or len(right) != 1:
            return False
        (a,), (b,) = left, right
        common = a.each * b.each // gcd(a.each, b.each)
        made = self.new(self._size(a) // common)
        self._bind(a.space, times(made, common // a.each))
        self._bind(b.space, times(made, common // b.each))
        return True

    def _bind(self, space: int, term: Term) -> None:
        reason = self._held.get(space)
        self._bound[space] = term
        if reason is not None:
            self.hold(term, reason)


def _by_space(term: Term) -> Counter[int]:
    found: Counter[int] = Counter()
    for space, each in term:
        found[space] += each
    return found


def _less(term: Term, taken: Mapping[int, int]) -> Term:
    """An axis less so many values a channel of each space, taken from the front."""
    left = dict(taken)
    found: list[Segment] = []
    for space, each in term:
        gone = min(each, left.get(space, 0))
        left[space] = left.get(space, 0) - gone
        if each > gone:
            found.append(Segment(space, each - gone))
    return tuple(found)

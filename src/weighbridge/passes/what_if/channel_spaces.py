"""Runs of channels, and which of them have to have one size.

An axis of a tensor is made of *segments*: a space, which is a number of channels that is decided as one, times the values
that belong to each of its channels.  A feature map of C channels that is flattened has one segment of C channels with height x
width values each; a concatenation has a segment for each of its parts.  Where two axes have to agree, as in a sum, their
segments are tied: a space is bound to others, which it is made of from then on, and may have to be cut for that.

Only how many channels there are is told, never which: where a shuffle or a split deals out the values of a channel evenly,
each share has as many.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["Axis", "Part", "Segment", "Spaces", "Term"]

_MOST_SEGMENTS: Final = 1 << 14
"""An axis of more segments is not followed: maps whose channels come last, flattened, repeat theirs at every position."""


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

    def size(self, term: Term, removed: Mapping[int, int] | None = None) -> int:
        """The values of an axis; with the channels that are ``removed``, by space, gone."""
        gone = removed or {}
        return sum((self._sizes[space] - gone.get(space, 0)) * each for space, each in self.flat(term))

    def channels(self, space: int) -> int:
        """How many channels a space has."""
        return self._sizes[space]

    def flat(self, term: Term) -> Term:
        """``term`` by spaces that are bound to nothing."""
        if not any(segment.space in self._bound for segment in term):
            return term
        found: list[Segment] = []
        pending = [*reversed(term)]
        while pending:
            segment = pending.pop()
            bound = self._bound.get(segment.space)
            if bound is None:
                found.append(segment)
            else:
                pending.extend(Segment(space, each * segment.each) for space, each in reversed(bound))
        return tuple(found)

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
        """Make two axes of one size agree, segment by segment; False where they cannot be cut at the same places."""
        left, right = [*reversed(self.flat(one))], [*reversed(self.flat(other))]
        while left and right:
            a, b = left.pop(), right.pop()
            if a.space in self._bound or b.space in self._bound:
                left.extend(reversed(self.flat((a,))))
                right.extend(reversed(self.flat((b,))))
                continue
            size_a, size_b = self._sizes[a.space] * a.each, self._sizes[b.space] * b.each
            if size_a == size_b:
                self._unite(a, b)
                continue
            shorter, longer, rest = (left, right, b) if size_a < size_b else (right, left, a)
            shorter.append(a if size_a < size_b else b)
            halves = self._divided((rest,), min(size_a, size_b))
            if halves is None:
                return False
            longer.extend((*reversed(halves[1]), *reversed(halves[0])))
        return not left and not right

    def part(self, term: Term, start: int, stop: int) -> Part | None:
        """The values from ``start`` to ``stop`` of an axis; None where a cut falls between the values of a channel.

        One of several equal parts has its share of every channel, where each has values for all of the parts.
        """
        flat, length = self.flat(term), stop - start
        shares = self._shares(flat, self.size(flat) // length) if length and not start % length else None
        if shares is not None and self.size(shares) == length:
            return Part(shares * (start // length), shares)
        first = self._divided(flat, start)
        second = None if first is None else self._divided(first[1], length)
        return None if first is None or second is None else Part(first[0], second[0])

    def copies(self, term: Term, count: int) -> Term | None:
        """What one of ``count`` equal parts of an axis is made of, all parts being tied; None where there are no such parts."""
        flat = self.flat(term)
        total = self.size(flat)
        if count < 1 or total % count:
            return None
        shares = self._shares(flat, count)
        if shares is not None:
            return shares
        if len(flat) == 1 and flat[0].space not in self._bound and not self._sizes[flat[0].space] % count:
            one = self.new(self._sizes[flat[0].space] // count)
            self._bind(flat[0].space, one * count)
            return (Segment(one[0].space, flat[0].each),)
        pieces = self._pieces(flat, total // count)
        if not pieces:
            return None
        first, *others = pieces
        return self.flat(first) if all(self.tie(first, other) for other in others) else None

    def blocks(self, term: Term, each: int) -> Term | None:
        """An axis by runs of ``each`` values, which are kept or removed together; None where that cannot be."""
        found: list[Segment] = []
        pending = [*reversed(self.flat(term))]
        while pending:
            segment = pending.pop()
            if segment.space in self._bound:
                pending.extend(reversed(self.flat((segment,))))
                continue
            more = each // gcd(each, segment.each)
            size = self._sizes[segment.space]
            if size % more:
                return None
            space = segment.space
            if more > 1:
                (one,) = self.new(size // more)
                self._bind(space, (Segment(one.space, more),))
                space = one.space
            found.append(Segment(space, segment.each * more // each))
        return self.flat(tuple(found))

    def spread(self, term: Term, copies: int, each: int) -> Term | None:
        """An axis of so many copies of ``term``, every value of which is now ``each``; None if it is too long to follow."""
        flat = self.flat(term)
        if len(flat) * copies > _MOST_SEGMENTS:
            return None
        return tuple(Segment(space, one * each) for space, one in flat) * copies

    def _pieces(self, flat: Term, size: int) -> list[Term] | None:
        pieces: list[Term] = []
        while flat:
            halves = self._divided(flat, size)
            if halves is None:
                return None
            pieces.append(halves[0])
            flat = halves[1]
        return pieces

    def _shares(self, flat: Term, count: int) -> Term | None:
        if count < 1 or any(segment.each % count for segment in flat):
            return None
        return tuple(Segment(space, each // count) for space, each in flat)

    def _divided(self, term: Term, at: int) -> tuple[Term, Term] | None:
        """The first ``at`` values of an axis and the rest."""
        before: list[Segment] = []
        pending = [*reversed(self.flat(term))]
        while pending and at:
            segment = pending.pop()
            size = self._sizes[segment.space] * segment.each
            if size > at:
                if at % segment.each:
                    return None
                first, second = self.new(at // segment.each), self.new((size - at) // segment.each)
                self._bind(segment.space, first + second)
                pending = [*reversed(self.flat((*before, segment, *reversed(pending))))]
                at, before = at + sum(self._sizes[space] * each for space, each in before), []
                continue
            before.append(segment)
            at -= size
        return tuple(before), tuple(reversed(pending))

    def _unite(self, a: Segment, b: Segment) -> None:
        """Tie two segments of as many values."""
        if a.space == b.space:
            return
        if not a.each % b.each:
            self._bind(b.space, (Segment(a.space, a.each // b.each),))
        elif not b.each % a.each:
            self._bind(a.space, (Segment(b.space, b.each // a.each),))
        else:
            common = a.each * b.each // gcd(a.each, b.each)
            one = self.new(self._sizes[a.space] * a.each // common)[0].space
            self._bind(a.space, (Segment(one, common // a.each),))
            self._bind(b.space, (Segment(one, common // b.each),))

    def _bind(self, space: int, term: Term) -> None:
        reason = self._held.get(space)
        self._bound[space] = term
        if reason is not None:
            self.hold(term, reason)

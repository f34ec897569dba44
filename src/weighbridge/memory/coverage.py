"""How many bytes lie in at least one of several pieces that may overlap, while pieces come and go."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from weighbridge.named_tuple import NamedTuple

__all__ = ["Piece", "most_covered"]


class Piece(NamedTuple):
    """Bytes from ``begin`` up to ``end`` that are taken from moment ``first`` to moment ``last``, both included."""

    begin: int
    end: int
    first: int
    last: int


def most_covered(pieces: Sequence[Piece]) -> int:
    """The most bytes that are taken at one moment, those that several pieces take once."""
    covered, most = _Covered(edge for one in pieces for edge in (one.begin, one.end)), 0
    leaving = sorted(pieces, key=lambda one: -one.last)
    for one in sorted(pieces, key=lambda one: one.first):
        while leaving and leaving[-1].last < one.first:
            gone = leaving.pop()
            covered.change(gone.begin, gone.end, -1)
        covered.change(one.begin, one.end, 1)
        most = max(most, covered.bytes)
    return most


class _Covered:
    """The bytes between all edges, as a tree whose leaves are the stretches from one edge to the next.

    A node counts the pieces that take all of its stretch and not all of its parent's, and knows the bytes taken in it.
    """

    def __init__(self, edges: Iterable[int]) -> None:
        self._edges = sorted({*edges})
        self._leaves = 1 << max(len(self._edges) - 1, 1).bit_length()
        self._pieces = [0] * (2 * self._leaves)
        self._bytes = [0] * (2 * self._leaves)

    @property
    def bytes(self) -> int:
        """Those that are taken."""
        return self._bytes[1]

    def change(self, begin: int, end: int, by: int) -> None:
        """Add a piece (``by`` is 1), or take it away (-1)."""
        low, high = (self._leaves + bisect_left(self._edges, edge) for edge in (begin, end))
        ends, width = (low, high - 1), 1
        while low < high:
            if low & 1:
                self._take(low, width, by)
                low += 1
            if high & 1:
                high -= 1
                self._take(high, width, by)
            low, high, width = low >> 1, high >> 1, 2 * width
        for leaf in ends if end > begin else ():
            self._renew(leaf >> 1)

    def _take(self, node: int, width: int, by: int) -> None:
        self._pieces[node] += by
        self._count(node, width)

    def _renew(self, node: int) -> None:
        """Count the bytes of a node and of all above it anew."""
        width = 2
        while node:
            self._count(node, width)
            node, width = node >> 1, 2 * width

    def _count(self, node: int, width: int) -> None:
        if self._pieces[node]:
            first = node * width - self._leaves
            last = min(first + width, len(self._edges) - 1)
            self._bytes[node] = self._edges[last] - self._edges[first]
        else:
            self._bytes[node] = self._bytes[2 * node] + self._bytes[2 * node + 1] if width > 1 else 0

"""Huffman codes of histograms, and the entropy that none of them can be below.

Only lengths matter for a size; the words of a canonical code follow from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from math import fsum, log2
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["TABLE_BITS_PER_SYMBOL", "HuffmanCode", "code_lengths", "entropy_bits", "huffman_code"]

TABLE_BITS_PER_SYMBOL: Final = 8
"""A decoder rebuilds a canonical code from the length of each word, of which a byte holds any that can occur."""


class HuffmanCode(NamedTuple):
    """The bits that a sequence of ``entries`` symbols takes in its Huffman code, and the entropy that bounds them from below.

    ``symbols`` are the different ones that occur.
    """

    entries: int
    symbols: int
    bits: int
    entropy_bits: float


def code_lengths(counts: Sequence[int]) -> tuple[int, ...]:
    """The length in bits of every symbol's word, by how often each occurs; 0 for one that does not.

    Where a single symbol occurs its word is empty: how many there are is known, so nothing has to be read.
    """
    heap = [(count, place) for place, count in enumerate(counts) if count]
    heapify(heap)
    parents: dict[int, int] = {}
    inner = len(counts)
    while len(heap) > 1:
        (least, one), (next_least, other) = heappop(heap), heappop(heap)
        parents[one] = parents[other] = inner
        heappush(heap, (least + next_least, inner))
        inner += 1
    depths = {inner - 1: 0}
    for place in range(inner - 2, -1, -1):  # a parent has a higher number than what is below it
        if place in parents:
            depths[place] = depths[parents[place]] + 1
    return tuple(depths.get(place, 0) if count else 0 for place, count in enumerate(counts))


def entropy_bits(counts: Sequence[int]) -> float:
    """``sum(count * log2(total / count))``: what any code that has a word for each symbol takes at least."""
    total = sum(counts)
    return fsum(count * (log2(total) - log2(count)) for count in counts if 0 < count < total)


def huffman_code(counts: Sequence[int]) -> HuffmanCode:
    """The code of a sequence in which the symbols occur so often."""
    bits = sum(count * length for count, length in zip(counts, code_lengths(counts), strict=True))
    # an entropy in floating point may come out a last digit above a code that reaches it
    entropy = min(entropy_bits(counts), float(bits))
    return HuffmanCode(sum(counts), sum(1 for count in counts if count), bits, entropy)

"""Code lengths against every code that there can be, and against the entropy."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compression.naive import canonical, coded, from_coded
from weighbridge.compression import code_lengths, entropy_bits, huffman_code


@cache
def complete(symbols: int) -> frozenset[tuple[int, ...]]:
    """The sorted lengths of every binary tree with so many leaves."""
    if symbols == 1:
        return frozenset({(0,)})
    return frozenset(
        tuple(sorted(depth + 1 for depth in (*left, *right)))
        for size in range(1, symbols // 2 + 1)
        for left in complete(size)
        for right in complete(symbols - size)
    )


def shortest(counts: list[int]) -> int:
    """The bits of the best prefix code: long words for rare symbols, over all trees."""
    often = sorted(counts, reverse=True)
    return min(sum(c * length for c, length in zip(often, tree, strict=True)) for tree in complete(len(often)))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=7))
def test_no_prefix_code_is_shorter(counts: list[int]) -> None:
    assert huffman_code(counts).bits == shortest(counts)


@given(st.lists(st.integers(0, 10**6), max_size=70))
def test_lengths_are_those_of_a_complete_code_between_the_entropy_and_a_bit_more(counts: list[int]) -> None:
    lengths, found, total = code_lengths(counts), huffman_code(counts), sum(counts)
    used = [length for count, length in zip(counts, lengths, strict=True) if count]
    assert all(not length for count, length in zip(counts, lengths, strict=True) if not count)
    if used:
        assert sum(Fraction(1, 2**length) for length in used) == 1
        assert found.entropy_bits <= found.bits < found.entropy_bits + total * (1 + 1e-9)
    assert (found.entries, found.symbols) == (total, len(used))
    assert found.entropy_bits == pytest.approx(entropy_bits(counts), rel=1e-9, abs=1e-6)


@given(st.lists(st.integers(0, 11), max_size=80))
def test_a_sequence_is_read_back_from_that_many_bits(numbers: list[int]) -> None:
    counts = [numbers.count(symbol) for symbol in range(12)]
    words = canonical(code_lengths(counts))
    bits = coded(numbers, words)
    assert len(bits) == huffman_code(counts).bits
    assert from_coded(bits, words, len(numbers), numbers[0] if numbers else 0) == numbers


def test_known_codes() -> None:
    assert code_lengths([]) == ()
    assert code_lengths([0, 9, 0]) == (0, 0, 0)
    assert code_lengths([45, 13, 12, 16, 9, 5]) == (1, 3, 3, 3, 4, 4)  # Cormen et al., Introduction to Algorithms, 16.3
    assert entropy_bits([8, 8]) == 16
    assert entropy_bits([4, 2, 1, 1]) == 14 == huffman_code([4, 2, 1, 1]).bits


def test_rare_symbols_beyond_measure_have_words() -> None:
    """As long as can be: the counts of Fibonacci."""
    counts = [1, 1]
    while len(counts) < 90:
        counts.append(counts[-1] + counts[-2])
    assert max(code_lengths(counts)) == 89

"""The bits of a layer against encoders that make every one of them, and decoders that need nothing else."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compression import naive
from weighbridge import compress
from weighbridge.builder import Builder
from weighbridge.compression import Histograms, Rule, Weight, code_lengths, from_histograms, from_ratios, unread
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec

CODEBOOK = [0.0, -1.5, 0.25, 2.0]


def encoded(array: list[float], index_bits: int) -> tuple[str, str, str, str, list[int], list[int]]:
    """Values and indices in fixed widths, then in Huffman codes, and the lengths of the two codes."""
    stored = naive.relative(array, index_bits)
    places, zeros = [CODEBOOK.index(value) for _, value in stored], [zeros for zeros, _ in stored]
    lengths = code_lengths(naive.histogram(places, 4)), code_lengths(naive.histogram(zeros, 2**index_bits))
    coded = (naive.coded(one, naive.canonical(code)) for one, code in zip((places, zeros), lengths, strict=True))
    return naive.fixed(places, 2), naive.fixed(zeros, index_bits), *coded, *map(list, lengths)


@given(st.lists(st.sampled_from([*CODEBOOK[:1] * 8, *CODEBOOK[1:]]), min_size=1, max_size=150), st.integers(1, 4))
def test_a_sparse_layer_takes_the_bits_of_its_encoding(array: list[float], index_bits: int) -> None:
    values, indices, coded_values, coded_indices, value_lengths, index_lengths = encoded(array, index_bits)
    stored = naive.relative(array, index_bits)
    kept = sum(1 for value in array if value)
    found = from_histograms(
        Weight("w", len(array), biases=3, bias_bits=96),
        Histograms(
            kept,
            kept,
            naive.histogram([CODEBOOK.index(value) for _, value in stored], 4),
            codebook_bits=2,
            index_counts=naive.histogram([zeros for zeros, _ in stored], 2**index_bits),
            index_bits=index_bits,
            fillers=len(stored) - kept,
        ),
    )
    beside = 4 * 32 + 3 * 32
    assert found.before_huffman_bits == len(values) + len(indices) + beside
    tables = 8 * (len(value_lengths) + len(index_lengths))
    assert found.bits == len(coded_values) + len(coded_indices) + tables + beside
    assert found.bytes == -(-found.bits // 8)
    assert found.dense_bits == 32 * (len(array) + 3)
    assert found.ratio == Fraction(found.dense_bits, found.bits)
    # and the array comes back from these bits, the tables and the codebook alone
    places = naive.from_coded(
        coded_values,
        naive.canonical(value_lengths),
        found.values.entries,
        only=CODEBOOK.index(stored[0][1]) if stored else 0,
    )
    zeros = naive.from_coded(
        coded_indices, naive.canonical(index_lengths), found.values.entries, only=stored[0][0] if stored else 0
    )
    back = [(one, CODEBOOK[place]) for one, place in zip(zeros, places, strict=True)]
    assert naive.from_relative(back, len(array)) == array
    assert found.values.entropy_bits <= found.values.huffman_bits
    assert found.indices.entropy_bits <= found.indices.huffman_bits


def test_a_dense_layer_has_no_indices() -> None:
    found = from_histograms(Weight("w", 10, bits_each=8), Histograms(10, 8, [5, 5], codebook_bits=1))
    assert found.indices is None
    assert found.before_huffman_bits == 10 + 64
    assert found.bits == 10 + 8 * 2 + 64


def test_ratios_give_exact_fractions() -> None:
    rule = Rule(Fraction(9, 100), 5, 4, Fraction("3.9"), Fraction("3.2"), fillers=Fraction(1, 5))
    found = from_ratios(Weight("fc", 1001), rule)
    kept = Fraction(9009, 100)
    assert found.kept == kept
    assert found.values.entries == found.indices.entries == kept * Fraction(6, 5)
    assert found.before_huffman_bits == kept * Fraction(6, 5) * 9 + 32 * 32
    assert found.bits == kept * Fraction(6, 5) * Fraction("7.1") + 32 * 32 + 8 * (32 + 16)
    assert found.exact


def test_fillers_that_nobody_gave_are_left_out_and_estimated_beside() -> None:
    found = from_ratios(Weight("fc", 10_000), Rule(Fraction(1, 10), 5))
    assert (found.fillers, found.exact, found.values.entries) == (None, False, 1000)
    assert found.indices.width_bits == 4
    assert found.bits_with_expected_fillers == pytest.approx(float(found.bits) + found.expected_fillers * 9)


def test_all_kept_is_dense_whatever_the_indices_are() -> None:
    for keep in (None, Fraction(1)):
        found = from_ratios(Weight("w", 100), Rule(keep, index_bits=5, huffman_index_bits=Fraction(2)))
        assert (found.indices, found.fillers, found.exact, found.bits) == (None, 0, True, 3200)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(Fraction(1, 1000)),
        Rule(Fraction(1, 2), 5, 4, Fraction(6)),
        Rule(Fraction(1, 2), 5, 4, None, Fraction(5)),
        Rule(Fraction(1, 2), huffman_value_bits=Fraction(6)),
        Rule(Fraction(1, 2), fillers=Fraction(1000)),
        Rule(Fraction(36, 100), fillers=Fraction(4001, 36_000)),  # 64 zeros have place for 4
    ],
)
def test_what_cannot_be_is_refused(rule: Rule) -> None:
    with pytest.raises(BadSpec, match="w: "):
        from_ratios(Weight("w", 100), rule)


def test_as_many_fillers_as_zeros_have_place_for() -> None:
    assert from_ratios(Weight("w", 100), Rule(Fraction(36, 100), fillers=Fraction(4, 36))).fillers == 4
    assert from_ratios(Weight("w", 100), Rule(Fraction(36, 100), index_bits=1, fillers=Fraction(32, 36))).fillers == 32


def test_what_could_not_be_read_is_taken_as_it_is_held() -> None:
    found = unread(Weight("w", 100, bits_each=16), "its values are not in the file")
    assert (found.bits, found.exact, found.basis) == (1600, False, "not read")


def test_a_layer_of_nothing_weighs_nothing() -> None:
    found = from_histograms(Weight("w", 0), Histograms(0, 0, [0, 0]))
    assert (found.dense_bits, found.percent) == (0, 0)


def test_biases_without_a_size_are_named_and_in_no_total() -> None:
    build = Builder("words")
    x = build.input("x", (1, 4), DTYPES["float32"])
    weight = build.stored("w", (2, 4), DTYPES["float32"])
    bias = build.stored("b", (2,), DTYPES["opaque"])
    (y,) = build.add("linear", [("x", x), ("w", weight), ("b", bias)], name="fc")
    found = compress(build.graph([y]))
    assert not found.is_exact
    assert any("b: how many bytes they take is not known" in note for note in found.notes)

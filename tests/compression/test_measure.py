"""What is measured of weights against encoders that make every bit, and k-means against one that looks at every value."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.compression import naive
from weighbridge.compression import Histograms, Rule, Weight, code_lengths, from_histograms
from weighbridge.dtypes import DTYPES
from weighbridge.frontends.weights_measure import measured, shared

FLOAT, INT8, UINT8 = DTYPES["float32"], DTYPES["int8"], DTYPES["uint8"]
values = arrays(
    np.float32,
    st.integers(1, 120),
    elements=st.one_of(st.just(0.0), st.floats(-4, 4, width=16)),
)


def lloyd(numbers: np.ndarray, entries: int) -> tuple[list[float], list[int]]:
    """Centroids and the nearest of each number, in plain loops."""
    low, high = float(min(numbers)), float(max(numbers))
    centroids = list(np.linspace(low, high, entries))
    nearest: list[int] = []
    for _ in range(1000):
        before = nearest
        middles = [(one + two) / 2 for one, two in pairwise(centroids)]
        nearest = [sum(1 for middle in middles if number >= middle) for number in map(float, numbers)]
        if nearest == before:
            break
        for place in range(entries):
            own = [float(number) for number, one in zip(numbers, nearest, strict=True) if one == place]
            if own:
                centroids[place] = sum(own) / len(own)
    return centroids, nearest


@given(arrays(np.float32, st.integers(1, 60), elements=st.integers(-64, 64).map(lambda n: n / 8)), st.integers(1, 8))
def test_the_codebook_is_that_of_the_plain_algorithm(numbers: np.ndarray, entries: int) -> None:
    centroids, nearest = lloyd(numbers, entries)
    found = shared(numbers, entries)
    assert found.converged
    assert found.counts.tolist() == [nearest.count(place) for place in range(entries)]
    used = [place for place in range(entries) if place in nearest]
    assert [found.values[place] for place in used] == pytest.approx([centroids[place] for place in used], abs=1e-9)
    error = sum((float(number) - centroids[place]) ** 2 for number, place in zip(numbers, nearest, strict=True))
    assert found.squared_error == pytest.approx(error, abs=1e-9)


@given(values, st.fractions(Fraction(1, 50), Fraction(99, 100)), st.integers(1, 4), st.integers(1, 4))
def test_pruned_and_shared_weights_take_the_bits_of_their_encoding(
    array: np.ndarray, keep: Fraction, codebook_bits: int, index_bits: int
) -> None:
    found = measured(array, FLOAT, 0, Rule(keep, codebook_bits, index_bits))
    assert isinstance(found, Histograms)
    pruned = _pruned(array, keep)
    kept = pruned[pruned != 0]
    stored = naive.relative(pruned.tolist(), index_bits)
    fillers = sum(1 for _, value in stored if not value)
    assert (found.kept, found.fillers) == (len(kept), fillers)
    if not len(kept):
        return
    book = shared(kept, 2**codebook_bits - bool(fillers))
    codebook = [*([0.0] if fillers else []), *book.values.tolist()]
    borders = (book.values[1:] + book.values[:-1]) / 2
    places = [
        0 if not value else int(np.searchsorted(borders, value, side="right")) + bool(fillers) for _, value in stored
    ]
    zeros = [zeros for zeros, _ in stored]
    size = from_histograms(Weight("w", array.size), found)
    for numbers, symbols, stream in ((places, 2**codebook_bits, size.values), (zeros, 2**index_bits, size.indices)):
        assert stream is not None
        words = naive.canonical(code_lengths(naive.histogram(numbers, symbols)))
        bits = naive.coded(numbers, words)
        assert len(bits) == stream.huffman_bits
        assert stream.entropy_bits <= len(bits) <= stream.entropy_bits + len(numbers)
        assert naive.from_coded(bits, words, len(numbers), numbers[0]) == numbers
    # what is decoded is the pruned tensor through its codebook
    back = naive.from_relative([(gap, codebook[place]) for gap, place in zip(zeros, places, strict=True)], array.size)
    assert np.flatnonzero(pruned).tolist() == [place for place, value in enumerate(pruned.tolist()) if value]
    error = sum((one - other) ** 2 for one, other in zip(back, pruned.tolist(), strict=True))
    assert found.squared_error == pytest.approx(error, abs=1e-6)


def _pruned(array: np.ndarray, keep: Fraction) -> np.ndarray:
    """The largest magnitudes, of equal ones the first."""
    wanted = max(1, round(array.size * keep))
    order = sorted(range(array.size), key=lambda place: (-abs(float(array[place])), place))
    pruned = np.zeros_like(array)
    pruned[order[:wanted]] = array[order[:wanted]]
    return pruned


def test_of_equal_magnitudes_the_first_are_kept() -> None:
    found = measured(np.array([1, -1, 1, -1, 2], np.float32), FLOAT, 0, Rule(Fraction(3, 5), index_bits=2))
    assert isinstance(found, Histograms)
    assert found.kept == 3
    assert found.index_counts == [2, 0, 1, 0]  # places 0, 1 and 4


def test_zeros_are_left_out_where_that_is_shorter() -> None:
    sparse = np.zeros(1000, np.int8)
    sparse[::10] = 5
    found = measured(sparse, INT8, 0, Rule())
    assert isinstance(found, Histograms)
    assert (found.kept, found.nonzero, found.index_bits) == (100, 100, 4)
    dense = measured(np.arange(-100, 100, dtype=np.int8), INT8, 0, Rule())
    assert isinstance(dense, Histograms)
    assert (dense.kept, dense.nonzero, dense.index_counts) == (200, 199, None)


def test_what_stands_for_zero_is_what_is_left_out() -> None:
    array = np.full(640, 128, np.uint8)
    array[[100, 639]] = [130, 0]
    found = measured(array, UINT8, 128, Rule(index_bits=4))
    assert isinstance(found, Histograms)
    assert (found.kept, found.fillers) == (2, 100 // 16 + 538 // 16)
    assert found.value_counts is not None
    assert [found.value_counts[value] for value in (0, 128, 130)] == [1, found.fillers, 1]
    pruned = measured(array, UINT8, 128, Rule(Fraction(1, 640)))
    assert isinstance(pruned, Histograms)
    assert pruned.value_counts is not None
    assert (pruned.kept, pruned.value_counts[0]) == (1, 1)  # 128 away from its zero


@pytest.mark.parametrize("zero", [None, -1, 256, 10**15])
def test_a_zero_that_is_unknown_or_none_is_not_guessed(zero: int | None) -> None:
    array = np.zeros(100, np.uint8)
    found = measured(array, UINT8, zero, Rule())
    assert isinstance(found, Histograms)
    assert (found.kept, found.index_counts) == (100, None)
    assert "not known" in str(measured(array, UINT8, zero, Rule(Fraction(1, 2))))


def test_floating_point_has_a_zero_of_its_own() -> None:
    found = measured(np.array([0, 0, 0, 0, 3], np.float32), FLOAT, None, Rule())
    assert isinstance(found, Histograms)
    assert (found.kept, found.index_counts) == (1, [*[0] * 4, 1, *[0] * 11])


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_told(odd: float) -> None:
    assert (
        measured(np.array([1, odd], np.float32), FLOAT, 0, Rule(codebook_bits=2))
        == "1 of its values are no finite numbers"
    )


@pytest.mark.parametrize("array", [[], [0], [3], [0, 0, 0], [5, 5, 5]])
@pytest.mark.parametrize("rule", [Rule(), Rule(codebook_bits=1), Rule(Fraction(1, 3), 3, 1)])
def test_tensors_of_next_to_nothing(array: list[int], rule: Rule) -> None:
    for dtype in (FLOAT, INT8):
        found = measured(np.array(array, dtype.name), dtype, 0, rule)
        assert isinstance(found, Histograms)
        assert from_histograms(Weight("w", len(array), dtype.bits), found).exact


def test_numbers_whose_squares_are_too_large() -> None:
    found = shared(np.array([-1e308, 1e308, 1e308]), 2)
    assert found.counts.tolist() == [1, 2]
    assert found.values.tolist() == [-1e308, 1e308]
    sized = measured(np.array([-1e308, 1e308, 3e307]), DTYPES["float64"], 0, Rule(codebook_bits=1))
    assert isinstance(sized, Histograms)
    assert (sized.squared_error, sized.relative_squared_error) == (None, None)


def test_a_row_of_many_values_is_shared_in_a_fixed_number_of_steps() -> None:
    numbers = np.random.default_rng(7).standard_normal(200_000).astype(np.float32)
    one, two = (shared(numbers, 32) for _ in range(2))
    assert one.counts.sum() == numbers.size
    assert (one.values == two.values).all()
    assert one.squared_error < 0.005 * float(np.dot(numbers, numbers))

"""Relative indices against an encoder that makes them, and expectations against every way to keep weights."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compression.naive import from_relative, relative
from weighbridge.compression import expected_fillers, fillers


def gaps(array: list[int]) -> list[int]:
    places = [place for place, value in enumerate(array) if value]
    return [after - before - 1 for before, after in zip([-1, *places], places, strict=False)]


@given(st.lists(st.sampled_from([0] * 9 + [1]), max_size=200), st.integers(1, 5))
def test_fillers_are_those_of_the_encoder(array: list[int], bits: int) -> None:
    stored = relative(array, bits)
    assert from_relative(stored, len(array)) == array
    assert sum(1 for _, value in stored if not value) == sum(fillers(zeros, bits) for zeros in gaps(array))


def test_the_figure_of_the_paper() -> None:
    """Figure 2 of Deep Compression: steps of 1, 3, 8 (a filler) and 3, in 3 bits, from the position before the first."""
    array = [0.0, 3.4, 0, 0, 0.9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1.7]
    stored = relative(array[1:], 3)
    assert [zeros + 1 for zeros, _ in stored] == [1, 3, 8, 3]
    assert [value for _, value in stored] == [3.4, 0.9, 0, 1.7]


@pytest.mark.parametrize("elements", range(1, 13))
@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("keep", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_the_expected_number_is_the_mean_over_all_positions(elements: int, bits: int, keep: Fraction) -> None:
    chance = float(keep)
    mean = fsum(
        chance ** sum(array)
        * (1 - chance) ** (elements - sum(array))
        * sum(fillers(zeros, bits) for zeros in gaps(list(array)))
        for array in product((0, 1), repeat=elements)
    )
    assert expected_fillers(elements, keep, bits) == pytest.approx(mean, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("keep", [Fraction(9, 100), Fraction(1, 1000), Fraction(1, 10**5)])
def test_large_tensors_take_the_closed_form_of_the_same_sum(keep: Fraction) -> None:
    elements, step, chance = 300_000, 16, float(keep)
    terms = ((elements - m * step) * (1 - chance) ** (m * step) for m in range(1, (elements - 1) // step + 1))
    assert expected_fillers(elements, keep, 4) == pytest.approx(chance * fsum(terms), rel=1e-9)


def test_all_or_none_kept_takes_none() -> None:
    assert expected_fillers(100, Fraction(1), 4) == 0
    assert expected_fillers(0, Fraction(1, 2), 4) == 0

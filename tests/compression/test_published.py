"""Published sizes beside ours: what rounding explains, and the fillers that the rest implies."""

from __future__ import annotations

from fractions import Fraction

import pytest

from weighbridge.compression import (
    Histograms,
    Others,
    Published,
    Rounding,
    Rule,
    Weight,
    compression,
    from_histograms,
    from_ratios,
)
from weighbridge.compression.published import compared

WEIGHT = Weight("fc", 10_000, biases=7, bias_bits=7 * 32)
RULE = Rule(Fraction(1, 10), 5, 4, Fraction("3.9"), Fraction("3.2"))


@pytest.mark.parametrize("fillers", [Fraction(1, 10), Fraction(19, 100), Fraction(1, 2)])
def test_the_fillers_that_a_size_implies_are_those_it_has(fillers: Fraction) -> None:
    with_them = from_ratios(WEIGHT, RULE._replace(fillers=fillers))
    published = Published(with_them.before_huffman_percent, with_them.percent, (9, 9))
    found = compared(from_ratios(WEIGHT, RULE._replace(published=published)), Rounding())
    assert [one.implied_fillers for one in found] == [fillers, fillers]
    assert [one.explained_by for one in found] == ["fillers", "fillers"]


@pytest.mark.parametrize(
    ("apart", "explained"), [(-51, "nothing"), (-50, "rounding"), (50, "rounding"), (51, "fillers")]
)
def test_a_published_figure_is_rounded_itself(apart: int, explained: str) -> None:
    """By half a unit of its last digit, here the first decimal place, and no more."""
    ours = from_ratios(WEIGHT, RULE)
    off = Fraction(apart, 1000)
    published = Published(ours.before_huffman_percent + off, ours.percent + off / 10, (1, 2))
    found = compared(ours._replace(published=published), Rounding())
    assert [one.explained_by for one in found] == [explained, explained]
    assert [one.difference for one in found] == [-off, -off / 10]


def test_the_size_at_the_entropy_has_all_but_the_tables() -> None:
    """Four values in two bits each, equally often, whose codes reach the entropy: nothing but the tables lies between."""
    layer = from_histograms(WEIGHT._replace(elements=64), Histograms(64, 64, [16, 16, 16, 16], codebook_bits=2))
    total = compression("", [layer], Others(5, 160), tool="").total
    assert total.entropy_bits == 64 * 2 + 4 * 32 + 7 * 32 + 160
    assert total.bits == total.entropy_bits + total.table_bits == total.entropy_bits + 4 * 8


def test_parameters_of_unknown_size_make_the_total_a_lower_bound() -> None:
    known = compression("", [], Others(5, 160), tool="").total
    unsure = compression("", [], Others(5, 160, ("text",)), tool="").total
    assert known.exact
    assert not unsure.exact

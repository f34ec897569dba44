"""Part 02 of the source material: Deep Compression of AlexNet."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

import pytest

import weighbridge
from tests.lecture.entries import check
from weighbridge.compression import Compression


@cache
def alexnet() -> Compression:
    return weighbridge.compress("alexnet", plan="deep-compression")


@check("deep_compression_alexnet", "conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7", "fc8")
def _(value, name):
    """The plan has the table's bits, and its percentages are ours where rounding, or fillers as many by both, are allowed for."""
    (layer,) = (one for one in alexnet().layers if one.name == name)
    keep, value_bits, coded_value, index_bits, coded_index, before, after = map(Fraction, value)
    streams = [(one.width_bits, one.huffman_bits_each) for one in (layer.values, layer.indices)]
    assert (100 * layer.kept_share, *streams) == (keep, (value_bits, coded_value), (index_bits, coded_index))
    rows = [one for one in alexnet().comparisons if one.layer == name]
    assert [one.published_percent for one in rows] == [before, after]
    if name.startswith("conv"):
        for one, half in zip(rows, (Fraction(1, 20), Fraction(1, 200)), strict=True):
            assert one.low_percent - half <= one.published_percent <= one.high_percent + half
    else:
        implied = [one.implied_fillers for one in rows]
        assert implied[0] == pytest.approx(implied[1], abs=0.02)


@check("deep_compression_alexnet", "kept_weights")
def _(value):
    assert alexnet().total.kept == value


@check("alexnet_size", "deep_compression")
def _(text):
    """61 M -> 6.7 M by the papers, 6.8 M by these densities; the sizes are rounded, and 2.88 % of 240 MB."""
    total, kept, times, dense, size = map(Fraction, re.findall(r"[\d.]+(?= M|x|\))", text))
    found = alexnet().total
    assert round(Fraction(found.weights, 10**6)) == total
    assert abs(Fraction(found.kept) / 10**6 - kept) < Fraction(1, 10)
    assert round(found.pruned_ratio) == times
    assert abs(Fraction(found.dense_bytes, 10**6) - dense) < 4
    compared = alexnet().compared_total
    assert abs(Fraction(compared.bytes_with_implied_fillers, 10**6) - size) < Fraction(1, 5)
    assert round(compared.published.percent * dense / 100, 1) == size

"""Sizes that a paper prints, beside ours: how far apart, and how much of that rounding and fillers explain."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from weighbridge.compression.layer import Amount, LayerSize, percent
from weighbridge.named_tuple import NamedTuple

__all__ = ["ComparedTotal", "Comparison", "PublishedTotal", "Rounding", "compared", "compared_total"]


class Rounding(NamedTuple):
    """Half a unit of the last digit that a paper prints: of the share of weights kept, of averages of Huffman codes in bits."""

    keep: Fraction = Fraction(0)
    huffman_bits: Fraction = Fraction(0)


class PublishedTotal(NamedTuple):
    """What a paper prints of the whole network, and where it does; null for what it does not."""

    source: str
    dense_mb: Fraction | None = None
    compressed_mb: Fraction | None = None
    percent: Fraction | None = None
    ratio: Fraction | None = None
    pruned_ratio: Fraction | None = None
    rounding: Rounding = Rounding()


class Comparison(NamedTuple):
    """A percentage that is published, ours, and what lies between them.

    ``stage`` is ``before Huffman`` or ``after Huffman``; ``low_percent`` and ``high_percent`` are ours with everything that the paper
    rounds taken as low and as high as it can be.  ``explained_by`` is ``rounding`` where the published figure, itself rounded, is
    among these, ``fillers`` where it takes more than that, and ``nothing`` where it takes less.  ``implied_fillers`` are those for
    every kept weight with which ours would be the published figure; null where the layer is dense or would have less than none.
    """

    layer: str
    stage: str
    published_percent: Fraction
    percent: Fraction
    difference: Fraction
    low_percent: Fraction
    high_percent: Fraction
    explained_by: str
    implied_fillers: Fraction | None


class ComparedTotal(NamedTuple):
    """The published sizes of single layers added up, in bytes, before and after Huffman coding, beside ``published``.

    ``implied_fillers`` are those of the layers that rounding does not explain and fillers do, ``bytes_with_implied_fillers`` is our
    size with them.
    """

    published: PublishedTotal
    before_huffman_bytes: int
    bytes: int
    percent: Fraction
    ratio: Fraction
    implied_fillers: Fraction
    bytes_with_implied_fillers: int


def compared(layer: LayerSize, rounding: Rounding) -> tuple[Comparison, ...]:
    """The published percentages of a layer beside ours; none where none are known."""
    published = layer.published
    if published is None:
        return ()
    digits = published.digits
    return (
        _compared(layer, "before Huffman", published.before_huffman_percent, digits[0], rounding),
        _compared(layer, "after Huffman", published.percent, digits[1], rounding),
    )


def _compared(layer: LayerSize, stage: str, stated: Fraction, digits: int, rounding: Rounding) -> Comparison:
    ours = layer.before_huffman_percent if stage == "before Huffman" else layer.percent
    half = Fraction(1, 2 * 10**digits)
    low, high = (_rounded(layer, stage, rounding, sign) for sign in (-1, 1))
    if low <= stated + half and stated - half <= high:
        explained = "rounding"
    else:
        explained = "fillers" if stated > high and layer.indices is not None else "nothing"
    return Comparison(
        layer.name, stage, stated, ours, ours - stated, low, high, explained, _implied(layer, stage, stated)
    )


def _entry_bits(layer: LayerSize, stage: str, error: Fraction = Fraction(0)) -> Fraction:
    """The bits of one stored entry, value and index, with so many more for each average of a code."""
    total = Fraction(0)
    for stream in (layer.values, layer.indices):
        if stream is not None:
            is_coded = stage != "before Huffman" and stream.huffman_bits_each is not None
            total += Fraction(stream.huffman_bits_each or 0) + error if is_coded else Fraction(stream.width_bits)
    return total


def _beside(layer: LayerSize, stage: str) -> Amount:
    """Codebook, biases, and the tables of codes where there are codes."""
    tables = sum(stream.table_bits for stream in (layer.values, layer.indices) if stream is not None)
    return layer.codebook_bits + layer.bias_bits + (0 if stage == "before Huffman" else tables)


def _rounded(layer: LayerSize, stage: str, rounding: Rounding, sign: int) -> Fraction:
    kept = min(layer.kept_share + sign * rounding.keep, Fraction(1)) * layer.elements
    if layer.kept:
        kept *= Fraction(layer.values.entries) / layer.kept  # with its fillers
    bits = kept * _entry_bits(layer, stage, sign * rounding.huffman_bits) + _beside(layer, stage)
    return percent(bits, layer.dense_bits)


def _implied(layer: LayerSize, stage: str, stated: Fraction) -> Fraction | None:
    each = _entry_bits(layer, stage)
    if layer.indices is None or not each or not layer.kept:
        return None
    entries = (stated / 100 * layer.dense_bits - _beside(layer, stage)) / each
    implied = entries / layer.kept - 1
    return implied if implied >= 0 else None


def compared_total(layers: Sequence[LayerSize], published: PublishedTotal, other_bits: Amount) -> ComparedTotal | None:
    """The sum of the published layers; None where a layer has no published size.  ``other_bits`` are those of no layer."""
    stated = [(layer, layer.published) for layer in layers if layer.published is not None]
    if not layers or len(stated) < len(layers):
        return None
    dense = sum(layer.dense_bits for layer in layers)
    before = sum((one.before_huffman_percent * layer.dense_bits / 100 for layer, one in stated), Fraction(0))
    after = sum((one.percent * layer.dense_bits / 100 for layer, one in stated), Fraction(0))
    if not after:
        return None
    fillers, bits = Fraction(0), Fraction(other_bits)
    for layer, one in stated:
        found = compared(layer, published.rounding)[1]
        if found.explained_by == "fillers" and found.implied_fillers is not None:
            fillers += found.implied_fillers * layer.kept
            bits += one.percent * layer.dense_bits / 100
        else:
            bits += layer.bits
    return ComparedTotal(
        published,
        round(before / 8),
        round(after / 8),
        percent(after, dense),
        Fraction(dense) / after,
        fillers,
        round(bits / 8),
    )

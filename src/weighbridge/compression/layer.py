"""The bits of one layer's weights: values, indices, codebook, tables of codes, biases."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from weighbridge.compression.huffman import TABLE_BITS_PER_SYMBOL, HuffmanCode, huffman_code
from weighbridge.compression.relative import expected_fillers
from weighbridge.compression.rules import MOST_CODEBOOK_BITS, Published, Rule
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple

__all__ = [
    "DEFAULT_INDEX_BITS",
    "DENSE_BITS",
    "Histograms",
    "LayerSize",
    "Stream",
    "Weight",
    "check_kept",
    "from_histograms",
    "from_ratios",
    "unread",
]

DENSE_BITS: Final = 32
"""Of a weight or bias in the dense model that everything is compared with, and of an entry of a codebook."""
DEFAULT_INDEX_BITS: Final = 4
"""What the tables of Deep Compression use in every layer."""

Amount = int | Fraction


class Weight(NamedTuple):
    """A tensor of weights with the biases of its layer: numbers of elements, and the bits that each takes as it is held."""

    name: str
    elements: int
    bits_each: Amount = DENSE_BITS
    biases: int = 0
    bias_bits: Amount = 0
    parameter: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = "float32"


class Stream(NamedTuple):
    """``entries`` whole numbers in ``width_bits`` each, ``fixed_bits`` together, and what they take in a Huffman code.

    ``huffman_bits`` is null where they are not coded or nothing is known of it, ``entropy_bits`` where the numbers are not at
    hand; ``huffman_bits_each`` and ``entropy_bits_each`` are averages.  ``table_bits`` are those of the code's table: the length of
    each of its words in 8 bits.
    """

    entries: Amount
    width_bits: Amount
    fixed_bits: Amount
    huffman_bits: Amount | None = None
    huffman_bits_each: Fraction | None = None
    entropy_bits: float | None = None
    entropy_bits_each: float | None = None
    table_bits: int = 0

    @property
    def coded_bits(self) -> Amount:
        """With the table of the code; as they are where there is no code."""
        return self.fixed_bits if self.huffman_bits is None else self.huffman_bits + self.table_bits


class LayerSize(NamedTuple):
    """What one weight and the biases of its layer take.

    ``kept`` weights of ``elements`` are stored, with ``fillers`` beside them where the layer is sparse: ``indices`` are null where
    it is dense.  ``fillers`` is null where their number is not known; then they are left out of every size, ``exact`` is false,
    and ``expected_fillers`` and ``bits_with_expected_fillers`` are an estimate, for positions that are independent of each other.
    ``before_huffman_bits`` are values and indices in fixed widths, ``bits`` in their Huffman codes, tables included; both have the
    codebook (32 bits an entry) and the biases (as they are held).  ``dense_bits`` are 32 for every weight and bias, ``ratio`` is
    that over ``bits``; ``percent`` and ``before_huffman_percent`` are sizes in percent of it.

    ``basis`` is ``weights`` where the values were read, ``ratios`` where ratios were given, ``not read`` where the values should have
    been read and could not: the layer is taken as it is held.  ``squared_error`` is the sum over all weights kept that the
    codebook causes, ``relative_squared_error`` the same over the sum of their squares.
    """

    name: str
    parameter: str
    shape: tuple[int, ...]
    dtype: str
    basis: str
    elements: int
    kept: Amount
    kept_share: Fraction
    biases: int
    fillers: Amount | None
    expected_fillers: float | None
    values: Stream
    indices: Stream | None
    codebook_entries: int
    codebook_bits: int
    bias_bits: Amount
    dense_bits: int
    before_huffman_bits: Amount
    bits: Amount
    bits_with_expected_fillers: float | None
    bytes: int
    ratio: Fraction | None
    before_huffman_percent: Fraction
    percent: Fraction
    squared_error: float | None
    relative_squared_error: float | None
    exact: bool
    published: Published | None = None
    notes: tuple[str, ...] = ()


class Histograms(NamedTuple):
    """What was found in the values of a weight.

    ``kept`` values are stored, dense or sparse.  ``value_counts`` say how often each stored value occurs, fillers included, None
    where they are not coded; ``codebook_bits`` is None where values are stored as they are.  ``index_counts`` say how often each
    relative index occurs, None where the weight is dense.
    """

    kept: int
    nonzero: int
    value_counts: Sequence[int] | None
    codebook_bits: int | None = None
    index_counts: Sequence[int] | None = None
    index_bits: int | None = None
    fillers: int = 0
    squared_error: float | None = None
    relative_squared_error: float | None = None
    notes: tuple[str, ...] = ()


def from_ratios(weight: Weight, rule: Rule) -> LayerSize:
    """The size of a layer of which ratios are known and no values: exact but for the fillers, unless these are given.

    A layer is stored sparse where ``rule`` keeps less than all of it, with indices of 4 bits unless it says how many.  Raises
    ``BadSpec`` where less than one weight is kept, where an average of a Huffman code is above the fixed width, which it never is,
    where a Huffman code is given for values of more than 16 bits, and for more fillers than zeros have place for.
    """
    keep = Fraction(1) if rule.keep is None else rule.keep
    check_kept(weight, keep)
    kept = _whole(weight.elements * keep)
    is_sparse = keep < 1
    index_bits = (rule.index_bits or DEFAULT_INDEX_BITS) if is_sparse else None
    width = weight.bits_each if rule.codebook_bits is None else rule.codebook_bits
    fillers = _whole(kept * rule.fillers) if is_sparse and rule.fillers is not None else None if is_sparse else 0
    if fillers and index_bits:
        _check_fillers(weight, kept, fillers, index_bits)
    count = kept + (fillers or 0)
    values = _given(weight.name, "values", count, width, rule.huffman_value_bits)
    indices = None
    if index_bits is not None:
        indices = _given(weight.name, "indices", count, index_bits, rule.huffman_index_bits)
    expected = expected_fillers(weight.elements, keep, index_bits) if index_bits and fillers is None else None
    sizes = _Parts(values, indices, rule.codebook_bits, kept, fillers, expected)
    return _layer(weight, "ratios", sizes, rule.published)


def check_kept(weight: Weight, keep: Fraction) -> None:
    """Raises ``BadSpec`` where keeping this share of a weight would leave less than one element."""
    if weight.elements and weight.elements * keep < 1:
        what = f"keeping {float(keep):.3g} of {weight.elements:,} weights leaves less than one"
        raise BadSpec(what, where=weight.name, hint="keep more of this layer")


def _check_fillers(weight: Weight, kept: Amount, fillers: Amount, index_bits: int) -> None:
    """Raises ``BadSpec`` for more fillers than there are zeros for: a filler is the last of ``2^index_bits`` of them."""
    most = (weight.elements - kept) / (1 << index_bits)
    if fillers > most:
        what = f"{float(fillers):,.4g} fillers are given, and its zeros have place for {float(most):,.4g} at {index_bits} bits an index"
        raise BadSpec(what, where=weight.name, hint="a filler stands behind every 2^bits - 1 zeros at most")


def _given(name: str, what: str, count: Amount, width: Amount, average: Fraction | None) -> Stream:
    if average is None:
        return Stream(count, width, _whole(count * width))
    if width > MOST_CODEBOOK_BITS:
        what = f"a Huffman code of its {what} is given, which are {float(width):g} bits wide"
        raise BadSpec(what, where=name, hint="share them first: give the bits of a codebook")
    if average > width:
        raise BadSpec(
            f"the Huffman code of its {what} is given {float(average):g} bits, more than the {float(width):g} without it",
            where=name,
            hint="a Huffman code is never longer than a code of fixed width",
        )
    return Stream(count, width, _whole(count * width), _whole(count * average), average, table_bits=_table_bits(width))


def from_histograms(weight: Weight, found: Histograms, published: Published | None = None) -> LayerSize:
    """The size of a layer whose values were read: exact."""
    count = found.kept + found.fillers
    width = weight.bits_each if found.codebook_bits is None else found.codebook_bits
    values = _measured(count, width, found.value_counts)
    indices = None
    if found.index_counts is not None:
        assert found.index_bits is not None
        indices = _measured(count, found.index_bits, found.index_counts)
    parts = _Parts(values, indices, found.codebook_bits, found.kept, found.fillers, None)
    errors = found.squared_error, found.relative_squared_error
    return _layer(weight, "weights", parts, published, errors=errors, notes=found.notes)


def _measured(count: int, width: Amount, counts: Sequence[int] | None) -> Stream:
    fixed = _whole(count * width)
    if counts is None:
        return Stream(count, width, fixed)
    code: HuffmanCode = huffman_code(counts)
    assert code.entries == count
    each = (Fraction(code.bits, count), code.entropy_bits / count) if count else (None, None)
    return Stream(count, width, fixed, code.bits, each[0], code.entropy_bits, each[1], _table_bits(width))


def unread(weight: Weight, reason: str) -> LayerSize:
    """The size of a layer whose values should be read and cannot be: as it is held, and not exact."""
    values = Stream(weight.elements, weight.bits_each, _whole(weight.elements * weight.bits_each))
    parts = _Parts(values, None, None, weight.elements, 0, None)
    return _layer(weight, "not read", parts, None, notes=(reason,))


class _Parts(NamedTuple):
    values: Stream
    indices: Stream | None
    codebook_bits: int | None
    kept: Amount
    fillers: Amount | None
    expected: float | None


def _layer(
    weight: Weight,
    basis: str,
    parts: _Parts,
    published: Published | None,
    *,
    errors: tuple[float | None, float | None] = (None, None),
    notes: tuple[str, ...] = (),
) -> LayerSize:
    values, indices = parts.values, parts.indices
    entries = 0 if parts.codebook_bits is None else 1 << parts.codebook_bits
    beside = entries * DENSE_BITS + weight.bias_bits
    before = _whole(values.fixed_bits + (indices.fixed_bits if indices else 0) + beside)
    after = _whole(values.coded_bits + (indices.coded_bits if indices else 0) + beside)
    dense = DENSE_BITS * (weight.elements + weight.biases)
    return LayerSize(
        name=weight.name,
        parameter=weight.parameter or weight.name,
        shape=weight.shape,
        dtype=weight.dtype,
        basis=basis,
        elements=weight.elements,
        kept=parts.kept,
        kept_share=Fraction(parts.kept, weight.elements) if weight.elements else Fraction(1),
        biases=weight.biases,
        fillers=parts.fillers,
        expected_fillers=parts.expected,
        values=values,
        indices=indices,
        codebook_entries=entries,
        codebook_bits=entries * DENSE_BITS,
        bias_bits=weight.bias_bits,
        dense_bits=dense,
        before_huffman_bits=before,
        bits=after,
        bits_with_expected_fillers=_with_expected(after, values, indices, parts.expected),
        bytes=-(-after // 8),
        ratio=Fraction(dense) / after if after else None,
        before_huffman_percent=percent(before, dense),
        percent=percent(after, dense),
        squared_error=errors[0],
        relative_squared_error=errors[1],
        exact=parts.fillers is not None and basis != "not read",
        published=published,
        notes=notes,
    )


def percent(bits: Amount, dense_bits: int) -> Fraction:
    """``bits`` in percent of ``dense_bits``; 0 of nothing."""
    return Fraction(100 * bits) / dense_bits if dense_bits else Fraction(0)


def _with_expected(bits: Amount, values: Stream, indices: Stream | None, expected: float | None) -> float | None:
    """``bits`` and those of the fillers that are expected, each as long as an average entry."""
    if expected is None or indices is None:
        return None
    each = [
        stream.width_bits if stream.huffman_bits_each is None else stream.huffman_bits_each
        for stream in (values, indices)
    ]
    return float(bits) + expected * float(sum(each))


def _table_bits(width: Amount) -> int:
    """The table of a code over all whole numbers of so many bits."""
    return TABLE_BITS_PER_SYMBOL << -(-width // 1)


def _whole(value: Amount) -> Amount:
    """An int where it is a whole number."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value

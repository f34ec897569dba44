"""What a whole network weighs compressed: its layers, the rest of its parameters, totals, and published figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from weighbridge.compression.layer import DENSE_BITS, Amount, LayerSize, percent
from weighbridge.compression.published import (
    ComparedTotal,
    Comparison,
    PublishedTotal,
    Rounding,
    compared,
    compared_total,
)
from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import as_number, exact

__all__ = ["CONVENTION", "Compression", "Others", "Total", "compression"]

SCHEMA: Final = 1
CONVENTION: Final[Mapping[str, str]] = {
    "values": "a kept weight takes the bits of its place in the codebook, or those that it is held in where there is none",
    "indices": "of a sparse layer: the zeros in front of each stored weight, in row-major order; b bits count 0 to 2^b - 1 of them",
    "fillers": "where 2^b or more zeros stand in front of a weight, a zero is stored every 2^b positions, value and index",
    "codebook": "2^k values of 32 bits; where there are fillers one of them is zero",
    "huffman": "a code for the values and one for the indices of each layer, with the length of every word of a code in 8 bits",
    "biases": "of the layer, as they are held: neither pruned nor shared",
    "dense": "32 bits for every weight, bias and other parameter",
}
"""What is counted, by topic."""


class Others(NamedTuple):
    """Parameters that are in no layer's row: biases added elsewhere, normalisation, positions; stored as they are held.

    ``unsized`` are those, and biases of layers, whose size nobody knows: they are in no figure, and no total is exact then.
    """

    elements: int = 0
    bits: Amount = 0
    unsized: tuple[str, ...] = ()


class Total(NamedTuple):
    """All layers and the other parameters; the fields are those of a layer.

    ``entropy_bits`` is ``bits`` with the entropies of values and indices in place of their Huffman codes, without tables: null
    where the values of a layer are not at hand.  ``pruned_ratio`` is weights over kept weights.
    """

    weights: int
    kept: Amount
    kept_share: Fraction
    pruned_ratio: Fraction | None
    biases: int
    other_parameters: int
    other_bits: Amount
    fillers: Amount | None
    expected_fillers: float | None
    codebook_bits: int
    table_bits: int
    bias_bits: Amount
    dense_bits: int
    dense_bytes: int
    before_huffman_bits: Amount
    before_huffman_bytes: int
    before_huffman_percent: Fraction
    before_huffman_ratio: Fraction | None
    entropy_bits: float | None
    bits: Amount
    bytes: int
    percent: Fraction
    ratio: Fraction | None
    bytes_with_expected_fillers: int | None
    exact: bool


class Compression(NamedTuple):
    """What ``source`` weighs compressed.

    ``format`` is that of the source, ``values`` says whether its values were read (``weights``) or ratios alone were used
    (``ratios``); ``plan`` is the name of a plan that was followed, or null.  ``comparisons`` and ``compared_total`` are there where
    the plan has published figures.  ``convention`` says what is counted, by topic.
    """

    schema: int
    tool: str
    source: str
    format: str
    values: str
    plan: str | None
    layers: tuple[LayerSize, ...]
    others: Others
    total: Total
    comparisons: tuple[Comparison, ...]
    compared_total: ComparedTotal | None
    convention: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """Whether nothing is left out: no fillers of unknown number, no weights that could not be read."""
        return self.total.exact

    def __repr__(self) -> str:
        total = self.total
        size = f"{'' if total.exact else '>= '}{exact(total.bytes)} B of {exact(total.dense_bytes)} B"
        return f"<Compression {printable(self.source or self.format)}: {size}, {len(self.layers)} layers>"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: dicts, lists, numbers and strings; a fraction that is not whole is the nearest float."""
        return {name: _plain(value) for name, value in zip(self._fields, self, strict=True)}


def compression(
    source: str,
    layers: Sequence[LayerSize],
    others: Others,
    *,
    tool: str,
    kind: str = "",
    plan: str | None = None,
    published: PublishedTotal | None = None,
    notes: Iterable[str] = (),
) -> Compression:
    """The record of a network whose layers are sized already."""
    rounding = Rounding() if published is None else published.rounding
    measured = any(layer.basis != "ratios" for layer in layers)
    return Compression(
        schema=SCHEMA,
        tool=tool,
        source=source,
        format=kind,
        values="weights" if measured else "ratios",
        plan=plan,
        layers=tuple(layers),
        others=others,
        total=_total(layers, others),
        comparisons=tuple(one for layer in layers for one in compared(layer, rounding)),
        compared_total=None if published is None else compared_total(layers, published, others.bits),
        convention=CONVENTION,
        notes=tuple(dict.fromkeys(notes)),
    )


def _total(layers: Sequence[LayerSize], others: Others) -> Total:
    weights = sum(layer.elements for layer in layers)
    kept = _sum(layer.kept for layer in layers)
    biases = sum(layer.biases for layer in layers)
    dense = sum(layer.dense_bits for layer in layers) + DENSE_BITS * others.elements
    before = _sum((*(layer.before_huffman_bits for layer in layers), others.bits))
    after = _sum((*(layer.bits for layer in layers), others.bits))
    expected = [layer.expected_fillers for layer in layers if layer.expected_fillers is not None]
    return Total(
        weights=weights,
        kept=kept,
        kept_share=Fraction(kept, weights) if weights else Fraction(1),
        pruned_ratio=Fraction(weights) / kept if kept else None,
        biases=biases,
        other_parameters=others.elements,
        other_bits=others.bits,
        fillers=_known_sum([layer.fillers for layer in layers]),
        expected_fillers=sum(expected) if expected else None,
        codebook_bits=sum(layer.codebook_bits for layer in layers),
        table_bits=sum(stream.table_bits for layer in layers for stream in _streams(layer)),
        bias_bits=_sum(layer.bias_bits for layer in layers),
        dense_bits=dense,
        dense_bytes=_bytes(dense),
        before_huffman_bits=before,
        before_huffman_bytes=_bytes(before),
        before_huffman_percent=percent(before, dense),
        before_huffman_ratio=_ratio(dense, before),
        entropy_bits=_entropy(layers, others),
        bits=after,
        bytes=_bytes(after),
        percent=percent(after, dense),
        ratio=_ratio(dense, after),
        bytes_with_expected_fillers=_with_expected(layers, others) if expected else None,
        exact=all(layer.exact for layer in layers) and not others.unsized,
    )


def _streams(layer: LayerSize) -> list[Any]:
    return [stream for stream in (layer.values, layer.indices) if stream is not None]


def _entropy(layers: Sequence[LayerSize], others: Others) -> float | None:
    """What the layers take at their entropies; fixed widths of what is not coded stay."""
    total = float(others.bits)
    for layer in layers:
        if layer.basis != "weights":
            return None
        total += float(layer.codebook_bits + layer.bias_bits)
        total += sum(float(s.fixed_bits) if s.entropy_bits is None else s.entropy_bits for s in _streams(layer))
    return total


def _with_expected(layers: Sequence[LayerSize], others: Others) -> int:
    known = [
        float(layer.bits) if layer.bits_with_expected_fillers is None else layer.bits_with_expected_fillers
        for layer in layers
    ]
    return round((sum(known) + float(others.bits)) / 8)


def _known_sum(amounts: Sequence[Amount | None]) -> Amount | None:
    return None if None in amounts else _sum(one for one in amounts if one is not None)


def _sum(amounts: Iterable[Amount]) -> Amount:
    total = sum(amounts, Fraction(0))
    return total.numerator if total.denominator == 1 else total


def _bytes(bits: Amount) -> int:
    return -(-bits // 8)


def _ratio(dense: int, bits: Amount) -> Fraction | None:
    return Fraction(dense) / bits if bits else None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        if fields is None:
            return [_plain(item) for item in value]
        return {name: _plain(item) for name, item in zip(fields, value, strict=True)}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, Fraction):
        return as_number(value)
    return value

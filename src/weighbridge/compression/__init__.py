"""What a model weighs compressed, as Deep Compression counts it: pruned, shared, coded.

Han, Mao and Dally, "Deep Compression", ICLR 2016: weights that pruning left are stored with the distance to the one before,
both in few bits; values are shared through a codebook; what remains is Huffman coded.

>>> from fractions import Fraction
>>> from weighbridge.compression import Rule, Weight, from_ratios
>>> fc8 = from_ratios(Weight("fc8", 4_096_000), Rule(keep=Fraction(1, 4), codebook_bits=5, index_bits=4))
>>> fc8.kept, fc8.before_huffman_bits
(1024000, 9217024)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weighbridge.compression.huffman import HuffmanCode, code_lengths, entropy_bits, huffman_code
    from weighbridge.compression.layer import (
        Histograms,
        LayerSize,
        Stream,
        Weight,
        from_histograms,
        from_ratios,
        unread,
    )
    from weighbridge.compression.published import ComparedTotal, Comparison, PublishedTotal, Rounding
    from weighbridge.compression.record import Compression, Others, Total, compression
    from weighbridge.compression.relative import expected_fillers, fillers
    from weighbridge.compression.rules import Published, Rule, TargetRule, rules_of

__all__ = [
    "ComparedTotal",
    "Comparison",
    "Compression",
    "Histograms",
    "HuffmanCode",
    "LayerSize",
    "Others",
    "Published",
    "PublishedTotal",
    "Rounding",
    "Rule",
    "Stream",
    "TargetRule",
    "Total",
    "Weight",
    "code_lengths",
    "compression",
    "entropy_bits",
    "expected_fillers",
    "fillers",
    "from_histograms",
    "from_ratios",
    "huffman_code",
    "rules_of",
    "unread",
]

# A module for every public name, imported when it is first used.
_HOMES = {
    **dict.fromkeys(("HuffmanCode", "code_lengths", "entropy_bits", "huffman_code"), "huffman"),
    **dict.fromkeys(
        ("Histograms", "LayerSize", "Stream", "Weight", "from_histograms", "from_ratios", "unread"), "layer"
    ),
    **dict.fromkeys(("ComparedTotal", "Comparison", "PublishedTotal", "Rounding"), "published"),
    **dict.fromkeys(("Compression", "Others", "Total", "compression"), "record"),
    **dict.fromkeys(("expected_fillers", "fillers"), "relative"),
    **dict.fromkeys(("Published", "Rule", "TargetRule", "rules_of"), "rules"),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

"""Relative indices: where the kept weights of a sparse tensor stand, each by the number of zeros in front of it.

An index of ``b`` bits counts 0 to ``2**b - 1`` zeros.  Where more stand in front of a weight, every ``2**b`` positions a filler
is stored: a weight of zero with the largest index.  (Deep Compression, section 2 and figure 2: steps of up to 8 with 3 bits;
Han et al., "EIE", ISCA 2016, section 3.2 has it in these words.)  Zeros behind the last weight take nothing, as the shape
says where the tensor ends.
"""

from __future__ import annotations

from fractions import Fraction
from math import expm1, fsum, log1p

__all__ = ["expected_fillers", "fillers"]

_SUMMED_TERMS = 4096


def fillers(zeros: int, index_bits: int) -> int:
    """The fillers that stand before a weight with so many ``zeros`` in front of it."""
    return zeros >> index_bits


def expected_fillers(elements: int, kept_share: Fraction, index_bits: int) -> float:
    """How many fillers a tensor is expected to take whose positions are kept independently, each with this chance: an estimate.

    A position is kept and has at least ``m * 2**b`` zeros in front of it with the chance ``p * (1 - p)**(m * 2**b)``, if it is so
    far from the start; the expected number is the sum of that over all positions and ``m = 1, 2 ...``.  Weights of real
    networks stand in clusters and take fewer.
    """
    chance = float(kept_share)
    if not 0 < chance < 1:
        return 0.0
    step = 1 << index_bits
    most = (elements - 1) // step
    exponent = step * log1p(-chance)
    if most <= _SUMMED_TERMS:
        return chance * fsum((elements - m * step) * _power(exponent * m) for m in range(1, most + 1))
    # sum(r**m) and sum(m * r**m) up to most, with r = (1 - chance)**step
    ratio, rest, last = _power(exponent), -expm1(exponent), _power(exponent * most)
    terms = ratio * -expm1(exponent * most) / rest
    weighted = (terms - most * ratio * last) / rest
    return chance * (elements * terms - step * weighted)


def _power(exponent: float) -> float:
    return expm1(exponent) + 1

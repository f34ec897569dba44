"""What is found in a weight's values: those kept, the zeros between them, the codebook that they share.

Weights are taken in row-major order.  The codebook is that of k-means in one dimension, as Deep Compression makes it: the first
centroids lie at equal distances from the least to the largest value, and each step moves them to the means of the values
that are nearest to them.  On sorted values with sums from the start, a step looks at its borders alone, so that it takes
no longer for many values than for few, and the result depends on nothing else.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

from weighbridge.compression.layer import DEFAULT_INDEX_BITS, Histograms
from weighbridge.compression.rules import Rule
from weighbridge.dtypes import DType
from weighbridge.named_tuple import NamedTuple

__all__ = ["Shared", "measured", "shared"]

Array = Any
"""A NumPy array."""

_MOST_STEPS: Final = 1000
_CODED_BITS: Final = 8
"""Integers up to so wide are symbols of a Huffman code as they are."""
_LARGE: Final = 1e140
"""Numbers whose squares, and sums of them, no float64 holds are scaled down first."""


class Shared(NamedTuple):
    """A codebook: its values, how many of the weights share each, and the squared error; whether the steps came to an end."""

    values: Array
    counts: Array
    squared_error: float
    converged: bool


class _Kept(NamedTuple):
    """The weights that are kept, their places in a sparse tensor (None in a dense one), and how many are no zeros."""

    values: Array
    nonzero: int
    gaps: Array | None


def measured(values: Array, dtype: DType, zero: int | None, rule: Rule) -> Histograms | str:
    """The histograms of a weight's ``values``, a one-dimensional array; or why there are none.

    ``zero`` is the value that stands for 0, None where that is not known; then the weight is dense.  It is pruned to the share
    that ``rule`` keeps, those of least magnitude first, of equal ones the last; without a share, zeros are left out where that
    takes fewer bits before Huffman coding.
    """
    if values.dtype.kind == "f" and (odd := values.size - int(np.isfinite(values).sum())):
        return f"{odd:,} of its values are no finite numbers"
    zero = _known_zero(dtype, zero)
    is_pruned = rule.keep is not None and rule.keep < 1
    if zero is None and is_pruned:
        return "which of its values stands for zero is not known, so it cannot be pruned"
    width = rule.codebook_bits or int(dtype.bits or 0)
    index_bits = rule.index_bits or DEFAULT_INDEX_BITS
    kept, wanted = _kept(values, zero, rule.keep if is_pruned else None)
    notes = []
    if is_pruned and kept.values.size < wanted:
        notes.append(f"{wanted:,} weights were to be kept, and {kept.nonzero:,} are not zero")
    fillers = 0 if kept.gaps is None else int((kept.gaps >> index_bits).sum())
    if not is_pruned:
        sparse_bits = (kept.nonzero + fillers) * (width + index_bits)
        if kept.gaps is None or sparse_bits >= values.size * width:
            kept, fillers = _Kept(values, kept.nonzero, None), 0
    index_counts = None
    if kept.gaps is not None:
        index_counts = np.bincount(kept.gaps & ((1 << index_bits) - 1), minlength=1 << index_bits)
        index_counts[-1] += fillers
    found = _values_of(kept.values, dtype, zero or 0, rule.codebook_bits, fillers)
    return Histograms(
        kept=kept.values.size,
        nonzero=kept.nonzero,
        value_counts=found.counts,
        codebook_bits=rule.codebook_bits,
        index_counts=None if index_counts is None else index_counts.tolist(),
        index_bits=None if index_counts is None else index_bits,
        fillers=fillers,
        squared_error=found.squared_error,
        relative_squared_error=found.relative,
        notes=(*notes, *found.notes),
    )


def _known_zero(dtype: DType, zero: int | None) -> int | None:
    """``zero``, if values of this type can have it; floating point has a zero of its own."""
    if dtype.kind not in ("int", "uint"):
        return 0
    bits = dtype.block_bits or 0
    low = -(1 << bits - 1) if dtype.kind == "int" else 0
    return zero if zero is not None and low <= zero < low + (1 << bits) else None


def _kept(values: Array, zero: int | None, keep: Fraction | None) -> tuple[_Kept, int]:
    """What pruning to ``keep`` leaves, and how many it was to leave; for None everything that is not zero."""
    if zero is None:
        return _Kept(values, values.size, None), values.size
    magnitudes = _magnitudes(values, zero)
    mask = magnitudes > 0
    nonzero = int(np.count_nonzero(mask))
    wanted = values.size
    if keep is not None:
        wanted = max(1, round(values.size * keep)) if values.size else 0
        if wanted < nonzero:
            mask = _largest(magnitudes, wanted)
    places = np.flatnonzero(mask)
    gaps = np.diff(places, prepend=-1) - 1
    return _Kept(values[places], nonzero, gaps), wanted


def _magnitudes(values: Array, zero: int) -> Array:
    if values.dtype.kind == "f":
        return np.abs(values)
    wide = np.int16 if values.dtype.itemsize == 1 else np.float64
    return np.abs(values.astype(wide) - zero)


def _largest(magnitudes: Array, wanted: int) -> Array:
    """Where the ``wanted`` largest are; of equal ones the first."""
    place = magnitudes.size - wanted
    least = np.partition(magnitudes, place)[place]
    mask = magnitudes > least
    missing = wanted - int(np.count_nonzero(mask))
    mask[np.flatnonzero(magnitudes == least)[:missing]] = True
    return mask


class _Values(NamedTuple):
    counts: list[int] | None
    squared_error: float | None = None
    relative: float | None = None
    notes: tuple[str, ...] = ()


def _values_of(values: Array, dtype: DType, zero: int, codebook_bits: int | None, fillers: int) -> _Values:
    """How often each value is stored: places in a codebook, of which the first is zero where there are fillers; or small integers."""
    if codebook_bits is None:
        bits = dtype.block_bits if dtype.block_length == 1 and dtype.kind in ("int", "uint") else None
        if bits is None or bits > _CODED_BITS:
            return _Values(None)
        lowest = -(1 << bits - 1) if dtype.kind == "int" else 0
        found = np.bincount(values.astype(np.int64) - lowest, minlength=1 << bits)
        found[zero - lowest] += fillers
        return _Values(found.tolist())
    entries = (1 << codebook_bits) - (1 if fillers else 0)
    book = shared(values, entries)
    with np.errstate(over="ignore"):
        squares = float(np.square(values, dtype=np.float64).sum())
    is_known = np.isfinite(book.squared_error) and np.isfinite(squares)
    relative = book.squared_error / squares if is_known and squares else None
    notes = () if book.converged else (f"the codebook still moves after {_MOST_STEPS:,} steps of k-means",)
    places = [*([fillers] if fillers else []), *book.counts.tolist()]
    return _Values(places, book.squared_error if is_known else None, relative, notes)


def shared(values: Array, entries: int) -> Shared:
    """The codebook of ``entries`` values that ``values``, a one-dimensional array of finite numbers, share by k-means.

    An entry that no value is nearest to stays where it is.
    """
    if not values.size:
        return Shared(np.zeros(entries), np.zeros(entries, np.int64), 0.0, converged=True)
    ordered = np.sort(values if values.dtype.kind == "f" else values.astype(np.float64))
    scale = float(max(abs(ordered[0]), abs(ordered[-1])))
    if scale > _LARGE:
        found = shared(ordered / scale, entries)
        with np.errstate(over="ignore", invalid="ignore"):
            return found._replace(
                values=found.values * scale, squared_error=float(np.square(scale) * found.squared_error)
            )
    sums = np.concatenate(([0.0], np.cumsum(ordered, dtype=np.float64)))
    centroids = np.linspace(float(ordered[0]), float(ordered[-1]), entries)
    bounds = _bounds(ordered, centroids)
    converged = False
    for _ in range(_MOST_STEPS):
        counts = np.diff(bounds)
        means = np.diff(sums[bounds]) / np.maximum(counts, 1)
        centroids = np.where(counts > 0, means, centroids)
        before, bounds = bounds, _bounds(ordered, centroids)
        if converged := bool((before == bounds).all()):
            break
    counts = np.diff(bounds)
    return Shared(centroids, counts, _squared_error(ordered, bounds, centroids), converged)


def _bounds(ordered: Array, centroids: Array) -> Array:
    """Where in the sorted values each centroid's own begin, and their number; one in the middle goes to the upper."""
    middles = (centroids[1:] + centroids[:-1]) / 2
    borders = middles.astype(ordered.dtype)
    # the least number of this type that is not below the middle, or rounding would move a border
    borders = np.where(borders < middles, np.nextafter(borders, np.inf, dtype=ordered.dtype), borders)
    return np.concatenate(([0], np.searchsorted(ordered, borders), [ordered.size]))


def _squared_error(ordered: Array, bounds: Array, centroids: Array) -> float:
    """The sum of squared distances, one entry of the codebook after the other."""
    total = 0.0
    for start, stop, centroid in zip(bounds[:-1], bounds[1:], centroids, strict=True):
        rest = ordered[start:stop].astype(np.float64) - centroid
        total += float(np.dot(rest, rest))
    return total

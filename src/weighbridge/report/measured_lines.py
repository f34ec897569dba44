"""How the samples of a measurement are spread, drawn in characters: each is in it, and those that lie far out are marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.measure.record import Measurement
from weighbridge.report.measured_words import time
from weighbridge.report.spans import Line, Span, Style
from weighbridge.units import exact

__all__ = ["spread_lines"]

_BINS: Final = 8
_MARGIN: Final = 34
"""Cells of what stands beside a bar."""


def spread_lines(name: str, one: Measurement, width: int, unicode: bool) -> Iterator[Line]:
    """A bar for each stretch of time, as long as it has samples; the last one is of all that lie beyond the fence."""
    inside = [sample for sample in one.samples_s if sample <= one.summary.fence_s]
    outside = [sample for sample in one.samples_s if sample > one.summary.fence_s]
    low, high = min(inside), max(inside)
    bins = _BINS if high > low else 1
    step = (high - low) / bins
    counts = [0] * bins
    for sample in inside:
        counts[min(bins - 1, int((sample - low) / step)) if step else 0] += 1
    longest, room = max(*counts, len(outside), 1), max(8, width - _MARGIN)
    yield Line((Span(f"the {exact(len(one.samples_s))} samples of {name}", Style.STRONG),))
    full = "█" if unicode else "#"

    def bar(count: int) -> str:
        return full * max(count > 0, round(room * count / longest))

    for place, count in enumerate(counts):
        span = f"{time(low + place * step)} to {time(low + (place + 1) * step)}"
        yield Line((Span(f"{span:>24} {exact(count):>7} ", Style.QUIET), Span(bar(count), Style.PLAIN)))
    if outside:
        span = f"beyond, to {time(max(outside))}"
        yield Line((Span(f"{span:>24} {exact(len(outside)):>7} ", Style.QUIET), Span(bar(len(outside)), Style.WARNING)))

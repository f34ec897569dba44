"""The plan of an arena drawn with characters: steps from left to right, offsets from the bottom to the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from weighbridge.report.page import SCRATCH_MARK, ArenaMap, Piece
from weighbridge.report.spans import Line, Span, Style, wrap
from weighbridge.report.stepped import amount, axis_lines, characters, gutter_of, left_of, peak_line, steps_in
from weighbridge.units import exact

__all__ = ["map_lines"]

_BANDS: Final = 20
_LABELLED: Final = 4
"""Every so many bands the offset at which one begins stands beside it."""


def map_lines(drawn: ArenaMap, width: int, unicode: bool) -> Iterator[Line]:
    """The map in at most ``width`` cells and some 25 lines; a column is the fullest step of those it stands for."""
    yield from wrap(drawn.title, width, Style.STRONG, hanging=2)
    if not drawn.steps or not drawn.bytes:
        yield Line.of(("  nothing is alive at any step", Style.QUIET))
        return
    look = characters(unicode)
    gutter = gutter_of(drawn.bytes)
    steps, bands = steps_in(drawn.steps, width - gutter - 1), min(_BANDS, -(-drawn.bytes // 16))
    columns = [_column(drawn, steps.of(place), bands) for place in range(len(steps.starts))]
    yield left_of(amount(drawn.bytes), gutter, look.mark)
    for band in reversed(range(bands)):
        is_labelled = band and band % _LABELLED == 0
        begin = amount(drawn.bytes * band // bands) if is_labelled else ""
        yield Line(
            (*left_of(begin, gutter, look.mark if is_labelled else look.side), *_cells(columns, band, steps.width))
        )
    yield from axis_lines(steps, gutter, look)
    if drawn.peak is not None:
        yield peak_line(steps, gutter, look, drawn.peak, f"peak, step {exact(drawn.peak)}", width)
    yield from wrap(drawn.key, width, Style.QUIET, indent=2, hanging=2)


def _column(drawn: ArenaMap, steps: range, bands: int) -> list[str]:
    """A mark for every band, from the bottom; of several steps that of the peak is drawn, or the one that reaches highest."""
    pieces = [piece for piece in drawn.pieces if piece.first < steps.stop and piece.last >= steps.start]
    if drawn.peak is not None and drawn.peak in steps:
        step = drawn.peak
    else:
        highest = max(pieces, key=lambda piece: piece.end, default=None)
        step = steps.start if highest is None else max(steps.start, highest.first)
    return _bands([piece for piece in pieces if piece.first <= step <= piece.last], drawn.bytes, bands)


def _bands(alive: Sequence[Piece], whole: int, count: int) -> list[str]:
    """What takes most of each band; a dot where it is free below something, a space above everything."""
    marks, most = [" "] * count, [0] * count
    top = max((piece.end for piece in alive), default=0)
    for band in range(count):
        if whole * band // count < top:
            marks[band] = "·"
    for piece in alive:
        first, last = piece.begin * count // whole, -(-piece.end * count // whole)
        for band in range(max(0, first), min(count, last)):
            taken = min(piece.end, whole * (band + 1) // count) - max(piece.begin, whole * band // count)
            if taken > most[band]:
                marks[band], most[band] = piece.mark, taken
    return marks


def _cells(columns: Sequence[Sequence[str]], band: int, step: int) -> Iterator[Span]:
    """The band of all columns, as spans of one style each."""
    for style, marks in groupby((column[band] for column in columns), key=_style):
        yield Span("".join(mark * step for mark in marks), style)


def _style(mark: str) -> Style:
    if mark == SCRATCH_MARK:
        return Style.WARNING
    if mark.isupper():
        return Style.PEAK
    return Style.MEMORY if mark.isalpha() else Style.QUIET

"""The plan of an arena drawn with characters: steps from left to right, offsets from the bottom to the top."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.page import SCRATCH_MARK, ArenaMap, Piece
from weighbridge.report.spans import Line, Span, Style, pad, wrap
from weighbridge.units import exact

__all__ = ["map_lines"]

_BANDS: Final = 20
_LABELLED: Final = 4
"""Every so many bands the offset at which one begins stands beside it."""
_WIDEST_STEP: Final = 6
_TICK: Final = 10
"""At least so many cells from one numbered step to the next."""
_MOST_DIGITS: Final = 20


class _Frame(NamedTuple):
    """How steps and offsets become cells: ``starts`` are the first steps of columns, each ``step`` cells wide."""

    starts: Sequence[int]
    step: int
    bands: int


class _Characters(NamedTuple):
    side: str
    mark: str
    corner: str
    floor: str
    tick: str
    peak: str


_UNICODE: Final = _Characters("│", "┤", "└", "─", "┬", "▲")
_ASCII: Final = _Characters("|", "+", "+", "-", "+", "^")


def map_lines(drawn: ArenaMap, width: int, unicode: bool) -> Iterator[Line]:
    """The map in at most ``width`` cells and some 25 lines; a column is the fullest step of those it stands for."""
    yield from wrap(drawn.title, width, Style.STRONG, hanging=2)
    if not drawn.steps or not drawn.bytes:
        yield Line.of(("  nothing is alive at any step", Style.QUIET))
        return
    look = _UNICODE if unicode else _ASCII
    gutter = min(len(exact(drawn.bytes)), _MOST_DIGITS) + 1
    frame = _frame(drawn, width - gutter - 1)
    columns = [_column(drawn, frame, place) for place in range(len(frame.starts))]
    yield _label(_offset(drawn.bytes), gutter, look.mark)
    for band in reversed(range(frame.bands)):
        is_labelled = band and band % _LABELLED == 0
        begin = _offset(drawn.bytes * band // frame.bands) if is_labelled else ""
        yield Line(
            (*_label(begin, gutter, look.mark if is_labelled else look.side), *_cells(columns, band, frame.step))
        )
    yield from _axis(drawn, frame, gutter, look)
    yield from wrap(drawn.key, width, Style.QUIET, indent=2, hanging=2)


def _offset(offset: int) -> str:
    text = exact(offset)
    return text if len(text) <= _MOST_DIGITS else "?"


def _label(text: str, gutter: int, side: str) -> Line:
    return Line.of((f"{pad(text, -(gutter - 1))} {side}", Style.QUIET))


def _frame(drawn: ArenaMap, room: int) -> _Frame:
    together = -(-drawn.steps // room)
    starts = range(0, drawn.steps, together)
    return _Frame(starts, max(1, min(_WIDEST_STEP, room // len(starts))), min(_BANDS, -(-drawn.bytes // 16)))


def _column(drawn: ArenaMap, frame: _Frame, place: int) -> list[str]:
    """A mark for every band, from the bottom; of several steps that of the peak is drawn, or the one that reaches highest."""
    begin = frame.starts[place]
    end = frame.starts[place + 1] if place + 1 < len(frame.starts) else drawn.steps
    pieces = [piece for piece in drawn.pieces if piece.first < end and piece.last >= begin]
    if drawn.peak is not None and begin <= drawn.peak < end:
        step = drawn.peak
    else:
        highest = max(pieces, key=lambda piece: piece.end, default=None)
        step = begin if highest is None else max(begin, highest.first)
    return _bands([piece for piece in pieces if piece.first <= step <= piece.last], drawn.bytes, frame.bands)


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


def _axis(drawn: ArenaMap, frame: _Frame, gutter: int, look: _Characters) -> Iterator[Line]:
    """The floor of the map with ticks, the numbers of their steps, and the step of the peak."""
    apart = -(-_TICK // frame.step)
    floor, numbers = "", ""
    for place, step in enumerate(frame.starts):
        is_tick = place % apart == 0
        floor += (look.tick if is_tick else look.floor) + look.floor * (frame.step - 1)
        if is_tick and place * frame.step + len(exact(step)) <= len(frame.starts) * frame.step:
            numbers = numbers.ljust(place * frame.step) + exact(step)
    yield Line.of((pad("0", -(gutter - 1)) + f" {look.corner}{floor}", Style.QUIET))
    yield Line.of((" " * (gutter + 1) + numbers, Style.QUIET))
    if drawn.peak is not None:
        column = bisect_right(frame.starts, drawn.peak) - 1
        text, at = f"peak, step {exact(drawn.peak)}", column * frame.step
        if at + len(text) + 2 <= len(floor) or at < len(text) + 1:
            shown = " " * at + f"{look.peak} {text}"
        else:
            shown = " " * (at - len(text) - 1) + f"{text} {look.peak}"
        yield Line.of((" " * (gutter + 1) + shown, Style.PEAK))

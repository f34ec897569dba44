"""What is alive over time drawn with characters: layers from left to right, bytes from the bottom to the top, one way of running below
the other on one scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.alive_map import AliveMap, Curve
from weighbridge.report.spans import Line, Span, Style, level, wrap
from weighbridge.report.stepped import (
    Characters,
    Steps,
    amount,
    axis_lines,
    characters,
    gutter_of,
    left_of,
    peak_line,
    steps_in,
)
from weighbridge.units import exact

__all__ = ["alive_lines"]

_BANDS: Final = 7
"""Lines that the scale is high."""
_PARTS: Final = 8
"""Of a line: so many heights of a bar can be told apart in it."""


class _Own(NamedTuple):
    """Characters for a full cell, a level, and what is marked."""

    full: str
    level: str
    mark: str


_UNICODE: Final = _Own("█", "┄", "•")
_ASCII: Final = _Own("#", "~", "o")


class _Scale(NamedTuple):
    """How steps and bytes become cells."""

    steps: Steps
    gutter: int
    width: int
    top: int
    look: Characters
    own: _Own
    unicode: bool

    def parts(self, size: int) -> int:
        """The height of a bar in eighths of a line; what is not nothing has one at least."""
        return max(1, round(size * _BANDS * _PARTS / self.top)) if size else 0

    def band(self, size: int) -> int:
        """The line in which a bar of this size ends."""
        return max(0, -(-self.parts(size) // _PARTS) - 1)


def alive_lines(drawn: AliveMap, width: int, unicode: bool) -> Iterator[Line]:
    """The map in at most ``width`` cells, of which it takes 40 in any case; a column is the fullest layer of those it stands for."""
    yield from wrap(drawn.title, width, Style.STRONG, hanging=2)
    top, own = drawn.top_bytes, _UNICODE if unicode else _ASCII
    if not top:
        yield Line.of(("  nothing is known to be alive", Style.QUIET))
        return
    gutter, count = gutter_of(top), max(len(one.sizes) for one in drawn.curves)
    steps = steps_in(count, width - gutter - 1)
    scale = _Scale(steps, gutter, width, top, characters(unicode), own, unicode)
    for curve in drawn.curves:
        yield from wrap(curve.said, width, Style.PLAIN, hanging=2)
        yield from _curve(curve, drawn, scale)
    yield from wrap(_key(drawn, scale), width, Style.QUIET, indent=2, hanging=2)


def _curve(curve: Curve, drawn: AliveMap, scale: _Scale) -> Iterator[Line]:
    steps, look = scale.steps, scale.look
    columns = [_column(curve, steps.of(place), scale) for place in range(len(steps.starts))]
    peak = None if curve.peak is None else steps.column_of(curve.peak)
    levels = {scale.band(size): size for size in sorted(drawn.levels_by_size) if size <= scale.top}
    for band in reversed(range(_BANDS)):
        at = levels.get(band, scale.top if band == _BANDS - 1 else None)
        cells = [column[band] for column in columns]
        if band in levels:
            cells = [scale.own.level if cell == " " else cell for cell in cells]
        left = left_of("" if at is None else amount(at), scale.gutter, look.side if at is None else look.mark)
        yield Line((*left, *_spans(cells, peak, scale)))
    floor, numbers = axis_lines(steps, scale.gutter, look, first=1)
    yield floor
    if curve.marked:
        marks = "".join(_mark(curve, steps.of(place), scale) for place in range(len(steps.starts)))
        yield Line.of((" " * (scale.gutter + 1) + marks, Style.MACS))
    yield numbers
    if curve.peak is not None:
        yield peak_line(steps, scale.gutter, look, curve.peak, f"peak, layer {exact(curve.peak + 1)}", scale.width)


def _column(curve: Curve, steps: range, scale: _Scale) -> list[str]:
    """A cell for every band, from the bottom."""
    sizes = curve.sizes[steps.start : steps.stop]
    known = [size for size in sizes if size is not None]
    if not known:
        return ["?" if sizes else " ", *[" "] * (_BANDS - 1)]
    parts = scale.parts(max(known))
    whole, rest = divmod(parts, _PARTS)
    cells = [scale.own.full] * whole
    if rest:
        cells.append(level((rest - 0.5) / _PARTS, scale.unicode))
    return [*cells, *[" "] * (_BANDS - len(cells))]


def _spans(cells: list[str], peak: int | None, scale: _Scale) -> Iterator[Span]:
    """The band of all columns, as spans of one style each."""
    styled = [(_style(cell, place == peak, scale), cell) for place, cell in enumerate(cells)]
    for style, run in groupby(styled, key=lambda one: one[0]):
        yield Span("".join(cell * scale.steps.width for _, cell in run), style)


def _style(cell: str, is_peak: bool, scale: _Scale) -> Style:
    if cell in (scale.own.level, " "):
        return Style.WARNING
    return Style.PEAK if is_peak else Style.MEMORY


def _mark(curve: Curve, steps: range, scale: _Scale) -> str:
    return (" " if curve.marked.isdisjoint(steps) else scale.own.mark) * scale.steps.width


def _key(drawn: AliveMap, scale: _Scale) -> str:
    parts = [f"{scale.own.mark}: {drawn.means}"] if any(one.marked for one in drawn.curves) else []
    for size, names in drawn.levels_by_size.items():
        parts.append(f"{scale.own.level if size <= scale.top else 'beyond the drawing'}: {exact(size)} B, {names}")
    together = scale.steps.together
    if len(scale.steps.starts) < scale.steps.total:
        parts.append(f"each column shows the fullest of {exact(together)} layers")
    return "; ".join(parts) or "a column a layer"

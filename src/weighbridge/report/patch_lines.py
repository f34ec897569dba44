"""An input of a network with the patches on it, drawn with characters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Span
from weighbridge.report.patch_map import PatchMap, counted, place_of
from weighbridge.report.spans import Line, Style, pad, wrap
from weighbridge.report.spans import Span as Text
from weighbridge.report.stepped import amount, characters, gutter_of, left_of
from weighbridge.units import exact

__all__ = ["patch_lines"]

_MOST_ROWS: Final = 16
_MANY: Final = 10
"""From so many patches on they have one sign."""
_STRONG: Final = 4


class _Box(NamedTuple):
    """Characters for a box: its upper corners, its lower corners, and its sides."""

    upper: str
    lower: str
    flat: str
    upright: str


_UNICODE: Final = _Box("┏┓", "┗┛", "━", "┃")
_ASCII: Final = _Box("##", "##", "#", "#")


def patch_lines(drawn: PatchMap, width: int, unicode: bool) -> Iterator[Line]:
    """The map in at most ``width`` cells, of which it takes 40 in any case, and some 20 lines.

    A cell says how many patches read what it stands for, of its places the one that most read.
    """
    yield from wrap(drawn.title, width, Style.STRONG, hanging=2)
    yield from wrap(drawn.said, width, Style.PLAIN, hanging=2)
    look, gutter = characters(unicode), gutter_of(drawn.rows)
    down, across = _size(drawn, width - gutter - 1)
    cells = _cells(drawn, down, across, unicode)
    box = _boxed(drawn, cells, _UNICODE if unicode else _ASCII)
    starts = {start * down // drawn.rows: start for start in reversed(drawn.lines[0])}
    for row, line in enumerate(cells):
        is_start = row in starts
        left = left_of(amount(starts[row]) if is_start else "", gutter, look.mark if is_start else look.side)
        yield Line((*left, *_spans(line, [(row, column) in box for column in range(across)])))
    floor, numbers = list(look.floor * across), ""
    for start in drawn.lines[1]:
        at = start * across // drawn.columns
        floor[at] = look.tick
        if at >= len(numbers) + bool(numbers) and at + len(exact(start)) <= across:
            numbers = numbers.ljust(at) + exact(start)
    yield Line.of((f"{pad('', -(gutter - 1))} {look.corner}{''.join(floor)}", Style.QUIET))
    yield Line.of((" " * (gutter + 1) + numbers, Style.QUIET))
    yield from wrap(_key(drawn, cells, box, unicode), width, Style.QUIET, indent=2, hanging=2)


def _size(drawn: PatchMap, room: int) -> tuple[int, int]:
    """Lines and cells: a cell is twice as high as wide; each patch has some, where there is room."""
    down = min(_MOST_ROWS, drawn.rows)
    across = round(2 * down * drawn.columns / drawn.rows)
    if across > room:
        down, across = max(1, round(room * drawn.rows / (2 * drawn.columns))), room
    down = max(down, min(_MOST_ROWS, drawn.rows, 2 * drawn.grid.rows))
    return down, max(across, min(room, drawn.columns, 4 * drawn.grid.columns), 1)


def _cells(drawn: PatchMap, down: int, across: int, unicode: bool) -> list[list[str]]:
    found = counted(drawn)
    rows = [_part(place, down, drawn.rows) for place in range(down)]
    columns = [_part(place, across, drawn.columns) for place in range(across)]
    return [[_sign(found.most(row, column), unicode) for column in columns] for row in rows]


def _part(place: int, cells: int, size: int) -> Span:
    """What a cell stands for: at least one place."""
    start = place * size // cells
    return Span(start, max(start + 1, (place + 1) * size // cells))


def _sign(times: int, unicode: bool) -> str:
    if times < 2:
        return (" ", "·" if unicode else ".")[times]
    return str(times) if times < _MANY else "+"


def _boxed(drawn: PatchMap, cells: list[list[str]], look: _Box) -> set[tuple[int, int]]:
    """Draw the box of the largest patch over ``cells``; which ones that are."""
    if drawn.largest is None or not all(one.size for one in drawn.boxes[drawn.largest]):
        return set()
    down, across = drawn.boxes[drawn.largest]
    top, bottom = (edge * len(cells) // drawn.rows for edge in (down.start, down.stop - 1))
    left, right = (edge * len(cells[0]) // drawn.columns for edge in (across.start, across.stop - 1))
    found = {}
    for column in range(left, right + 1):
        found[top, column] = found[bottom, column] = look.flat
    for row in range(top, bottom + 1):
        found[row, left] = found[row, right] = look.upright
    found |= {(bottom, left): look.lower[0], (bottom, right): look.lower[1]}
    found |= {(top, left): look.upper[0], (top, right): look.upper[1]}
    for (row, column), sign in found.items():
        cells[row][column] = sign
    return set(found)


def _spans(line: list[str], is_box: list[bool]) -> Iterator[Text]:
    styled = [(_style(sign, inside), sign) for sign, inside in zip(line, is_box, strict=True)]
    for style, run in groupby(styled, key=lambda one: one[0]):
        yield Text("".join(sign for _, sign in run), style)


def _style(sign: str, is_box: bool) -> Style:
    if is_box:
        return Style.PEAK
    if sign in " ·.":
        return Style.QUIET
    return Style.WARNING if sign == "+" or int(sign) >= _STRONG else Style.MACS


def _key(drawn: PatchMap, cells: list[list[str]], box: set[tuple[int, int]], unicode: bool) -> str:
    """What the signs that there are stand for."""
    signs = {sign for row, line in enumerate(cells) for column, sign in enumerate(line) if (row, column) not in box}
    digits = sorted(signs & set("23456789"))
    one = _sign(1, unicode)
    parts = [f"{one}: read by one patch"] if one in signs else []
    if digits:
        parts.append(f"{digits[0]}{f' to {digits[-1]}' if len(digits) > 1 else ''}: by so many")
    parts += ["+: by ten or more"] * ("+" in signs) + ["blank: by none"] * (" " in signs)
    if box and drawn.largest is not None:
        down, across = drawn.boxes[drawn.largest]
        sides = f"{exact(down.size)} x {exact(across.size)}"
        parts.append(f"the box: the {sides} that the largest patch reads, {place_of(drawn.largest, drawn.grid)}")
    return "; ".join(parts)

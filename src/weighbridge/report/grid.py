"""A small table of words: what it is, and how it is set on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weighbridge.report.spans import Line, Span, Style, cells, fit, wrap

__all__ = ["Column", "Grid", "GridRow", "grid_lines"]

_GAP = 2
_WIDEST = 44
_NARROWEST = 12
_COLOURS = {"fits": Style.GOOD, "does not fit": Style.BAD, "unknown": Style.WARNING}


class Column(NamedTuple):
    """A title, numbers to the right; where there is no room the columns of the highest ``rank`` go first, those of 0 never."""

    title: str
    is_number: bool = False
    rank: int = 0


class GridRow(NamedTuple):
    """A cell for each column; ``verdict`` ("fits", "does not fit", "unknown") says how the row is to be looked at."""

    cells: tuple[str, ...]
    verdict: str = ""


class Grid(NamedTuple):
    """A titled table; ``notes`` stand below it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[GridRow, ...]
    notes: tuple[str, ...] = ()


def grid_lines(grid: Grid, width: int, indent: int = 0) -> Iterator[Line]:
    """The table as lines of at most ``width`` cells; what is left out for want of room is said below it."""
    yield from wrap(grid.title, width, Style.STRONG, indent=indent, hanging=2)
    shown, widths = _fitting(grid, width - indent)
    titles = [grid.columns[place] for place in shown]
    yield _line([column.title for column in titles], titles, widths, indent, Style.QUIET)
    for row in grid.rows:
        style = _COLOURS.get(row.verdict, Style.PLAIN)
        yield _line([row.cells[place] for place in shown], titles, widths, indent, style)
    hidden = [
        column.title for place, column in enumerate(grid.columns) if place not in shown and _says_something(grid, place)
    ]
    if hidden:
        yield from wrap(f"a wider terminal also shows: {', '.join(hidden)}", width, Style.QUIET, indent=indent)
    for note in grid.notes:
        yield from wrap(note, width, Style.QUIET, indent=indent, hanging=2)


def _fitting(grid: Grid, width: int) -> tuple[list[int], list[int]]:
    """The columns that there is room for, and their widths; text gives way before a column that never goes is lost."""
    sizes = [
        min(_WIDEST, max(cells(text) for text in (column.title, *(row.cells[place] for row in grid.rows))))
        for place, column in enumerate(grid.columns)
    ]
    shown = [place for place, column in enumerate(grid.columns) if not column.rank or _says_something(grid, place)]
    while _total(sizes, shown) > width:
        last = max(shown, key=lambda place: (grid.columns[place].rank, place))
        if not grid.columns[last].rank:
            break
        shown.remove(last)
    for place in sorted(shown, key=lambda place: -sizes[place]):
        over = _total(sizes, shown) - width
        if over <= 0:
            break
        if not grid.columns[place].is_number:
            sizes[place] = max(_NARROWEST, sizes[place] - over)
    return shown, [sizes[place] for place in shown]


def _says_something(grid: Grid, place: int) -> bool:
    return any(row.cells[place] for row in grid.rows)


def _total(sizes: Sequence[int], shown: Sequence[int]) -> int:
    return sum(sizes[place] for place in shown) + _GAP * (len(shown) - 1)


def _line(texts: Sequence[str], columns: Sequence[Column], widths: Sequence[int], indent: int, style: Style) -> Line:
    parts = [
        fit(text, -width if column.is_number else width)
        for text, column, width in zip(texts, columns, widths, strict=True)
    ]
    return Line((Span(" " * indent + (" " * _GAP).join(parts).rstrip(), style),))

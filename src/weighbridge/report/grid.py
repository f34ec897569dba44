"""A small table of words: what it is, and how it is set on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.spans import Line, Span, Style, cells, fit, wrap

__all__ = ["Column", "Grid", "GridRow", "grid_lines", "trimmed"]

_GAP = 2
_WIDEST = 44
_NARROWEST = 12
_NAMED = 8
_COLOURS = {"fits": Style.GOOD, "does not fit": Style.BAD, "unknown": Style.WARNING}


class Column(NamedTuple):
    """A title, numbers to the right; where there is no room the columns of the highest ``rank`` go first.

    Those of 0 go only where they would not fit though all text is cut short; the first column always stays.
    """

    title: str
    is_number: bool = False
    rank: int = 0


class GridRow(NamedTuple):
    """A cell for each column; ``verdict`` ("fits", "does not fit", "unknown") says how the row is to be looked at.

    ``place`` is that of the node which the row is of, None where it is of none.
    """

    cells: tuple[str, ...]
    verdict: str = ""
    place: int | None = None


class Grid(NamedTuple):
    """A titled table; ``notes`` stand below it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[GridRow, ...]
    notes: tuple[str, ...] = ()


def trimmed(grid: Grid) -> Grid:
    """The table without the columns that may go and say nothing in any row."""
    shown = [place for place, column in enumerate(grid.columns) if not column.rank or _says_something(grid, place)]
    rows = tuple(row._replace(cells=tuple(row.cells[place] for place in shown)) for row in grid.rows)
    return grid._replace(columns=tuple(grid.columns[place] for place in shown), rows=rows)


def grid_lines(grid: Grid, width: int, indent: int = 0) -> Iterator[Line]:
    """The table as lines of at most ``width`` cells; what is left out for want of room is said below it.

    One without rows is its title and notes.
    """
    yield from wrap(grid.title, width, Style.STRONG, indent=indent, hanging=2)
    shown, widths = _fitting(grid, width - indent)
    titles = [grid.columns[place] for place in shown]
    if grid.rows:
        yield _line([column.title for column in titles], titles, widths, indent, Style.QUIET)
    for row in grid.rows:
        style = _COLOURS.get(row.verdict, Style.PLAIN)
        yield _line([row.cells[place] for place in shown], titles, widths, indent, style)
    hidden = [place for place in range(len(grid.columns)) if place not in shown and _says_something(grid, place)]
    if hidden:
        yield from wrap(_left_out([grid.columns[place] for place in hidden]), width, Style.QUIET, indent=indent)
    for note in grid.notes:
        yield from wrap(note, width, Style.QUIET, indent=indent, hanging=2)


def _fitting(grid: Grid, width: int) -> tuple[list[int], list[int]]:
    """The columns that there is room for, and their widths; text is cut short, a number never."""
    sizes = [
        max(cells(text) for text in (column.title, *(row.cells[place] for row in grid.rows)))
        for place, column in enumerate(grid.columns)
    ]
    is_text = [not column.is_number for column in grid.columns]
    whole = sizes
    sizes = [min(_WIDEST, size) if text else size for size, text in zip(sizes, is_text, strict=True)]
    shortest = [min(_NARROWEST, size) if text else size for size, text in zip(sizes, is_text, strict=True)]
    shown = [place for place, column in enumerate(grid.columns) if not column.rank or _says_something(grid, place)]
    while _total(sizes, shown) > width and (last := _last(grid, shown, lowest_rank=1)):
        shown.remove(last)
    while _total(shortest, shown) > width and (last := _last(grid, shown, lowest_rank=0)):
        shown.remove(last)
    for place in sorted(shown, key=lambda place: -sizes[place]):
        over = _total(sizes, shown) - width
        if over > 0 and is_text[place]:
            sizes[place] = max(shortest[place], sizes[place] - over)
    for place in shown:
        sizes[place] = min(whole[place], sizes[place] + max(0, width - _total(sizes, shown)))
    return shown, [min(sizes[place], width) for place in shown]


def _last(grid: Grid, shown: Sequence[int], lowest_rank: int) -> int:
    """The column that goes first: of the highest rank a number before text, and the one on the right; 0 if none may go."""
    may_go = (place for place in shown if place and grid.columns[place].rank >= lowest_rank)
    return max(may_go, key=lambda place: (grid.columns[place].rank, grid.columns[place].is_number, place), default=0)


def _left_out(columns: Sequence[Column]) -> str:
    """What a wider terminal shows; where even what should never go went, only other formats may have room for it."""
    titles = [column.title for column in columns]
    more = f" and {len(titles) - _NAMED} more" if len(titles) > _NAMED else ""
    named = f"{', '.join(titles[:_NAMED])}{more}"
    if all(column.rank for column in columns):
        return f"a wider terminal also shows: {named}"
    return f"no room for: {named}; a wider terminal shows more, the JSON everything"


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

"""The module tree of a page as columns: as many as the width has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.page import Page, Quantity, Row
from weighbridge.report.spans import Line, Span, Style, bar, cells, fit, wrap

__all__ = ["tree_lines"]

_GAP = "  "
_INDENT = 2
_NAME = 20
_WIDEST_OPERATOR = 20


class _Layout(NamedTuple):
    """What a line shows beside the names, parameters and MACs; ``output`` and ``bars`` are widths in cells at most."""

    is_full: bool = False
    operator: bool = False
    output: int = 0
    percent: bool = False
    bars: int = 0
    alive: bool = False
    mark: bool = True


# From the richest to the barest: the first one that leaves room for the names is taken.
_LAYOUTS = (
    _Layout(is_full=True, operator=True, output=18, percent=True, bars=8, alive=True),
    _Layout(operator=True, output=18, percent=True, bars=6, alive=True),
    _Layout(output=18, percent=True, bars=6, alive=True),
    _Layout(output=14, bars=6, alive=True),
    _Layout(output=11, bars=5, alive=True),
    _Layout(bars=6, alive=True),
    _Layout(bars=4, alive=True),
    _Layout(percent=True, bars=4),
    _Layout(bars=4),
    _Layout(),
    _Layout(mark=False),
)


class _Column(NamedTuple):
    """A title, its width in cells (negative: aligned to the right), and the span of a row in it."""

    title: str
    width: int
    cell: Callable[[Row], Span]


def tree_lines(page: Page, width: int, unicode: bool) -> Iterator[Line]:
    """The header, the rows, the total, and what is left out."""
    rows = (*page.rows, page.total)
    columns = _columns(rows, page.parameters_title, width, unicode)
    yield _line(columns, lambda column: Span(column.title, Style.QUIET))
    for row in page.rows:
        yield _line(columns, lambda column, row=row: column.cell(row))  # type: ignore[misc]
    yield _line(
        columns, lambda column: Span(("─" if unicode else "-") * abs(column.width) if column.title else "", Style.QUIET)
    )
    yield _line(columns, lambda column: column.cell(page.total))
    notes = [page.of_alive()] if any(column.title == "alive" for column in columns) else []
    for note in (*notes, page.rows_note):
        if note:
            yield from wrap(note, width, Style.QUIET)


def _line(columns: list[_Column], cell: Callable[[_Column], Span]) -> Line:
    spans = []
    for column in columns:
        span = cell(column)
        spans.append(Span(fit(span.text, column.width), span.style))
        spans.append(Span(_GAP if column.title else " "))
    return Line(spans)


def _columns(rows: tuple[Row, ...], parameters: str, width: int, unicode: bool) -> list[_Column]:
    needed = max(cells(row.label) + _INDENT * row.depth for row in rows)
    for layout in _LAYOUTS:
        columns = list(_beside_names(rows, parameters, layout, unicode))
        left = width - sum(abs(column.width) + (len(_GAP) if column.title else 1) for column in columns)
        if left >= min(needed, _NAME) + len(_GAP):
            break
    return [_Column("layer", max(5, min(needed, left - len(_GAP))), _label), *columns]


def _beside_names(rows: tuple[Row, ...], parameters: str, layout: _Layout, unicode: bool) -> Iterator[_Column]:
    if layout.operator:
        size = _width("operator", rows, _WIDEST_OPERATOR, lambda row: row.operator)
        yield _Column("operator", size, lambda row: Span(row.operator, Style.QUIET))
    if layout.output:
        size = _width("output", rows, layout.output, lambda row: row.output)
        yield _Column("output", size, lambda row: Span(row.output, Style.QUIET))
    yield from _counted(parameters, lambda row: row.parameters, rows, layout, (Style.PARAMETERS, unicode))
    yield from _counted("MACs", lambda row: row.macs, rows, layout, (Style.MACS, unicode))
    if layout.alive:
        size = _width("alive", rows, _NAME, lambda row: row.alive.short)
        yield _Column("alive", -size, lambda row: Span(row.alive.short, Style.PEAK if row.is_peak else Style.PLAIN))
    if layout.mark:
        mark = f"{'◀' if unicode else '<'} peak"
        yield _Column("", len(mark), lambda row: Span(mark if row.is_peak else "", Style.PEAK))


def _width(title: str, rows: tuple[Row, ...], widest: int, of: Callable[[Row], str]) -> int:
    return max(len(title), min(widest, max(cells(of(row)) for row in rows)))


def _counted(
    title: str, of: Callable[[Row], Quantity], rows: tuple[Row, ...], layout: _Layout, look: tuple[Style, bool]
) -> Iterator[_Column]:
    """A number, its share of the whole, and the share as a bar; in full where there is room, short where not."""
    size = max(cells(of(row).full if layout.is_full else of(row).short) for row in rows)
    yield _Column(title, -max(size, len(title)), lambda row: _number(of(row), row, layout.is_full))
    if layout.percent:
        yield _Column("", -6, lambda row: Span(of(row).percent, Style.QUIET))
    if layout.bars:
        style, unicode = look
        yield _Column("", layout.bars, lambda row: Span(bar(of(row).share, layout.bars, unicode), style))


def _number(quantity: Quantity, row: Row, full: bool) -> Span:
    text = quantity.full if full else quantity.short
    if text.startswith((">=", "?")):
        return Span(text, Style.WARNING)
    if text == "0":
        return Span(text, Style.QUIET)
    return Span(text, Style.PLAIN if row.kind == "node" else Style.STRONG)


def _label(row: Row) -> Span:
    style = {"node": Style.PLAIN, "rest": Style.QUIET}.get(row.kind, Style.STRONG)
    return Span(" " * _INDENT * row.depth + row.label, style)

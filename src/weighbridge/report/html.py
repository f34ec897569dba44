"""A page as a small HTML fragment for notebooks: self-contained, no script, no class names that could meet others'."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from weighbridge.report.grid import Grid
from weighbridge.report.page import ArenaMap, Headline, Page, Peaks, Quantity, Row, Verdict

__all__ = ["render"]

_NUMBER = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;padding:1px 8px"
_TEXT = "text-align:left;white-space:nowrap;padding:1px 8px"
_SENTENCE = "text-align:left;padding:1px 8px;opacity:.75"
_MAP = 100
_COLOURS = {"fits": "#2e8540", "does not fit": "#c92a2a"}


def render(page: Page) -> str:
    """The page as one ``div``; every text is escaped."""
    return "".join(_parts(page))


def _parts(page: Page) -> Iterator[str]:
    yield '<div style="font-family:system-ui,sans-serif;font-size:13px;max-width:60em">'
    yield f"<p><b>{escape(page.title)}</b> <span style='opacity:.75'>{escape(page.subtitle)}</span></p>"
    yield from (f"<p>{escape(brief.sentence)}</p>" for brief in page.briefs)
    yield from _figures(page.headlines)
    yield from _peaks(page.peaks)
    yield "<table style='border-collapse:collapse;margin-top:1em'><tr>"
    yield from (
        f"<th style='{_TEXT}'>{name}</th>"
        for name in ("layer", "output", page.parameters_title, "MACs", f"alive ({escape(page.policy)})")
    )
    yield "</tr>"
    for row in (*page.rows, page.total):
        yield from _row(row)
    yield "</table>"
    if page.rows_note:
        yield f"<p style='opacity:.75'>{escape(page.rows_note)}</p>"
    if page.arena is not None:
        yield from _arena(page.arena)
    for grid in (page.devices, page.energy, *page.training):
        if grid is not None:
            yield from _grid(grid)
    for verdict in page.verdicts:
        yield from _verdict(verdict)
    yield from (
        f"<p>not counted: {escape(fault.operator)} x{fault.nodes:,}: {escape(fault.reason)}</p>"
        for fault in page.uncounted
    )
    yield from (f"<p>{escape(note)}</p>" for note in page.notes)
    yield "</div>"


def _figures(figures: Iterable[Headline]) -> Iterator[str]:
    yield "<table style='border-collapse:collapse'>"
    for item in figures:
        yield f"<tr><th style='{_TEXT}'>{escape(item.label)}</th><td style='{_NUMBER}'>{escape(item.value.full)}</td>"
        yield f"<td style='{_NUMBER}'>{escape(item.value.short)}</td><td style='{_SENTENCE}'>{escape(item.convention)}</td></tr>"
    yield "</table>"


def _arena(drawn: ArenaMap) -> Iterator[str]:
    from weighbridge.report.map_lines import map_lines

    lines = ("".join(span.text for span in line).rstrip() for line in map_lines(drawn, _MAP, unicode=True))
    yield f"<pre style='line-height:1.1'>{escape(chr(10).join(lines))}</pre>"
    yield from _figures(drawn.figures)
    if drawn.alive is not None:
        yield from _grid(drawn.alive)


def _peaks(peaks: Peaks) -> Iterator[str]:
    yield "<table style='border-collapse:collapse;margin-top:1em'><tr>"
    yield from (
        f"<th style='{style}'>{name}</th>"
        for name, style in (
            *(("peak memory", _TEXT), ("bytes", _NUMBER), ("binary", _NUMBER), ("values", _NUMBER), ("set at", _TEXT)),
        )
    )
    yield "</tr>"
    for row in peaks.rows:
        yield f"<tr><td style='{_TEXT}'>{escape(row.policies)}</td>"
        yield from (f"<td style='{_NUMBER}'>{escape(number)}</td>" for number in (row.bytes, row.binary, row.values))
        yield f"<td style='{_TEXT}'>{escape(row.node)}</td></tr>"
    yield "</table>"
    yield from (f"<p style='opacity:.75'>{escape(sentence)}</p>" for sentence in peaks.left_out)
    lines = [f"<b>{escape(topic)}</b> {escape(sentence)}" for topic, sentence in peaks.assumptions]
    yield f"<p style='opacity:.75'>alive while a node runs, and assumed:<br>{'<br>'.join(lines)}</p>"


def _row(row: Row) -> Iterator[str]:
    weight = "normal" if row.kind == "node" else "bold"
    label = f"<span style='font-weight:{weight};margin-left:{row.depth * 1.2:.1f}em'>{escape(row.label)}</span>"
    yield f"<tr><td style='{_TEXT}'>{label}</td><td style='{_TEXT}'>{escape(row.output)}</td>"
    yield f"<td style='{_NUMBER}{_bar(row.parameters, '#7aa2d6')}'>{escape(row.parameters.full)}</td>"
    yield f"<td style='{_NUMBER}{_bar(row.macs, '#d6a37a')}'>{escape(row.macs.full)}</td>"
    peak = " <b>&#9664; peak</b>" if row.is_peak else ""
    yield f"<td style='{_NUMBER}'>{escape(row.alive.short)}{peak}</td></tr>"


def _bar(quantity: Quantity, colour: str) -> str:
    """A share as the cell's background."""
    if quantity.share is None:
        return ""
    return f";background:linear-gradient(90deg,{colour}88 {quantity.share:.1%},transparent {quantity.share:.1%})"


def _verdict(verdict: Verdict) -> Iterator[str]:
    colour = _COLOURS.get(verdict.verdict, "#b08900")
    yield f"<p><b>{escape(verdict.device)}</b>: <b style='color:{colour}'>{escape(verdict.sentence)}</b><br>"
    lines = [f"{region.name}: {region.sentence}" for region in verdict.regions]
    yield "<br>".join(escape(line) for line in (*lines, *verdict.times, verdict.conditions, *verdict.notes))
    yield "</p>"
    for grid in verdict.grids:
        yield from _grid(grid)


def _grid(grid: Grid) -> Iterator[str]:
    styles = [_NUMBER if column.is_number else _TEXT for column in grid.columns]
    yield f"<table style='border-collapse:collapse;margin-top:1em'><caption style='{_TEXT}'>{escape(grid.title)}</caption><tr>"
    yield from (
        f"<th style='{style}'>{escape(column.title)}</th>" for style, column in zip(styles, grid.columns, strict=True)
    )
    yield "</tr>"
    for row in grid.rows:
        cells = zip(styles, row.cells, strict=True)
        yield "<tr>"
        yield from (f"<td style='{style}'>{escape(cell)}</td>" for style, cell in cells)
        yield "</tr>"
    yield "</table>"
    yield from (f"<p style='opacity:.75'>{escape(note)}</p>" for note in grid.notes)

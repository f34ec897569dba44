"""A page as Markdown (GitHub's tables): for pull requests and model cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from weighbridge.report.grid import Grid, trimmed
from weighbridge.report.page import ArenaMap, Headline, Page, Row, Verdict

__all__ = ["escaped", "grid_blocks", "render"]

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~$!]")
_BAR = 10
_MAP = 100


def render(page: Page) -> str:
    """Headline figures, the module tree, a section a device, what is not counted, and the notes."""
    return "\n".join(_blocks(page)) + "\n"


def _blocks(page: Page) -> Iterator[str]:
    yield f"# {escaped(page.title)}\n"
    yield f"{escaped(page.subtitle)}\n"
    yield from (f"**{escaped(brief.sentence)}**\n" for brief in page.briefs)
    yield from _figures(page.headlines)
    yield "\n## Peak memory\n"
    yield from _table(("policy", "bytes", "binary", "values", "set at"), "lrrrl", page.peaks.rows)
    yield from (f"\n{escaped(sentence)}" for sentence in page.peaks.left_out)
    yield "\nAlive while a node runs, and assumed:\n"
    yield from (f"- {escaped(topic)}: {escaped(sentence)}" for topic, sentence in page.peaks.assumptions)
    yield "\n## Layers\n"
    yield from _table(_columns(page), "lllrrrrr", [_cells(row) for row in (*page.rows, page.total)])
    if page.rows_note:
        yield f"\n{escaped(page.rows_note)}"
    if page.arena is not None:
        yield from _arena(page.arena)
    if page.devices is not None:
        yield "\n## Devices\n"
        yield from grid_blocks(page.devices)
    if page.energy is not None:
        yield "\n## Energy\n"
        yield from grid_blocks(page.energy)
    if page.training:
        yield "\n## Training\n"
    for grid in page.training:
        yield from grid_blocks(grid)
    for verdict in page.verdicts:
        yield from _verdict(verdict)
    if page.uncounted:
        yield "\n## Not counted\n"
        faults = [(fault.operator, f"{fault.nodes:,}", fault.reason, fault.where) for fault in page.uncounted]
        yield from _table(("operator", "nodes", "reason", "where"), "lrll", faults)
    if page.notes:
        yield "\n## Notes\n"
        yield from (f"- {escaped(note)}" for note in page.notes)
    yield f"\n{escaped(page.tool)}"


def _figures(figures: Sequence[Headline]) -> Iterator[str]:
    rows = [(item.label, item.value.full, item.value.short, item.convention) for item in figures]
    yield from _table(("", "figure", "short", "convention"), "lrrl", rows)


def _arena(drawn: ArenaMap) -> Iterator[str]:
    """The map as it is drawn in a terminal; names stand below it, where they are escaped."""
    from weighbridge.report.map_lines import map_lines

    yield "\n## Memory map\n\n```text"
    yield from ("".join(span.text for span in line).rstrip() for line in map_lines(drawn, _MAP, unicode=True))
    yield "```\n"
    yield from _figures(drawn.figures)
    if drawn.alive is not None:
        yield ""
        yield from grid_blocks(drawn.alive)


def _columns(page: Page) -> tuple[str, ...]:
    return ("layer", "operator", "output", page.parameters_title, "share", "MACs", "share", f"alive ({page.policy})")


def _cells(row: Row) -> tuple[str, ...]:
    indent = "\u2003" * row.depth
    alive = f"{row.alive.short} (peak)" if row.is_peak else row.alive.short
    return (
        *(indent + row.label, row.operator, row.output),
        *(row.parameters.full, row.parameters.percent, row.macs.full, row.macs.percent, alive),
    )


def _verdict(verdict: Verdict) -> Iterator[str]:
    yield f"\n## On {escaped(verdict.device)}\n"
    yield f"**{escaped(verdict.sentence)}**\n"
    yield from (f"- {escaped(region.name)}: {escaped(region.sentence)}" for region in verdict.regions)
    yield from (f"- {escaped(time)}" for time in verdict.times)
    yield f"- conditions: {escaped(verdict.conditions)}"
    yield from (f"- note: {escaped(note)}" for note in verdict.notes)
    for grid in verdict.grids:
        yield ""
        yield from grid_blocks(grid)


def grid_blocks(grid: Grid) -> Iterator[str]:
    """A titled table, and its notes as a list; what says nothing in any row, and a table without rows, is left out."""
    yield f"{escaped(grid.title)}\n"
    shown = trimmed(grid)
    alignment = "".join("r" if column.is_number else "l" for column in shown.columns)
    if shown.rows:
        yield from _table([column.title for column in shown.columns], alignment, [row.cells for row in shown.rows])
    if grid.notes:
        yield ""
    yield from (f"- {escaped(note)}" for note in grid.notes)


def _table(columns: Sequence[str], alignment: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(escaped, columns))} |"
    yield f"|{'|'.join('---:' if side == 'r' else '---' for side in alignment)}|"
    yield from (f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows)


def escaped(text: str) -> str:
    """Shown as it is: neither markup, nor HTML, nor a cell border, nor a link."""
    marked = _SPECIAL.sub(lambda match: f"\\{match[0]}", text.replace("&", "&amp;").replace("<", "&lt;"))
    return marked.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")

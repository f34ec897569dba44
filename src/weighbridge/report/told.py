"""What stands on a page about several reports, whatever sets them side by side: as lines of a terminal, as text, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.grid import Grid, grid_lines
from weighbridge.report.spans import Line, Style, in_ascii, text_of, wrap
from weighbridge.report.terminal import Look

__all__ = ["Drawing", "Told", "lines_of", "markdown_of"]

Drawing = Callable[[int, bool], Iterable[Line]]
"""Draws in so many cells, with characters beyond ASCII or without them."""
_NARROWEST: Final = 40
_MARKDOWN: Final = 100
"""Cells of a drawing there."""
_TICKS: Final = re.compile("`+")
"""Names in a drawing may have some: the fence around it has more."""


class Told(NamedTuple):
    """A page: its title, what it is of in one ``subtitle`` or in ``heads``, a line each, what it comes to, drawings, tables, and notes."""

    title: str
    subtitle: str
    heads: Sequence[str]
    sentences: Iterable[str]
    grids: Iterable[Grid]
    notes: Sequence[str]
    tool: str
    drawings: Sequence[Drawing] = ()


def lines_of(told: Told, look: Look) -> Iterator[Line]:
    """The page as lines of spans."""
    made = _lines(told, look)
    return made if look.unicode else (in_ascii(line) for line in made)


def _lines(told: Told, look: Look) -> Iterator[Line]:
    yield from wrap(told.title, look.measure, Style.STRONG, hanging=2)
    if told.subtitle:
        yield from wrap(told.subtitle, look.measure, Style.QUIET)
    for head in told.heads:
        yield from wrap(head, look.measure, Style.QUIET, hanging=2)
    for sentence in told.sentences:
        yield from wrap(sentence, look.measure, Style.FIGURE, hanging=2)
    for drawing in told.drawings:
        yield Line()
        yield from drawing(max(_NARROWEST, min(look.width, look.measure)), look.unicode)
    for grid in told.grids:
        yield Line()
        yield from grid_lines(grid, look.measure)
    if told.notes:
        yield Line()
    for note in told.notes:
        yield from wrap(f"note: {note}", look.measure, Style.QUIET, hanging=6)


def markdown_of(told: Told) -> str:
    """The page as Markdown."""
    from weighbridge.report.markdown import escaped, grid_blocks

    blocks = [f"# {escaped(told.title)}\n"]
    if told.subtitle:
        blocks.append(f"{escaped(told.subtitle)}\n")
    if told.heads:
        blocks += (*(f"- {escaped(head)}" for head in told.heads), "")
    blocks += (f"**{escaped(sentence)}**\n" for sentence in told.sentences)
    for drawing in told.drawings:
        shown = text_of(drawing(_MARKDOWN, True))
        fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(shown)), default=0))
        blocks += (f"{fence}text", f"{shown}{fence}\n")
    for grid in told.grids:
        blocks += (*grid_blocks(grid), "")
    blocks += (f"- {escaped(note)}" for note in told.notes)
    return "\n".join([*blocks, f"\n{escaped(printable(told.tool))}"]) + "\n"

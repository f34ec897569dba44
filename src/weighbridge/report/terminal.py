"""A page for the terminal: as wide as it is, down to 60 columns; colour and block characters only where they can be shown.

A page is laid out as lines of styled spans.  Without colour they are joined, and rich is not even imported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.columns import tree_lines
from weighbridge.report.grid import grid_lines
from weighbridge.report.page import ArenaMap, Headline, Page, Profile, RegionLine, Verdict
from weighbridge.report.peak_lines import peak_lines
from weighbridge.report.spans import Line, Style, bar, cells, clip, in_ascii, level, pad, text_of, wrap

__all__ = ["Look", "headline_lines", "render", "text"]

_NARROWEST = 60
_NARROW = 72
_WIDEST = 120
_COLOURS = {"fits": Style.GOOD, "does not fit": Style.BAD}


class Look(NamedTuple):
    """What the terminal can do: its width in cells, whether it shows more than ASCII, whether it shows colour."""

    width: int = 80
    unicode: bool = True
    colour: bool = False

    @property
    def measure(self) -> int:
        """The width that is used: long lines are hard to read."""
        return max(_NARROWEST, min(self.width, _WIDEST))


def text(page: Page, look: Look) -> str:
    """The page as plain text."""
    return text_of(render(page, look))


def render(page: Page, look: Look) -> Iterator[Line]:
    """The page as lines of spans."""
    lines = _lines(page, look)
    return lines if look.unicode else (in_ascii(line) for line in lines)


def _lines(page: Page, look: Look) -> Iterator[Line]:
    yield from wrap(page.title, look.measure, Style.STRONG)
    yield from wrap(page.subtitle, look.measure, Style.QUIET)
    for brief in page.briefs:
        yield from wrap(brief.sentence, look.measure, _COLOURS.get(brief.verdict, Style.WARNING), hanging=2)
    yield Line()
    yield from headline_lines(page.headlines, look)
    yield Line()
    yield from peak_lines(page.peaks, look.measure)
    yield Line()
    yield from tree_lines(page, look.measure, look.unicode)
    if page.profile:
        yield Line()
        yield from _profile(page.profile, look)
    if page.arena:
        yield Line()
        yield from _arena(page.arena, look)
    for grid in (page.devices, page.energy, *page.training):
        if grid is not None:
            yield Line()
            yield from grid_lines(grid, look.measure)
    for verdict in page.verdicts:
        yield Line()
        yield from _verdict(verdict, look)
    yield from _doubts(page, look)


def _profile(profile: Profile, look: Look) -> Iterator[Line]:
    levels = "".join(level(share, look.unicode) for share in profile.levels)
    caption = f"{profile.caption}  "
    if len(caption) + len(levels) <= look.measure:
        yield Line.of((caption, Style.STRONG), (levels, Style.MEMORY))
    else:
        yield Line.of((caption, Style.STRONG))
        yield Line.of((f"  {levels}", Style.MEMORY))
    yield from wrap(f"peak {profile.summary}", look.measure, Style.PLAIN, indent=2)


def _arena(drawn: ArenaMap, look: Look) -> Iterator[Line]:
    from weighbridge.report.map_lines import map_lines

    yield from map_lines(drawn, look.measure, look.unicode)
    yield from headline_lines(drawn.figures, look)
    if drawn.alive is not None:
        yield from grid_lines(drawn.alive, look.measure)


def _doubts(page: Page, look: Look) -> Iterator[Line]:
    """What is not counted, and the notes."""
    if page.uncounted:
        yield Line()
        yield Line.of(("not counted", Style.WARNING))
    for fault in page.uncounted:
        where = f" ({fault.where})" if fault.where else ""
        yield from wrap(
            f"{fault.operator} x{fault.nodes:,}: {fault.reason}{where}", look.measure, Style.PLAIN, indent=2
        )
    if page.notes:
        yield Line()
    for note in page.notes:
        yield from wrap(f"note: {note}", look.measure, Style.QUIET, indent=0, hanging=6)


def headline_lines(headlines: Sequence[Headline], look: Look) -> Iterator[Line]:
    """Figures below each other, each with its convention beside it, or below it in a narrow terminal."""
    label = max(cells(item.label) for item in headlines)
    full = max(cells(item.value.full) for item in headlines)
    brief = max(cells(_brief(item)) for item in headlines)
    start = label + full + brief + 6
    beside = look.measure >= _NARROW and look.measure - start >= 28
    for item in headlines:
        style = Style.FIGURE if item.is_exact else Style.WARNING
        line = Line.of(
            (pad(item.label, label), Style.STRONG),
            (f"  {pad(item.value.full, -full)}", style),
            (f"  {pad(_brief(item), -brief)}", Style.PLAIN),
        )
        if not beside:
            yield line if start - 2 <= look.measure else Line(line[:2])
            yield from wrap(item.convention, look.measure, Style.QUIET, indent=4)
            continue
        first, *others = wrap(item.convention, look.measure - start, Style.QUIET)
        yield Line((*line, *Line.of(("  ", Style.PLAIN)), *first))
        yield from (Line((*Line.of((" " * start, Style.PLAIN)), *other)) for other in others)


def _brief(item: Headline) -> str:
    return "" if item.value.short == item.value.full else item.value.short


def _verdict(verdict: Verdict, look: Look) -> Iterator[Line]:
    style = _COLOURS.get(verdict.verdict, Style.WARNING)
    head = wrap(f"{verdict.device}: {verdict.sentence}", look.measure, style, hanging=2)
    yield from head
    name = max((cells(region.name) for region in verdict.regions), default=0)
    for region in verdict.regions:
        colour = Style.WARNING if region.fits is None else Style.GOOD if region.fits else Style.BAD
        fill = bar(_filled(region), 12, look.unicode)
        start = f"  {pad(clip(region.name, 20), min(name, 20))} "
        lead = cells(start) + 22
        first, *others = wrap(region.sentence, look.measure - lead, Style.PLAIN)
        yield Line((*Line.of((start, Style.STRONG), (fill, colour), (f" {pad(region.percent, -7)}  ", colour)), *first))
        yield from (Line((*Line.of((" " * lead, Style.PLAIN)), *other)) for other in others)
    for time in verdict.times:
        yield from wrap(time, look.measure, Style.PLAIN, indent=2, hanging=2)
    for grid in verdict.grids:
        yield from grid_lines(grid, look.measure, indent=2)
    yield from wrap(verdict.conditions, look.measure, Style.QUIET, indent=2, hanging=2)
    for note in verdict.notes:
        yield from wrap(f"note: {note}", look.measure, Style.QUIET, indent=2, hanging=6)


def _filled(region: RegionLine) -> float | None:
    """More than full where it is certain that the memory is too small, though not by which factor."""
    return math.inf if region.fill is None and region.fits is False else region.fill

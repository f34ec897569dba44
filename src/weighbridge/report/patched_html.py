"""Patches as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator

from weighbridge.report import html_file
from weighbridge.report.charts.alive import alive_chart
from weighbridge.report.charts.panel import Chart
from weighbridge.report.charts.patched import patches_chart
from weighbridge.report.grid import trimmed
from weighbridge.report.patched import Patched
from weighbridge.report.patched_page import alive, details, grids, maps, said, sentences, subtitle, title

__all__ = ["render"]


def render(found: Patched) -> str:
    """The page."""
    head = html_file.Comparison(
        title=title(found),
        heading="Patches",
        tool=found.tool,
        sentences=tuple(sentences(found)),
        grids=tuple(map(trimmed, (*grids(found, all_rows=True), *details(found)))),
        notes=tuple(said(found)),
        subtitles=(subtitle(found),),
        charts=tuple(_charts(found)),
    )
    return html_file.render({}, comparison=head)


def _charts(found: Patched) -> Iterator[Chart]:
    if found.steps:
        yield alive_chart(alive(found))
    if found.plan is not None:
        drawn = patches_chart(maps(found), found.plan.patches, found.policy)
        if drawn is not None:
            yield drawn

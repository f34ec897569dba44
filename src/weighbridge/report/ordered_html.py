"""An order of execution as one HTML file."""

from __future__ import annotations

from weighbridge.report import html_file
from weighbridge.report.alive_map import alive_grid
from weighbridge.report.charts.alive import alive_chart
from weighbridge.report.grid import trimmed
from weighbridge.report.ordered import Ordered
from weighbridge.report.ordered_page import alive, grids, said, sentences, subtitle, title

__all__ = ["render"]


def render(found: Ordered) -> str:
    """The page, with every row."""
    head = html_file.Comparison(
        title=title(found),
        heading="Order",
        tool=found.tool,
        sentences=tuple(sentences(found)),
        grids=tuple(map(trimmed, (*grids(found, all_rows=True), alive_grid(alive(found))))),
        notes=tuple(said(found)),
        subtitles=(subtitle(found),),
        charts=(alive_chart(alive(found)),) if found.profile else (),
    )
    return html_file.render({}, comparison=head)

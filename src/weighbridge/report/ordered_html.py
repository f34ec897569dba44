"""An order of execution as one HTML file."""

from __future__ import annotations

from weighbridge.report import html_file
from weighbridge.report.grid import trimmed
from weighbridge.report.ordered import Ordered
from weighbridge.report.ordered_page import grids, said, sentences, subtitle, title

__all__ = ["render"]


def render(found: Ordered) -> str:
    """The page, with every row."""
    head = html_file.Comparison(
        title=title(found),
        heading="Order",
        tool=found.tool,
        sentences=tuple(sentences(found)),
        grids=tuple(map(trimmed, grids(found, all_rows=True))),
        notes=tuple(said(found)),
        subtitles=(subtitle(found),),
    )
    return html_file.render({}, comparison=head)

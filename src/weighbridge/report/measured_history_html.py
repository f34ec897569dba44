"""The history of a model as one HTML file."""

from __future__ import annotations

from weighbridge.report import html_file
from weighbridge.report.grid import trimmed
from weighbridge.report.measured_history import History
from weighbridge.report.measured_history_page import grids, said, sentences, subtitle, title

__all__ = ["render"]


def render(found: History) -> str:
    """The page, with every row."""
    head = html_file.Comparison(
        title=title(found),
        heading="History",
        tool=found.tool,
        sentences=tuple(sentences(found)),
        grids=tuple(map(trimmed, grids(found, all_rows=True))),
        notes=tuple(said(found)),
        subtitles=(subtitle(found),),
    )
    return html_file.render({}, comparison=head)

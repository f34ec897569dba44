"""Patches as one HTML file."""

from __future__ import annotations

from weighbridge.report import html_file
from weighbridge.report.grid import trimmed
from weighbridge.report.patched import Patched
from weighbridge.report.patched_page import grids, said, sentences, subtitle, title

__all__ = ["render"]


def render(found: Patched) -> str:
    """The page."""
    head = html_file.Comparison(
        title=title(found),
        heading="Patches",
        tool=found.tool,
        sentences=tuple(sentences(found)),
        grids=tuple(map(trimmed, grids(found))),
        notes=tuple(said(found)),
        subtitles=(subtitle(found),),
    )
    return html_file.render({}, comparison=head)

"""A validation as one HTML file."""

from __future__ import annotations

from weighbridge.report import html_file
from weighbridge.report.charts.predicted import predicted_chart
from weighbridge.report.grid import trimmed
from weighbridge.report.validated import Validation
from weighbridge.report.validated_page import grids, said, sentences, subtitle, title

__all__ = ["render"]


def render(found: Validation) -> str:
    """The page, with every row."""
    chart = predicted_chart(found.networks)
    head = html_file.Comparison(
        title=title(found),
        heading="Validated",
        tool=found.tool,
        sentences=tuple(sentences(found)),
        grids=tuple(map(trimmed, grids(found, all_rows=True))),
        notes=tuple(said(found)),
        subtitles=(subtitle(found),),
        charts=() if chart is None else (chart,),
    )
    return html_file.render({}, comparison=head)

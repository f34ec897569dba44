"""What was measured as one HTML file."""

from __future__ import annotations

from weighbridge.report import html_file
from weighbridge.report.charts.measured import curve_chart, samples_chart
from weighbridge.report.grid import trimmed
from weighbridge.report.measured import Measured
from weighbridge.report.measured_grids import grids
from weighbridge.report.measured_page import said, sentences, subtitle, title
from weighbridge.report.measured_words import names_of

__all__ = ["render"]


def render(found: Measured) -> str:
    """The page, with every row."""
    curves = () if found.curve is None or not found.curve.points else (curve_chart(found.curve),)
    head = html_file.Comparison(
        title=title(found),
        heading="Measured",
        tool=found.tool,
        sentences=tuple(sentences(found)),
        grids=tuple(map(trimmed, grids(found, all_rows=True))),
        notes=tuple(said(found)),
        subtitles=(subtitle(found),),
        charts=(*curves, samples_chart(names_of(found.measurements), found.measurements)),
    )
    return html_file.render({}, comparison=head)

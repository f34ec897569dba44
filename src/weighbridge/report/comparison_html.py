"""A comparison as one HTML file: its tables, and below them the reports side by side."""

from __future__ import annotations

from weighbridge.errors import printable
from weighbridge.report import html_file
from weighbridge.report.around import Around
from weighbridge.report.charts.front import front_charts
from weighbridge.report.comparison import Comparison
from weighbridge.report.comparison_page import grids, heads, said, sentences, title
from weighbridge.report.comparison_sentences import names_of
from weighbridge.report.grid import trimmed
from weighbridge.report.record import Report

__all__ = ["render"]


def render(found: Comparison, around: Around | None = None) -> str:
    """The page, with every metric and every layer that differs; of published rows alone there is no more than that.

    ``around`` is what a server has around it.
    """
    head = html_file.Comparison(
        title=title(found),
        heading="Side by side",
        tool=found.tool,
        sentences=tuple(sentences(found)),
        grids=tuple(map(trimmed, grids(found, all_rows=True))),
        notes=tuple(said(found, all_rows=True)),
        subtitles=tuple(heads(found)),
        charts=front_charts(found, names_of(found)),
    )
    return html_file.render(_reports(found), comparison=head, around=around)


def _reports(found: Comparison) -> dict[str, Report]:
    """The reports by what the page calls them, with the name behind a letter that stands for it."""
    called = names_of(found)
    return {
        called[model.name]
        if called[model.name] == model.name
        else f"{called[model.name]}: {printable(model.name, 80)}": model.report
        for model in found.models
        if model.report is not None
    }

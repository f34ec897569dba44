"""A what-if as one HTML file: the comparison, and below it the reports side by side."""

from __future__ import annotations

from weighbridge.errors import printable
from weighbridge.report.grid import trimmed
from weighbridge.report.html_file import Comparison
from weighbridge.report.html_file import render as render_reports
from weighbridge.report.record import Report
from weighbridge.report.view import title as title_of
from weighbridge.report.what_if import WhatIf
from weighbridge.report.what_if_page import grids, said, sentences, title

__all__ = ["render"]


def render(found: WhatIf) -> str:
    """The page, with every metric and every layer that differs."""
    tables = tuple(map(trimmed, grids(found, all_rows=True)))
    notes = tuple(said(found, all_rows=True))
    head = Comparison(title(found), "Before and after", found.tool, tuple(sentences(found)), tables, notes)
    return render_reports(_reports(found), comparison=head)


def _reports(found: WhatIf) -> dict[str, Report]:
    """The reports by what a page calls them."""
    before = title_of(found.before)
    between = {
        f"{before}, step {place}: {printable(' '.join(step.changes), 80)}": step.report
        for place, step in enumerate(found.steps[:-1], 1)
    }
    return {before: found.before, **between, title(found): found.after}

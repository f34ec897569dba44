"""Writes reports: to the screen as the terminal can take it, to files as UTF-8."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from weighbridge.report import Report
from weighbridge.report.spans import Line
from weighbridge.report.terminal import Look, render, text
from weighbridge.report.view import node_table, page

__all__ = ["formatted", "look_of", "show", "show_lines", "write"]

_FILE_WIDTH = 100


def formatted(
    report: Report, kind: str, *, depth: int | None, all_rows: bool, policy: str, with_map: bool = False
) -> str:
    """The report as ``json``, ``csv``, ``markdown`` or ``text``; ``policy`` is the one that the bytes alive follow."""
    if kind == "json":
        return report.to_json()
    if kind == "csv":
        from weighbridge.report.csv import render as render_csv

        return render_csv(node_table(report, policy=policy))
    shown = page(report, depth=depth, all_rows=all_rows, policy=policy, with_map=with_map)
    if kind == "markdown":
        from weighbridge.report.markdown import render as render_markdown

        return render_markdown(shown)
    return text(shown, Look(_FILE_WIDTH))


def write(content: str, path: Path | None) -> None:
    """Write ``content`` to a file, or to standard output.  Raises ``OSError``."""
    if path is None:
        sys.stdout.write(content)
        sys.stdout.flush()
        return
    with path.open("w", encoding="utf-8", newline="", errors="backslashreplace") as file:
        file.write(content)


def show(report: Report, *, depth: int | None, all_rows: bool, policy: str, with_map: bool) -> None:
    """Print the report to standard output, in colour if it is a terminal that has some."""
    look = look_of(sys.stdout)
    shown = page(report, depth=depth, all_rows=all_rows, policy=policy, with_map=with_map)
    show_lines(render(shown, look), look)


def show_lines(lines: Iterable[Line], look: Look) -> None:
    """Print ``lines`` to standard output, in colour if ``look`` has some."""
    if not look.colour:
        write("".join("".join(span.text for span in line).rstrip() + "\n" for line in lines), None)
        return
    from rich.console import Console
    from rich.segment import Segment, Segments
    from rich.style import Style

    styles: dict[str, Style] = {}
    segments = []
    for line in lines:
        for span in line:
            style = styles.get(span.style)
            if style is None:
                style = styles[span.style] = Style.parse(span.style)
            segments.append(Segment(span.text, style))
        segments.append(Segment.line())
    Console(soft_wrap=True).print(Segments(segments), end="")


def look_of(stream: TextIO) -> Look:
    """What ``stream`` can show.  ``NO_COLOR`` and ``TERM=dumb`` turn colour off, ``COLUMNS`` sets the width."""
    is_terminal = stream.isatty()
    unicode = (stream.encoding or "ascii").lower().replace("-", "").startswith("utf")
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "") in ("dumb", "unknown")
    return Look(_width(stream, is_terminal), unicode, is_terminal and not plain)


def _width(stream: TextIO, is_terminal: bool) -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and int(columns[:6]) > 0:
        return int(columns[:6])
    if not is_terminal:
        return _FILE_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80

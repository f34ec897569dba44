"""Writes reports: to the screen as the terminal can take it, to files as UTF-8."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

from weighbridge.cli.targets import STDOUT, Output, Target
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report import Report
from weighbridge.report.page import Page, Table
from weighbridge.report.peaks import LIVE, check_profile
from weighbridge.report.spans import Line, text_of
from weighbridge.report.terminal import Look, render, text
from weighbridge.report.view import node_table, page

__all__ = [
    "FILE_WIDTH",
    "Shown",
    "check_policy",
    "check_shown",
    "formatted",
    "inexact",
    "look_of",
    "show_lines",
    "to_every",
    "warn_of_inexact",
    "write",
    "write_all",
    "write_page",
    "write_to",
]

FILE_WIDTH: Final = 100
"""Of text in a file, in characters."""


def formatted(report: Report, kind: str, output: Output) -> str:
    """The report as ``json``, ``csv``, ``markdown`` or ``text``."""
    if kind == "json":
        return report.to_json()
    if kind == "csv":
        from weighbridge.report.csv import render as render_csv

        return render_csv(node_table(report, policy=output.policy))
    if kind == "markdown":
        from weighbridge.report.markdown import render as render_markdown

        return render_markdown(_page(report, output))
    return text(_page(report, output), Look(FILE_WIDTH))


def _page(report: Report, output: Output) -> Page:
    return page(report, depth=output.depth, all_rows=output.all_rows, policy=output.policy, with_map=output.with_map)


def check_shown(report: Report, output: Output) -> None:
    """Raises ``BadSpec`` for a part of the page that is asked for and that this report cannot have."""
    check_policy(report, output.policy)
    if output.with_map:
        from weighbridge.report.arena_map import check_map

        check_map(report.memory)
    if output.model_explorer is not None:
        from weighbridge.report.model_explorer import check_nodes

        check_nodes(report)


def check_policy(report: Report, policy: str) -> None:
    """Raises ``BadSpec`` where ``policy`` has no running profile in ``report``; for the one that nobody has to ask for, never."""
    if policy != LIVE:
        check_profile(report.memory, policy)


def write_all(reports: Mapping[str, Report], targets: Iterable[Target], output: Output) -> None:
    """Write ``reports``, which are by their titles, to every target; those of one report get the only one.

    A file that cannot be written does not keep the others from being written, nor the report from the screen; then
    ``BadSpec`` is raised.
    """
    to_every(targets, lambda target: _write(reports, target, output))


def to_every(targets: Iterable[Target], write_to: Callable[[Target], None]) -> None:
    """Call ``write_to`` for every target; a file that cannot be written does not keep the others from it.

    Raises ``OSError`` for the standard output, and when all others were written ``BadSpec`` for the files that could not be.
    """
    failures = []
    for target in targets:
        try:
            write_to(target)
        except OSError as error:
            if target.place == STDOUT:
                raise
            failures.append(f"{error.filename or target.place}: cannot be written: {error.strerror or error}")
    if failures:
        raise BadSpec("; ".join(failures), hint="everything else was written")


def _write(reports: Mapping[str, Report], target: Target, output: Output) -> None:
    if target.kind == "screen":
        _show(reports, output)
    elif target.kind == "node data":
        (report,) = reports.values()
        _write_node_data(report, target.place, output.policy)
    else:
        content = _content(reports, target.kind, output)
        write(content, None if target.place == STDOUT else Path(target.place))


def _write_node_data(report: Report, place: str, policy: str) -> None:
    """Write a file a metric to a folder, and say on standard error what they leave out.

    Raises ``OSError`` for the first that cannot be written, when the others are.
    """
    from weighbridge.report.model_explorer import node_data

    made = node_data(report, policy)
    Path(place).mkdir(exist_ok=True)
    failures = []
    for name, content in made.files.items():
        try:
            write(content, Path(place, name))
        except OSError as error:
            failures.append(error)
    for note in made.notes:
        sys.stderr.write(f"weighbridge: node data: {note}\n")
    if failures:
        raise failures[0]


def _content(reports: Mapping[str, Report], kind: str, output: Output) -> str:
    if kind == "html":
        from weighbridge.report.html_file import render as render_page

        return render_page(reports, policy=output.policy, depth=output.depth)
    (report,) = reports.values()
    return formatted(report, kind, output)


def warn_of_inexact(report: Report) -> None:
    """Say on standard error that the report, which nobody sees on the screen, has lower bounds in it."""
    if not report.is_exact:
        sys.stderr.write(f"weighbridge: warning: not exact: {inexact(report)}\n")


def inexact(report: Report) -> str:
    """What a report that is not exact misses."""
    from weighbridge.report.headlines import missing

    if report.facts.exact and report.memory.exact:
        return "what training keeps is a lower bound"
    if report.facts.exact:
        return "the memory plan misses tensors of unknown size"
    return missing(report.facts) or "MACs or parameters are lower bounds"


def write(content: str, path: Path | None) -> None:
    """Write ``content`` to a file, or to standard output.  Raises ``OSError``."""
    if path is None:
        sys.stdout.write(content)
        sys.stdout.flush()
        return
    with path.open("w", encoding="utf-8", newline="", errors="backslashreplace") as file:
        file.write(content)


def _show(reports: Mapping[str, Report], output: Output) -> None:
    """Print the reports under each other to standard output, in colour if it is a terminal that has some."""
    look = look_of(sys.stdout)
    for place, (title, report) in enumerate(reports.items()):
        if place:
            write("\n", None)
        show_lines(render(_page(report, output)._replace(title=title), look), look)


def write_to(target: Target, page: Callable[[Look], Iterable[Line]], content: Callable[[str], str]) -> None:
    """Show what ``page`` makes on the screen, or write what ``content`` makes of the kind of the target to its place.

    Raises ``OSError`` where that cannot be written.
    """
    if target.kind == "screen":
        look = look_of(sys.stdout)
        show_lines(page(look), look)
    else:
        write(content(target.kind), None if target.place == STDOUT else Path(target.place))


class Made(Protocol):
    """What a command has made, which is JSON as it is."""

    def to_json(self) -> str: ...


class Shown(NamedTuple):
    """How a command shows what it has made: as lines of a terminal, with all rows or not; as Markdown; as rows; and the module that
    makes a page of it, imported where one is asked for.
    """

    lines: Callable[..., Iterable[Line]]
    markdown: Callable[[Any], str]
    table: Callable[[Any], Table]
    html: str


def write_page(target: Target, found: Made, shown: Shown, *, all_rows: bool) -> None:
    """Show ``found`` on the screen, or write it to the target's place in the target's format, with every row there.

    Raises ``OSError`` where that cannot be written.
    """
    write_to(
        target, lambda look: shown.lines(found, look, all_rows=all_rows), lambda kind: _in_file(found, kind, shown)
    )


def _in_file(found: Made, kind: str, shown: Shown) -> str:
    if kind == "json":
        return found.to_json()
    if kind == "html":
        made: str = import_module(shown.html).render(found)
        return made
    if kind == "csv":
        from weighbridge.report.csv import render

        return render(shown.table(found))
    return shown.markdown(found) if kind == "markdown" else text_of(shown.lines(found, Look(FILE_WIDTH), all_rows=True))


def show_lines(lines: Iterable[Line], look: Look) -> None:
    """Print ``lines`` to standard output, in colour if ``look`` has some."""
    if not look.colour:
        write(text_of(lines), None)
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
        return FILE_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80

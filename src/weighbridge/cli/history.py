"""Carries out ``weighbridge history``: reads records, writes, and returns the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from weighbridge.cli.output import FILE_WIDTH, content_of, to_every, write_to
from weighbridge.cli.targets import Input, Output, Target, targets_of
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.measured_history import History, history
from weighbridge.report.measured_history_page import lines, markdown, table, text
from weighbridge.report.terminal import Look

__all__ = ["Request", "carry_out"]


class Request(NamedTuple):
    """The options as they were written."""

    place: str
    although: Sequence[str] = ()
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    all_rows: bool = False


def carry_out(request: Request) -> int:
    """Read, write everything that was asked for, and return the exit code.  Every option is looked at before the work begins."""
    output = Output(request.json, request.csv, request.markdown, request.outputs)
    targets = targets_of(output, list(_read(Path(request.place))))
    words = [word.strip() for option in request.although for word in option.split(",")]
    found = history(request.place, although=words)
    to_every(targets, lambda target: _write(found, target, all_rows=request.all_rows))
    if found.faults and all(target.kind != "screen" for target in targets):
        sys.stderr.write(f"weighbridge: warning: {len(found.faults):,} records cannot be read and are skipped\n")
    return 0


def _read(place: Path) -> list[Input]:
    """The files that are read."""
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
    except OSError:  # told where they are read
        return []
    return [Input(one, "a record of measurements") for one in files]


def _write(found: History, target: Target, *, all_rows: bool) -> None:
    write_to(target, lambda look: lines(found, look, all_rows=all_rows), lambda kind: _content(found, kind))


def _content(found: History, kind: str) -> str:
    return content_of(
        found,
        kind,
        html="weighbridge.report.measured_history_html",
        table=lambda: table(found),
        markdown=lambda: markdown(found),
        text=lambda: text(found, Look(FILE_WIDTH)),
    )

"""Carries out ``weighbridge history``: reads records, writes, and returns the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from weighbridge.cli.output import Shown, to_every, write_page
from weighbridge.cli.targets import Input, Output, targets_of
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.measured_history import history
from weighbridge.report.measured_history_page import lines, markdown, table

__all__ = ["Request", "carry_out"]

_SHOWN: Final = Shown(lines, markdown, table, "weighbridge.report.measured_history_html")


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
    to_every(targets, lambda target: write_page(target, found, _SHOWN, all_rows=request.all_rows))
    if found.faults and all(target.kind != "screen" for target in targets):
        count = len(found.faults)
        skipped = (
            "1 record cannot be read and is skipped"
            if count == 1
            else f"{count:,} records cannot be read and are skipped"
        )
        sys.stderr.write(f"weighbridge: warning: {skipped}\n")
    return 0


def _read(place: Path) -> list[Input]:
    """The files that are read."""
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
    except OSError:  # told where they are read
        return []
    return [Input(one, "a record of measurements") for one in files]

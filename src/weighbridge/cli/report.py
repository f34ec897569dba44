"""Carries out ``weighbridge report``: a saved report is the report, and is shown without the model."""

from __future__ import annotations

from collections.abc import Sequence

from weighbridge.cli.output import check_shown, warn_of_inexact, write_all
from weighbridge.cli.saved import check_saved, read_saved, saved_inputs
from weighbridge.cli.targets import Output, targets_of
from weighbridge.report.peaks import policy_named

__all__ = ["carry_out"]


def carry_out(saved: Sequence[str], output: Output) -> int:
    """Read the reports, write them to everything that was asked for, and return the exit code.

    Every option is looked at before a file is read, and every file before one is written.
    """
    targets = targets_of(output, saved_inputs(saved), len(saved))
    policy_named(output.policy)
    reports = read_saved(saved)
    check_saved(saved, reports, lambda report: check_shown(report, output))
    write_all(reports, targets, output)
    if targets[-1].kind != "screen":
        for report in reports.values():
            warn_of_inexact(report)
    return 0

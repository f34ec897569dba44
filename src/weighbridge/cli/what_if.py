"""Carries out ``weighbridge what-if``: weighs before and after, writes, and decides the exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from weighbridge.changing import what_if
from weighbridge.cli.output import Shown, to_every, warn_of_inexact, write_page
from weighbridge.cli.progress import progress
from weighbridge.cli.rates import warn_without_rate
from weighbridge.cli.source_call import called
from weighbridge.cli.targets import Output, inputs_of, targets_of
from weighbridge.cli.weigh import judged
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report import Report
from weighbridge.report.what_if import WhatIf
from weighbridge.report.what_if_page import lines, markdown, table
from weighbridge.stated_options import dims_of

__all__ = ["Request", "carry_out"]

_SHOWN: Final = Shown(lines, markdown, table, "weighbridge.report.what_if_html")


class Request(NamedTuple):
    """The options as they were written."""

    source: str
    changes: Sequence[str]
    on: Sequence[str] = ()
    reserve: Sequence[str] = ()
    batch: int | None = None
    sequence: int | None = None
    dims: Sequence[str] = ()
    inputs: Sequence[str] = ()
    precision: str | None = None
    energy: str | None = None
    train: str | None = None
    as_written: bool = False
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    steps: bool = False
    all_rows: bool = False
    strict: bool = False
    require_fit: bool = False


def carry_out(request: Request) -> int:
    """Weigh before and after, write everything that was asked for, and return the exit code.

    Every option is looked at before the work begins.
    """
    output = Output(request.json, request.csv, request.markdown, request.outputs)
    targets = targets_of(output, inputs_of(request.source, request.on, request.energy))
    if request.require_fit and not request.on:
        raise BadSpec("--require-fit without a device", hint="name one with --on; `weighbridge devices` lists them")
    with progress() as tell:
        found = _found(request, tell)
    to_every(targets, lambda target: write_page(target, found, _SHOWN, all_rows=request.all_rows))
    if targets[-1].kind != "screen" and not request.strict:
        warn_of_inexact(found.after)
    for report in (found.before, found.after):
        code = judged(report, request.require_fit and report is found.after, request.strict)
        if code:
            return code
    if request.precision is None or not found.after.facts.macs:
        return 0
    from weighbridge.estimates import precision_named

    return warn_without_rate(request.on, precision_named(request.precision))


def _found(request: Request, tell: Callable[[str], None]) -> WhatIf:
    found = called(
        what_if,
        request.source,
        request.inputs,
        tell,
        changes=request.changes,
        on=request.on,
        reserve=request.reserve,
        batch=request.batch,
        sequence=request.sequence,
        dims=dict(dims_of(request.dims)),
        precision=request.precision,
        energy=request.energy,
        train=request.train,
        as_written=request.as_written,
        steps=request.steps,
    )
    if found.source:
        return found

    def named(report: Report) -> Report:
        return replace(report, network=report.network._replace(source=request.source))

    steps = tuple(step._replace(report=named(step.report)) for step in found.steps)
    return replace(found, source=request.source, before=named(found.before), after=named(found.after), steps=steps)

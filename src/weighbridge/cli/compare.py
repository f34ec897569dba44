"""Carries out ``weighbridge compare``: reads what is known, weighs the rest, writes, and decides the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from weighbridge.api import weigh
from weighbridge.choices import fps_of
from weighbridge.cli.output import Shown, inexact, to_every, write_page
from weighbridge.cli.progress import progress
from weighbridge.cli.rates import warn_without_rate
from weighbridge.cli.saved import STDIN, read_saved, saved_inputs
from weighbridge.cli.source_call import called
from weighbridge.cli.targets import Input, Output, inputs_of, targets_of
from weighbridge.cli.weigh import NOT_EXACT
from weighbridge.comparing import Side, check_options, compared, options_of, sides_of, takes
from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.published import SCHEME
from weighbridge.report import Report
from weighbridge.report.comparison import Comparison
from weighbridge.report.comparison_page import lines, markdown, table
from weighbridge.revisions import at_revision, has_revision
from weighbridge.sources import is_named_model
from weighbridge.stated_options import dims_of

__all__ = ["Request", "carry_out"]

_SHOWN: Final = Shown(lines, markdown, table, "weighbridge.report.comparison_html")


class Request(NamedTuple):
    """The options as they were written."""

    models: Sequence[str]
    on: Sequence[str] = ()
    reserve: Sequence[str] = ()
    batch: int | None = None
    sequence: int | None = None
    dims: Sequence[str] = ()
    inputs: Sequence[str] = ()
    weight_bits: Sequence[str] = ()
    activation_bits: int | None = None
    precision: str | None = None
    energy: str | None = None
    train: str | None = None
    as_written: bool = False
    fps: str | None = None
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    all_rows: bool = False
    strict: bool = False


def carry_out(request: Request) -> int:
    """Compare, write everything that was asked for, and return the exit code.

    Every option and every model is looked at before the work begins.
    """
    output = Output(request.json, request.csv, request.markdown, request.outputs)
    targets = targets_of(output, _inputs(request))
    rate = None if request.fps is None else fps_of(request.fps)
    sizes = {"batch": request.batch, "sequence": request.sequence, "dims": dict(dims_of(request.dims))}
    with progress() as tell, sides_of([_known(model) for model in request.models]) as sides:
        weighing = options_of(sides, **_weighing(request))
        check_options(sides, rate, {**weighing, **sizes, "input": request.inputs})

        def weighed(side: Side) -> Report:
            taken = {name: size for name, size in sizes.items() if takes(side, sides, name, size)}
            inputs = [one for one in request.inputs if takes(side, sides, "inputs", {} if "=" in one else one)]
            return called(weigh, side.source, inputs, tell, side.checkout, **weighing, **taken)

        found = compared(sides, weighed, rate)
    to_every(targets, lambda target: write_page(target, found, _SHOWN, all_rows=request.all_rows))
    return _judged(found, request, is_shown=targets[-1].kind == "screen")


def _inputs(request: Request) -> Iterator[Input]:
    """The files of the user that are read where they lie."""
    here = [model for model in request.models if not has_revision(model)]
    yield from saved_inputs([model for model in here if _is_saved(model)])
    for model in here:
        if not _is_saved(model) and not model.startswith(SCHEME):
            yield from inputs_of(model)
    yield from inputs_of(None, request.on, request.energy)


def _is_saved(model: str) -> bool:
    return model == STDIN or (model.lower().endswith(".json") and not is_named_model(model))


def _known(model: str) -> str | Side:
    """The saved report that is named, from where it lies or from a revision; what is no such thing as it is written."""
    if not has_revision(model):
        if not _is_saved(model):
            return model
        (report,) = read_saved([model]).values()
        return Side(model, "" if model == STDIN else model, known=report)
    if ".json@" not in model.lower():
        return model
    with at_revision(model) as checkout:
        if not _is_saved(checkout.source):
            return model
        with checkout.explained():
            (report,) = read_saved([checkout.source]).values()
    return Side(model, model, known=report)


def _weighing(request: Request) -> dict[str, Any]:
    """The options that hold for every model which is weighed."""
    return {
        "on": request.on,
        "reserve": request.reserve,
        "weight_bits": request.weight_bits or None,
        "activation_bits": request.activation_bits,
        "precision": request.precision,
        "energy": request.energy,
        "train": request.train,
        "as_written": request.as_written,
    }


def _judged(found: Comparison, request: Request, *, is_shown: bool) -> int:
    """The exit code, with its reason on standard error where it is not 0; what nobody sees on the screen is told there as well."""
    reports = {model.name: model.report for model in found.models if model.report is not None}
    for name, report in reports.items():
        if not report.is_exact and (request.strict or not is_shown):
            kind = "" if request.strict else "warning: "
            sys.stderr.write(f"weighbridge: {kind}{printable(name, 60)} is not exact: {inexact(report)}\n")
    if request.strict and not all(report.is_exact for report in reports.values()):
        return NOT_EXACT
    if request.precision is None or not any(report.facts.macs for report in reports.values()):
        return 0
    from weighbridge.estimates import precision_named

    return warn_without_rate(request.on, precision_named(request.precision))

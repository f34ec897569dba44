"""Carries out ``weighbridge weigh``: reads the options, weighs, writes, and decides the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from weighbridge.api import weigh
from weighbridge.cli.output import check_shown, inexact, warn_of_inexact, write_all
from weighbridge.cli.progress import progress
from weighbridge.cli.rates import warn_untrainable, warn_without_rate
from weighbridge.cli.source_call import called
from weighbridge.cli.targets import Output, inputs_of, targets_of
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report import Report
from weighbridge.report.peaks import policy_named
from weighbridge.report.record import by_device
from weighbridge.report.view import title
from weighbridge.stated_options import batches_of, dims_of, training_stated

__all__ = ["DOES_NOT_FIT", "NOT_EXACT", "Request", "carry_out", "judged"]

DOES_NOT_FIT: Final = 1
NOT_EXACT: Final = 3


class Request(NamedTuple):
    """The options as they were written."""

    source: str
    on: Sequence[str] = ()
    reserve: Sequence[str] = ()
    batch: int | None = None
    sequence: int | None = None
    dims: Sequence[str] = ()
    inputs: Sequence[str] = ()
    weight_bits: Sequence[str] = ()
    activation_bits: int | None = None
    precision: str | None = None
    as_written: bool = False
    scratch: str | None = None
    conventions: Sequence[str] = ()
    batches: str | None = None
    fps: str | None = None
    energy: str | None = None
    battery: str | None = None
    train: str | None = None
    train_rule: str | None = None
    mixed_precision: bool = False
    update: Sequence[str] = ()
    freeze: Sequence[str] = ()
    lora: Sequence[str] = ()
    checkpoint: Sequence[str] = ()
    attention: str | None = None
    strict: bool = False
    require_fit: bool = False
    output: Output = Output()


def carry_out(request: Request) -> int:
    """Weigh, write everything that was asked for, and return the exit code.

    Every option is looked at before the work begins.
    """
    targets = targets_of(request.output, inputs_of(request.source, request.on, request.energy))
    if request.require_fit and not request.on:
        raise BadSpec("--require-fit without a device", hint="name one with --on; `weighbridge devices` lists them")
    policy_named(request.output.policy)
    with progress() as tell:
        report = _weighed(request, tell)
    check_shown(report, request.output)
    write_all({title(report): report}, targets, request.output)
    if targets[-1].kind != "screen" and not request.strict:
        warn_of_inexact(report)
    return _judged(report, request)


def _weighed(request: Request, tell: Callable[[str], None]) -> Report:
    """The report; a Python file that makes the model is imported for as long as that takes."""
    options: dict[str, Any] = {
        "on": request.on,
        "reserve": request.reserve,
        "batch": request.batch,
        "sequence": request.sequence,
        "dims": dict(dims_of(request.dims)),
        "weight_bits": request.weight_bits or None,
        "activation_bits": request.activation_bits,
        "precision": request.precision,
        "as_written": request.as_written,
        "scratch": request.scratch,
        "convention": request.conventions,
        "batches": batches_of(request.batches),
        "fps": request.fps,
        "energy": request.energy,
        "battery": request.battery,
        "train": _training(request),
        "patches": True,
    }
    report = called(weigh, request.source, request.inputs, tell, **options)
    if report.network.source:
        return report
    return replace(report, network=report.network._replace(source=request.source))


def _training(request: Request) -> Mapping[str, object] | None:
    """How to train, as ``weigh`` takes it.  Raises ``BadSpec`` for an option of training without ``--train``."""
    said = {
        "rule": request.train_rule,
        "mixed_precision": request.mixed_precision,
        "update": request.update,
        "freeze": request.freeze,
        "lora": request.lora,
        "checkpoint": request.checkpoint,
        "attention": request.attention,
    }
    return training_stated(request.train, said)


def _judged(report: Report, request: Request) -> int:
    """The exit code, with its reason on standard error where it is not 0."""
    return judged(report, request.require_fit, request.strict) or _warned(report, request)


def judged(report: Report, require_fit: bool, strict: bool) -> int:
    """The exit code of a check that ``report`` does not pass, with the reason on standard error; 0 if it passes all."""
    verdicts = tuple((device, on.fit.verdict) for device, on in by_device(report).items())
    short = [device for device, verdict in verdicts if verdict == "does not fit"]
    untrained = [device for device, on in by_device(report).items() if on.training and on.training.verdict != "fits"]
    unsure = [device for device, verdict in verdicts if verdict not in ("fits", "does not fit")]
    if require_fit and short:
        return _explain(f"does not fit {', '.join(short)}", DOES_NOT_FIT)
    if strict and not report.is_exact:
        return _explain(f"not exact: {inexact(report)}", NOT_EXACT)
    if require_fit and untrained:
        return _explain(f"training does not fit {', '.join(untrained)} for certain", DOES_NOT_FIT)
    if require_fit and unsure:
        return _explain(f"whether it fits {', '.join(unsure)} cannot be told", DOES_NOT_FIT)
    return 0


def _warned(report: Report, request: Request) -> int:
    """The exit code for what a device that was named by itself cannot do at all."""
    code = warn_untrainable(report, request.on) if request.train is not None else 0
    if code or request.precision is None or not report.facts.macs:
        return code
    from weighbridge.estimates import precision_named

    return warn_without_rate(request.on, precision_named(request.precision))


def _explain(reason: str, code: int) -> int:
    sys.stderr.write(f"weighbridge: {reason}\n")
    return code

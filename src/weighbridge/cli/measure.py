"""Carries out ``weighbridge measure``: measures, records, writes, and decides the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from weighbridge.cli.output import Shown, to_every, write_page
from weighbridge.cli.progress import progress
from weighbridge.cli.targets import Input, Output, check_targets, inputs_of, targets_of
from weighbridge.errors import BadSpec, printable
from weighbridge.measuring import measured
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.measured import Measured
from weighbridge.report.measured_grids import table
from weighbridge.report.measured_page import lines, markdown
from weighbridge.stated_inputs import inputs_for, is_size
from weighbridge.stated_options import dims_of

__all__ = ["NOISY", "NO_ENERGY", "Request", "carry_out"]

_SHOWN: Final = Shown(lines, markdown, table, "weighbridge.report.measured_html")

NOISY: Final = 1
"""The exit code of a measurement that something disturbed, where that was to be told."""
NO_ENERGY: Final = 2
"""That of asking for an energy that the machine does not tell."""


class Request(NamedTuple):
    """The options as they were written."""

    sources: Sequence[str]
    batch: int | None = None
    sequence: int | None = None
    dims: Sequence[str] = ()
    inputs: Sequence[str] = ()
    values: Sequence[str] = ()
    runtime: str = ""
    mode: str = ""
    threads: str = "1"
    pin: str | None = None
    streams: int = 1
    batches: str | None = None
    width: float = 0.01
    seconds: float = 20.0
    profile: bool = False
    energy: bool = False
    fps: str | None = None
    on: Sequence[str] = ()
    precision: str | None = None
    although: Sequence[str] = ()
    record: str | None = None
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    all_rows: bool = False
    fail_if_noisy: bool = False


def carry_out(request: Request) -> int:
    """Measure, write everything that was asked for, and return the exit code.  Every option is looked at before the work begins."""
    values = dict(_values(request.values))
    read = [one for source in request.sources for one in inputs_of(source)]
    read += [*inputs_of(None, request.on), *(Input(Path(path), "values of an input") for path in values.values())]
    output = Output(request.json, request.csv, request.markdown, request.outputs)
    targets = targets_of(output, read)
    if request.record is not None and not request.record.endswith("/"):
        check_targets((*(one.place for one in targets), request.record), read)
    with progress() as tell:
        found = measured(
            *request.sources,
            batch=request.batch,
            sequence=request.sequence,
            dims=dict(dims_of(request.dims)),
            **_inputs(request),
            values=values,
            runtime=_words(request.runtime),
            mode=_words(request.mode),
            threads=_numbers("--threads", request.threads),
            pin=() if request.pin is None else _numbers("--pin", request.pin),
            streams=request.streams,
            batches=() if request.batches is None else _numbers("--batch-sweep", request.batches),
            width=request.width,
            seconds=request.seconds,
            profile=request.profile,
            energy=request.energy,
            fps=request.fps,
            on=request.on,
            precision=request.precision,
            although=[word for option in request.although for word in _words(option)],
            record=request.record,
            progress=tell,
        )
    to_every(targets, lambda target: write_page(target, found, _SHOWN, all_rows=request.all_rows))
    if any(one.energy is not None and one.energy.energy_j is None for one in found.measurements):
        return _without_energy(found)
    return _judged(found) if request.fail_if_noisy else 0


def _inputs(request: Request) -> dict[str, Any]:
    """What was said of inputs, which all sources have to take alike."""
    each = [inputs_for(source, request.inputs) for source in request.sources]
    if request.inputs and any(one != each[0] for one in each):
        hint = "measure them one at a time, or give sizes with --batch"
        raise BadSpec("these sources take no inputs that are given alike", where="--input", hint=hint)
    return each[0] if request.inputs else {}


def _values(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    for option in options:
        name, equals, path = option.partition("=")
        if not (name and equals and path):
            raise BadSpec(f"{option!r} names no values of an input", where="--values", hint="write NAME=FILE.npy")
        yield name, path


def _words(option: str) -> list[str]:
    return [word.strip() for word in option.split(",")]


def _numbers(name: str, option: str) -> list[int]:
    words = _words(option)
    wrong = next((word for word in words if not is_size(word)), None)
    if wrong is not None:
        raise BadSpec(f"{wrong!r} is no whole number from 0 on", where=name, hint="write them as in 1,4,16")
    return [int(word) for word in words]


def _without_energy(found: Measured) -> int:
    """The exit code of asking for an energy that cannot be told: all else has been shown."""
    for one in found.measurements:
        if one.energy is not None and one.energy.energy_j is None:
            sys.stderr.write(
                f"weighbridge: no energy of {printable(one.name, 60)}: {printable(one.energy.reason, 300)}\n"
            )
    return NO_ENERGY


def _judged(found: Measured) -> int:
    """The exit code of a check that nothing disturbed the measurements, with the reasons on standard error."""
    reasons = [f"{one.name}: {reason}" for one in found.measurements for reason in one.noise]
    for reason in reasons:
        sys.stderr.write(f"weighbridge: noisy: {reason}\n")
    return NOISY if reasons else 0

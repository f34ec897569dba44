"""Carries out ``weighbridge calibrate`` and ``weighbridge validate``: measures or reads, writes, and returns the exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from weighbridge.calibrating import calibrated
from weighbridge.cli.output import Shown, to_every, write, write_page
from weighbridge.cli.progress import progress
from weighbridge.cli.targets import Input, Output, Target, check_targets, inputs_of, targets_of
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report import calibrated_page, validated_page
from weighbridge.report.calibrated import Calibration
from weighbridge.validating import validated

__all__ = ["CalibrateRequest", "ValidateRequest", "calibrate", "validate"]

_CALIBRATED: Final = Shown(
    calibrated_page.lines, calibrated_page.markdown, calibrated_page.table, "weighbridge.report.calibrated_html"
)
_VALIDATED: Final = Shown(
    validated_page.lines, validated_page.markdown, validated_page.table, "weighbridge.report.validated_html"
)
_DEVICE_FILE: Final = ".toml"


class CalibrateRequest(NamedTuple):
    """The options as they were written."""

    networks: Sequence[str]
    runtime: Sequence[str] = ()
    threads: int | None = None
    batch: int | None = None
    seconds: float = 20.0
    operator_seconds: float = 30.0
    name: str = ""
    record: str | None = None
    records: Sequence[str] = ()
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    all_rows: bool = False


class ValidateRequest(NamedTuple):
    """The options as they were written."""

    records: Sequence[str]
    on: str
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    all_rows: bool = False


def calibrate(request: CalibrateRequest) -> int:
    """Measure, write everything that was asked for, and return the exit code.  Every option is looked at before the work begins."""
    read = [one for source in request.networks for one in inputs_of(source)]
    read += [one for place in request.records for one in _read(Path(place))]
    is_device = [Path(one).suffix.lower() == _DEVICE_FILE for one in request.outputs]
    pages = [one for one, device in zip(request.outputs, is_device, strict=True) if not device]
    devices = [one for one, device in zip(request.outputs, is_device, strict=True) if device]
    targets = targets_of(Output(request.json, request.csv, request.markdown, pages), read)
    recorded = [] if request.record is None or request.record.endswith("/") else [request.record]
    if request.record is not None and any(_is_same(request.record, place) for place in request.records):
        hint = "name another file for the new ones"
        raise BadSpec("new measurements would go to the records that are read", where=request.record, hint=hint)
    check_targets((*(one.place for one in targets if one.kind != "screen"), *devices, *recorded), read)
    with progress() as tell:
        found = calibrated(
            *request.networks,
            runtime=request.runtime,
            threads=request.threads,
            batch=request.batch,
            seconds=request.seconds,
            operator_seconds=request.operator_seconds,
            records=request.records,
            name=request.name,
            record=request.record,
            progress=tell,
        )
    every = (*(Target("device", one) for one in devices), *targets)
    to_every(every, lambda target: _write(target, found, all_rows=request.all_rows))
    return 0


def _write(target: Target, found: Calibration, *, all_rows: bool) -> None:
    if target.kind == "device":
        write(found.to_toml(), Path(target.place))
    else:
        write_page(target, found, _CALIBRATED, all_rows=all_rows)


def validate(request: ValidateRequest) -> int:
    """Read, write everything that was asked for, and return the exit code.  Every option is looked at before the work begins."""
    read = [one for place in request.records for one in _read(Path(place))]
    read += inputs_of(None, (request.on,))
    targets = targets_of(Output(request.json, request.csv, request.markdown, request.outputs), read)
    with progress() as tell:
        found = validated(*request.records, on=request.on, progress=tell)
    to_every(targets, lambda target: write_page(target, found, _VALIDATED, all_rows=request.all_rows))
    return 0


def _is_same(one: str, other: str) -> bool:
    return Path(one).exists() and Path(other).exists() and Path(one).samefile(other)


def _read(place: Path) -> Iterator[Input]:
    """The files that are read."""
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
    except OSError:  # told where they are read
        return
    for one in files:
        yield Input(one, "a record of measurements")

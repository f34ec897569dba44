"""Carries out ``weighbridge plot``: one chart of saved reports as a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from weighbridge.cli.output import check_policy
from weighbridge.cli.progress import progress
from weighbridge.cli.saved import HOW_TO_SAVE, check_saved, read_saved, saved_inputs
from weighbridge.cli.targets import check_targets, file_format
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.asking import DEVICE
from weighbridge.report.charts.kinds import KINDS
from weighbridge.report.extra import report_extra
from weighbridge.report.peaks import LIVE, policy_named

if TYPE_CHECKING:
    from weighbridge.report.charts.panel import Kind

__all__ = ["Request", "carry_out"]

_FORMATS: Final = {".svg": "svg", ".png": "png", ".pdf": "pdf"}
_SCALE: Final = 2.0
_SCALES: Final = (0.25, 8)
"""The least and the most."""


class Request(NamedTuple):
    """The options as they were written."""

    saved: Sequence[str]
    chart: str
    output: str
    on: str | None = None
    policy: str = LIVE
    theme: str = "light"
    scale: float | None = None


def carry_out(request: Request) -> int:
    """Read the reports, draw the chart, write the picture and return the exit code.

    Every option is looked at before a file is read.  What the picture leaves out stands in it, and on standard error.
    """
    kind = _kind(request)
    picture_format = file_format(request.output, _FORMATS)
    scale = _scale(request.scale, picture_format)
    policy_named(request.policy)
    check_targets([request.output], saved_inputs(request.saved))
    with report_extra("a chart"):
        from weighbridge.report.charts.drawn import chart, devices_of
        from weighbridge.report.pictures import picture
    reports = read_saved(request.saved)
    check_saved(request.saved, reports, lambda report: check_policy(report, request.policy))
    device = _device(devices_of(reports), request) if kind.of_device else None
    with progress() as tell:
        tell(f"drawing {request.chart}")
        drawn = chart(request.chart, reports, request.policy, device)
        if drawn.spec is None:
            what = f"there is no chart {request.chart}: {'; '.join(drawn.reasons)}"
            raise BadSpec(what, where=", ".join(request.saved))
        try:
            content = picture(drawn, picture_format, tuple(reports), theme=request.theme, scale=scale)
        except BadSpec as error:
            raise error.at(request.output) from None
    _write(content, Path(request.output))
    for note in (*drawn.reasons, *drawn.notes):
        sys.stderr.write(f"weighbridge: note: {note}\n")
    return 0


def _kind(request: Request) -> Kind:
    kind = KINDS.get(request.chart)
    if kind is None:
        from difflib import get_close_matches

        near = get_close_matches(request.chart, KINDS, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise BadSpec(
            f"there is no chart {request.chart!r}", where="CHART", hint=f"{meant}the charts are {', '.join(KINDS)}"
        )
    if request.on is not None and not kind.of_device:
        of_devices = ", ".join(name for name, one in KINDS.items() if one.of_device)
        hint = f"leave it out; charts of a device are {of_devices}" if of_devices else "leave it out"
        raise BadSpec(f"the chart {request.chart} is of no device", where="--on", hint=hint)
    if not request.saved:
        raise BadSpec("no saved report stands before the chart", where="SAVED", hint=HOW_TO_SAVE)
    return kind


def _scale(asked_for: float | None, picture_format: str) -> float:
    if asked_for is None:
        return _SCALE
    if picture_format != "png":
        raise BadSpec(f"a picture as {picture_format} has no pixels", where="--scale", hint="it is for -o FILE.png")
    least, most = _SCALES
    if not least <= asked_for <= most:
        raise BadSpec(
            f"must be from {least} to {most}, not {asked_for}", where="--scale", hint="2 is sharp on most screens"
        )
    return asked_for


def _device(names: Sequence[str], request: Request) -> str | None:
    """The device that is asked for, or the only one; None where no report has any, of which the chart gives the reason."""
    if request.on in names or (request.on is None and not names):
        return request.on
    listed = f"the devices are {', '.join(names)}"
    if request.on is not None:
        hint = listed if names else f"weigh it with {DEVICE}"
        raise BadSpec(f"no report has the device {request.on!r}", where="--on", hint=hint)
    if len(names) > 1:
        raise BadSpec(f"the chart {request.chart} is of one device", where="--on", hint=listed)
    return names[0]


def _write(content: bytes, path: Path) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise BadSpec(f"cannot be written: {error.strerror or error}", where=str(path)) from None

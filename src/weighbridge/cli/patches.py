"""Carries out ``weighbridge patches``: plans, writes, and decides the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from weighbridge.cli.output import Shown, to_every, write_page
from weighbridge.cli.progress import progress
from weighbridge.cli.source_call import called
from weighbridge.cli.targets import Output, inputs_of, targets_of
from weighbridge.cli.weigh import DOES_NOT_FIT
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.patching import in_patches
from weighbridge.report.patched import Patched
from weighbridge.report.patched_page import lines, markdown, table
from weighbridge.stated_options import dims_of

__all__ = ["Request", "carry_out"]

_SHOWN: Final = Shown(lines, markdown, table, "weighbridge.report.patched_html")


class Request(NamedTuple):
    """The options as they were written."""

    source: str
    last: str | None = None
    grids: Sequence[str] = ()
    policy: str = "live_in_place"
    input_elsewhere: bool = False
    on: Sequence[str] = ()
    reserve: Sequence[str] = ()
    batch: int | None = None
    sequence: int | None = None
    dims: Sequence[str] = ()
    inputs: Sequence[str] = ()
    weight_bits: Sequence[str] = ()
    activation_bits: int | None = None
    precision: str | None = None
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    all_rows: bool = False
    require_fit: bool = False


def carry_out(request: Request) -> int:
    """Plan, write everything that was asked for, and return the exit code.

    Every option is looked at before the work begins.
    """
    output = Output(request.json, request.csv, request.markdown, request.outputs)
    targets = targets_of(output, inputs_of(request.source, request.on))
    if request.require_fit and not request.on:
        raise BadSpec("--require-fit without a device", hint="name one with --on; `weighbridge devices` lists them")
    with progress() as tell:
        found = called(
            in_patches,
            request.source,
            request.inputs,
            tell,
            last=request.last,
            grid=request.grids,
            policy=request.policy,
            with_input=not request.input_elsewhere,
            on=request.on,
            reserve=request.reserve,
            batch=request.batch,
            sequence=request.sequence,
            dims=dict(dims_of(request.dims)),
            weight_bits=request.weight_bits or None,
            activation_bits=request.activation_bits,
            precision=request.precision,
        )
    found = found if found.source else replace(found, source=request.source)
    to_every(targets, lambda target: write_page(target, found, _SHOWN, all_rows=request.all_rows))
    return _judged(found) if request.require_fit else 0


def _judged(found: Patched) -> int:
    """The exit code of a check that every device has room, with the reason on standard error."""
    for room in found.on:
        fits = room.after or room.before
        if fits != "fits":
            reason = "does not fit" if fits == "does not fit" else "cannot be told to fit"
            sys.stderr.write(f"weighbridge: {reason} {room.device} in patches\n")
            return DOES_NOT_FIT
    return 0

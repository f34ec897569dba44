"""Carries out ``weighbridge order``: searches, writes, and returns the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from weighbridge.cli.output import Shown, to_every, write_page
from weighbridge.cli.progress import progress
from weighbridge.cli.source_call import called
from weighbridge.cli.targets import Output, check_targets, inputs_of, targets_of
from weighbridge.exporting import check_export
from weighbridge.named_tuple import NamedTuple
from weighbridge.ordering import best_order
from weighbridge.report.ordered_page import lines, markdown, table
from weighbridge.stated_options import dims_of

__all__ = ["Request", "carry_out"]

_SHOWN: Final = Shown(lines, markdown, table, "weighbridge.report.ordered_html")


class Request(NamedTuple):
    """The options as they were written."""

    source: str
    batch: int | None = None
    sequence: int | None = None
    dims: Sequence[str] = ()
    inputs: Sequence[str] = ()
    weight_bits: Sequence[str] = ()
    activation_bits: int | None = None
    precision: str | None = None
    most_states: int | None = None
    export: str | None = None
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()
    all_rows: bool = False


def carry_out(request: Request) -> int:
    """Search, write everything that was asked for, and return the exit code.  Every option is looked at before the work begins."""
    output = Output(request.json, request.csv, request.markdown, request.outputs)
    targets = targets_of(output, inputs_of(request.source))
    if request.export is not None:
        check_export(request.source, request.export)
        check_targets((*(one.place for one in targets), request.export), inputs_of(request.source))
    limit: dict[str, Any] = {} if request.most_states is None else {"most_states": request.most_states}
    with progress() as tell:
        found = called(
            best_order,
            request.source,
            request.inputs,
            tell,
            batch=request.batch,
            sequence=request.sequence,
            dims=dict(dims_of(request.dims)),
            weight_bits=request.weight_bits or None,
            activation_bits=request.activation_bits,
            precision=request.precision,
            export=request.export,
            **limit,
        )
    found = found if found.source else replace(found, source=request.source)
    to_every(targets, lambda target: write_page(target, found, _SHOWN, all_rows=request.all_rows))
    return 0

"""Carries out ``weighbridge compress``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from weighbridge.cli.output import to_every, write_to
from weighbridge.cli.progress import progress
from weighbridge.cli.source_call import called
from weighbridge.cli.targets import STDOUT, Input, Target, check_targets, file_format, inputs_of
from weighbridge.compressing import compress
from weighbridge.compression.record import Compression
from weighbridge.named_tuple import NamedTuple
from weighbridge.stated_options import dims_of

__all__ = ["Request", "carry_out"]

_SUFFIXES: Final = {".json": "json", ".csv": "csv", ".md": "markdown", ".markdown": "markdown", ".txt": "text"}
_WIDTH: Final = 120
"""Of a text file."""


class Request(NamedTuple):
    """The options as they were written."""

    source: str
    batch: int | None = None
    sequence: int | None = None
    dims: Sequence[str] = ()
    inputs: Sequence[str] = ()
    keep: Sequence[str] = ()
    codebook: Sequence[str] = ()
    index_bits: Sequence[str] = ()
    huffman_values: Sequence[str] = ()
    huffman_indices: Sequence[str] = ()
    fillers: Sequence[str] = ()
    plan: str | None = None
    ratios_only: bool = False
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    outputs: Sequence[str] = ()


def carry_out(request: Request) -> int:
    """Compress, and write everything that was asked for.  Raises ``BadSpec`` and what the source's reader raises."""
    targets = tuple(_targets(request))
    check_targets((target.place for target in targets), _inputs(request))
    with progress() as tell:
        found = _compressed(request, tell)
    is_shown = all(target.place != STDOUT for target in targets)
    to_every((*targets, *([Target("screen", STDOUT)] if is_shown else [])), lambda target: _write(found, target))
    if not is_shown and not found.is_exact:
        sys.stderr.write("weighbridge: warning: not exact: the notes say what is left out\n")
    return 0


def _write(found: Compression, target: Target) -> None:
    from weighbridge.report.compression_page import compression_lines

    write_to(target, lambda look: compression_lines(found, look), lambda kind: _formatted(found, kind))


def _targets(request: Request) -> Iterator[Target]:
    for kind, place in (("json", request.json), ("csv", request.csv), ("markdown", request.markdown)):
        if place is not None:
            yield Target(kind, place)
    for file in request.outputs:
        yield Target(file_format(file, _SUFFIXES), file)


def _inputs(request: Request) -> Iterator[Input]:
    yield from inputs_of(request.source)
    if request.plan is not None:
        yield Input(Path(request.plan), "the plan")


def _compressed(request: Request, tell: Callable[[str], None]) -> Compression:
    rules = ("keep", "codebook", "index_bits", "huffman_values", "huffman_indices", "fillers")
    options: dict[str, Any] = {name: getattr(request, name) or None for name in rules}
    options |= {"plan": request.plan, "ratios_only": request.ratios_only}
    options |= {"batch": request.batch, "sequence": request.sequence, "dims": dict(dims_of(request.dims))}
    found = called(compress, request.source, request.inputs, tell, **options)
    return found._replace(source=request.source)


def _formatted(found: Compression, kind: str) -> str:
    from weighbridge.report import compression_page

    if kind == "json":
        from weighbridge.report.json import layout

        return layout(found.to_dict())
    if kind == "csv":
        from weighbridge.report.csv import render

        return render(compression_page.compression_table(found))
    if kind == "markdown":
        return compression_page.compression_markdown(found)
    from weighbridge.report.terminal import Look

    return compression_page.compression_text(found, Look(_WIDTH))

"""The history of a model, for people: a table for each set of conditions, and what parts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.errors import printable
from weighbridge.measure.conditions import Difference
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.measured_history import History, ModelHistory, Point, Series
from weighbridge.report.measured_words import UNKNOWN, time
from weighbridge.report.page import Table
from weighbridge.report.spans import Line, text_of
from weighbridge.report.terminal import Look
from weighbridge.report.told import Told, lines_of, markdown_of
from weighbridge.units import exact

__all__ = ["grids", "lines", "markdown", "said", "sentences", "subtitle", "table", "text", "title"]

_NAME: Final = 60
_ROWS: Final = 30
_FAULTS: Final = 10
_VERSION: Final = 8
"""Digits of a hash that tell versions apart."""


def lines(found: History, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans."""
    return lines_of(_told(found, all_rows), look)


def text(found: History, look: Look) -> str:
    """The page as plain text, with every row."""
    return text_of(lines(found, look, all_rows=True))


def markdown(found: History) -> str:
    """The page as Markdown, with every row."""
    return markdown_of(_told(found, all_rows=True))


def _told(found: History, all_rows: bool) -> Told:
    every = sentences(found), grids(found, all_rows=all_rows)
    return Told(title(found), subtitle(found), (), *every, said(found), found.tool)


def title(found: History) -> str:
    """The place."""
    return f"the history in {printable(found.place, _NAME)}"


def subtitle(found: History) -> str:
    """How much there is."""
    count = sum(len(series.points) for model in found.models for series in model.series)
    return f"{_many(count, 'measurement')} of {_many(len(found.models), 'model')}"


def sentences(found: History) -> Iterator[str]:
    """What changed last in each series, and what parts the series of a model."""
    for model in found.models:
        for series in model.series:
            if len(series.points) > 1:
                yield _drift(model, series)
        if len(model.series) > 1:
            parting = dict.fromkeys(printable(one.name) for series in model.series for one in series.differences)
            sets = f"{_name(model)}: {exact(len(model.series))} sets of conditions, which are not compared"
            yield f"{sets}; they differ in {', '.join(parting)}"


def _drift(model: ModelHistory, series: Series) -> str:
    last, count = series.points[-1], len(series.points)
    versions = len({one.version for one in series.points})
    head = f"{_name(model)}: {_many(count, 'measurement')} of {_many(versions, 'version')}"
    if last.change is None or last.is_beyond_noise is None:
        return f"{head}; the last one cannot be told from the one before"
    if not last.is_beyond_noise:
        return f"{head}; the last one took as long as the one before, for all that is known"
    return f"{head}; the last one took {abs(last.change):.1%} {'longer' if last.change > 0 else 'less'} than the one before"


def grids(found: History, *, all_rows: bool = False) -> Iterator[Grid]:
    """A table for each series."""
    columns = (
        Column("measured at"),
        Column("version"),
        Column("median", is_number=True),
        Column("from", is_number=True),
        Column("to", is_number=True),
        Column("change", is_number=True),
        Column("", rank=1),
        Column("noisy", rank=2),
    )
    for model in found.models:
        for place, series in enumerate(model.series):
            shown = series.points if all_rows else series.points[-_ROWS:]
            more = len(series.points) - len(shown)
            notes = (
                _under(series),
                *(f"not as in the first set: {_difference(one)}" for one in series.differences if place),
                *(
                    f"{point.taken_at}: not as in the first row: {_difference(one)}"
                    for point in shown
                    for one in point.differences
                ),
                *((f"{exact(more)} earlier ones; --all shows them",) if more else ()),
            )
            number = f", conditions {place + 1}" if len(model.series) > 1 else ""
            heading = f"{_name(model)} from {printable(model.source, _NAME)}{number}"
            yield Grid(heading, columns, tuple(map(_row, shown)), tuple(printable(note, 400) for note in notes))


def _under(series: Series) -> str:
    one = series.conditions
    where = one.hardware.processor if one.hardware.accelerator is None else one.hardware.accelerator.name
    batch = UNKNOWN if one.batch is None else exact(one.batch)
    how = f"{one.runtime} {one.version} ({one.mode}), {one.precision or UNKNOWN}, batch {batch}"
    return f"{how}, {_many(one.threads, 'thread')}, {where or UNKNOWN}"


def _difference(one: Difference) -> str:
    return f"{one.name}: {one.second} in place of {one.first}"


def _row(point: Point) -> GridRow:
    interval, version = point.interval, point.version
    cells = (
        printable(point.taken_at, 40),
        UNKNOWN if version is None else printable(version[:_VERSION]) + (" new" if point.is_new_version else ""),
        time(point.median_s),
        UNKNOWN if interval is None else time(interval.low_s),
        UNKNOWN if interval is None else time(interval.high_s),
        "" if point.change is None else f"{point.change:+.1%}",
        {None: "", False: "within the noise", True: "beyond the noise"}[point.is_beyond_noise],
        "noisy" if point.noise else "",
    )
    return GridRow(cells)


def said(found: History) -> list[str]:
    """The records that were skipped."""
    faults = [f"skipped: {one.where}: {one.what}" for one in found.faults[:_FAULTS]]
    if len(found.faults) > _FAULTS:
        faults.append(
            f"skipped: {exact(len(found.faults) - _FAULTS)} more records that cannot be read; the JSON has them"
        )
    return [printable(fault, 300) for fault in faults]


def table(found: History) -> Table:
    """A row a measurement, for formats that are computed on."""
    columns = (
        "model",
        "source",
        "conditions",
        "taken_at",
        "sha256",
        "median_s",
        "low_s",
        "high_s",
        "change",
        "samples",
        "noisy",
    )
    rows = []
    for model in found.models:
        for place, series in enumerate(model.series):
            for one in series.points:
                low, high = (None, None) if one.interval is None else one.interval
                head = model.name, model.source, place, one.taken_at, one.version
                rows.append((*head, one.median_s, low, high, one.change, one.samples, bool(one.noise)))
    return Table(columns, tuple(rows))


def _name(model: ModelHistory) -> str:
    return printable(model.name, _NAME)


def _many(count: int, what: str) -> str:
    return f"{exact(count)} {what}{'' if count == 1 else 's'}"

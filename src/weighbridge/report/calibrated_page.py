"""A calibration for people: the machine, the rates of each runtime beside the peak, efficiencies, and how far expected times are off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.calibration.left_out import FEWEST_OF_TENTHS
from weighbridge.devices.device import Peak
from weighbridge.errors import printable
from weighbridge.report.calibrated import Calibration, ClassTimes, RuntimeFit
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.measured_words import UNKNOWN, time
from weighbridge.report.page import Table, percent
from weighbridge.report.predicted_grids import (
    asides,
    distribution_grid,
    network_grid,
    network_table,
    off,
    predicted_sentences,
    warnings_of,
)
from weighbridge.report.spans import Line, text_of
from weighbridge.report.terminal import Look
from weighbridge.report.told import Told, lines_of, markdown_of
from weighbridge.units import binary_bytes, decimal_bytes, exact, short, significant

__all__ = ["grids", "lines", "markdown", "said", "sentences", "subtitle", "table", "text", "title"]

_NAME: Final = 60
_OPERATORS: Final = 8
"""Single operators that are shown, of those that the rates are farthest from."""


def lines(found: Calibration, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans."""
    return lines_of(_told(found, all_rows), look)


def text(found: Calibration, look: Look) -> str:
    """The page as plain text, with every row."""
    return text_of(lines(found, look, all_rows=True))


def markdown(found: Calibration) -> str:
    """The page as Markdown, with every row."""
    return markdown_of(_told(found, all_rows=True))


def _told(found: Calibration, all_rows: bool) -> Told:
    every = sentences(found), grids(found, all_rows=all_rows)
    return Told(title(found), subtitle(found), (), *every, said(found), found.tool)


def title(found: Calibration) -> str:
    """The device."""
    return f"{printable(found.device.name, _NAME)}, calibrated"


def subtitle(found: Calibration) -> str:
    """On what, with what, and when."""
    threads = f"{exact(found.threads)} thread{'s' if found.threads > 1 else ''}"
    return printable(f"{found.hardware.processor or 'an unknown processor'} with {threads}; {found.taken_at}", 240)


def sentences(found: Calibration) -> Iterator[str]:
    """What cannot be, what networks take, and the machine's peaks."""
    yield from warnings_of(found.networks)
    yield from predicted_sentences(found.errors)
    for one in found.runtimes:
        if one.least is not None and one.most is not None:
            within = f"{significant(one.least)} to {significant(one.most)} times the expected time"
            if one.networks < FEWEST_OF_TENTHS:
                yield f"{_runtime(one)}: all {exact(one.networks)} networks took {within} when left out in turn; others may be farther off"
            else:
                yield f"{_runtime(one)}: four of five networks to come are within {within}, by {exact(one.networks)} left out in turn"
    for peak in found.device.peaks:
        reached = f"{short(peak.ops_per_s.value)}OPS"
        yield f"peak at {printable(peak.precision, _NAME)}: {reached}, {printable(peak.ops_per_s.source, 160)}"


def grids(found: Calibration, *, all_rows: bool = False) -> Iterator[Grid]:
    """Bandwidths, the rates of each runtime, the networks, and the errors."""
    if found.bandwidths:
        yield _bandwidths(found)
    for one in found.runtimes:
        yield _rates(found, one)
        yield _operators(one, all_rows)
    if found.networks:
        yield network_grid(found.networks)
    if found.errors:
        yield distribution_grid(found.errors)


def _bandwidths(found: Calibration) -> Grid:
    columns = (Column("working set", is_number=True), Column("bandwidth", is_number=True), Column("", rank=1))
    rows = tuple(
        GridRow(
            (binary_bytes(one.working_set_bytes), f"{decimal_bytes(round(one.bytes_per_s))}/s", printable(one.how, 80))
        )
        for one in found.bandwidths
    )
    return Grid("bytes read and written a second, by how many are touched again and again", columns, rows)


def _rates(found: Calibration, one: RuntimeFit) -> Grid:
    """A class a row; beside each rate of multiply-accumulates its share of the peak."""
    columns = (
        Column("operators"),
        Column("MACs", is_number=True),
        Column("of the peak", is_number=True, rank=1),
        Column("bytes", is_number=True),
        Column("operations", is_number=True, rank=2),
        Column("compares", is_number=True, rank=2),
        Column("special", is_number=True, rank=2),
        Column("each", is_number=True, rank=1),
        Column("efficiency", is_number=True),
    )
    peak = found.device.peak(one.precision)
    rows = tuple(GridRow(tuple(_cells(each, peak))) for each in one.classes)
    return Grid(f"{_runtime(one)}: rates of single operators", columns, rows, tuple(_under(one)))


def _cells(each: ClassTimes, peak: Peak | None) -> Iterator[str]:
    yield each.operators
    yield "" if each.macs_per_s is None else f"{short(round(each.macs_per_s))}/s"
    share = None if each.macs_per_s is None or peak is None else 2 * each.macs_per_s / peak.ops_per_s.value
    yield "" if share is None else percent(share)
    yield "" if each.bytes_per_s is None else f"{decimal_bytes(round(each.bytes_per_s))}/s"
    for rate in (each.operations_per_s, each.compares_per_s, each.special_per_s):
        yield "" if rate is None else f"{short(round(rate))}/s"
    yield " + ".join(time(one) for one in (each.node_overhead_s, each.overhead_s) if one is not None)
    yield UNKNOWN if each.efficiency is None else f"{'' if each.has_networks else '~'}{significant(each.efficiency)}"


def _under(one: RuntimeFit) -> Iterator[str]:
    call = "no time of its own" if one.call_s is None else time(one.call_s)
    graph = "the graph as it is deployed" if one.fuses else "the graph as it is written"
    yield f"a run takes {call} beside its operators; {graph} is what runs"
    yield (
        "a class takes MACs, bytes, other operations, comparisons and special functions (exp, erf) over their rates, and the time of each "
        "node and kernel"
    )
    if one.lanes > 1:
        yield f"channels of products are counted in lanes of {exact(one.lanes)}, padded ones among them"
    if one.near_bytes is not None and one.far_bytes_per_s is not None:
        far = f"{decimal_bytes(round(one.far_bytes_per_s))}/s"
        reached = (
            "" if one.far_efficiency is None else f", and networks reach {significant(one.far_efficiency)} of that"
        )
        yield f"bytes beyond the nearest {binary_bytes(round(one.near_bytes))} take a time more, by {far}{reached}"
    if one.common is None:
        yield "no efficiency: too few networks were measured"
        return
    own = any(not each.has_networks for each in one.classes)
    yield (
        f"efficiency: how much of these rates {exact(one.networks)} networks reached, drawn to the common {significant(one.common)}"
        f"{'; ~ no network here has this class, which takes the common one' if own else ''}; above 1: values are still in a cache"
    )


def _operators(one: RuntimeFit, all_rows: bool) -> Grid:
    columns = (
        Column("single operator"),
        Column("class", rank=2),
        Column("measured", is_number=True),
        Column("by the rates", is_number=True),
        Column("off", is_number=True),
    )
    ordered = sorted(one.operators, key=lambda each: -abs(each.error))
    shown = ordered if all_rows else ordered[:_OPERATORS]
    rows = tuple(
        GridRow(
            (printable(each.name, 100), each.operators, time(each.measured_s), time(each.expected_s), off(each.error))
        )
        for each in shown
    )
    sizes = sorted(abs(each.error) for each in ordered)
    middle = f"{sizes[len(sizes) // 2]:.1%}" if sizes else UNKNOWN
    note = (
        f"the rates are off by {middle} in the median of {exact(len(ordered))} single operators; these are off by most"
    )
    more = len(ordered) - len(shown)
    return Grid(
        f"{_runtime(one)}: single operators",
        columns,
        rows,
        (note, *((f"{exact(more)} more; --all shows them",) if more else ())),
    )


def _runtime(one: RuntimeFit) -> str:
    return printable(f"{one.runtime} {one.version} ({one.mode}), {one.precision}", _NAME)


def said(found: Calibration) -> list[str]:
    """The notes, and what was left out."""
    return [*(printable(note, 600) for note in dict.fromkeys(found.notes)), *asides(found.aside)]


def table(found: Calibration) -> Table:
    """A row a network, for formats that are computed on."""
    return network_table(found.networks)

"""What a page says of devices side by side, of a device's layers and batches, and of energy, as tables of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from weighbridge.errors import printable
from weighbridge.report.expectations import EXPECTED_NOTE, expected_cell, has_expected
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.headlines import NOT_VERIFIED, lower_bound
from weighbridge.report.page import percent
from weighbridge.report.record import OnDevice, Report
from weighbridge.units import exact, joules, seconds, significant

if TYPE_CHECKING:
    from weighbridge.estimates import Bill, Charge, Fit, NodeTime, Region

__all__ = ["batches", "bill", "charge_sentence", "devices", "region_percent", "slowest_layers", "summary", "word"]

_UNKNOWN = "?"
_SLOWEST = 5
_NAMED = 6


def word(said: str | None) -> str:
    """A verdict, what binds or a precision: this version has a few of each, and a saved report may have any."""
    return printable(said or "", 40)


def summary(on: Sequence[OnDevice]) -> str:
    """``12 devices: 3 fit (a, b, c), 9 do not``."""
    verdicts = Counter(one.fit.verdict for one in on)
    fitting = [printable(one.device) for one in on if one.fit.verdict == "fits"]
    named = f" ({', '.join(fitting)})" if len(fitting) <= _NAMED else ""
    parts = [f"{len(fitting)} fit{'s' * (len(fitting) == 1)}{named}" if fitting else "none is known to fit"]
    if verdicts["does not fit"]:
        parts.append(f"{verdicts['does not fit']} {'does' if verdicts['does not fit'] == 1 else 'do'} not")
    if verdicts["unknown"]:
        parts.append(f"of {verdicts['unknown']} it is unknown")
    return f"{len(on)} devices: {', '.join(parts)}"


def devices(report: Report) -> Grid | None:
    """A row of verdicts a device, where there are several: the same counts through each of them."""
    if len(report.on) < 2:
        return None
    has_deadline = any(one.deadline for one in report.on)
    expects = has_expected(report.on)
    columns = (
        Column("device"),
        Column("verdict"),
        Column("weights", True),
        Column("activations", True),
        Column("floor", True),
        *([Column("expected", True, rank=1)] if expects else []),
        Column("bound", rank=2),
        Column("layer by layer", True, rank=3),
        Column("short by", True, rank=1),
        Column("compute", True, rank=5),
        Column("memory", True, rank=6),
        Column("per s at most", True, rank=4),
        *([Column("frames missed", True, rank=1)] if has_deadline else []),
    )
    notes = ["weights, activations: of the memory that holds them; a memory that holds both is counted for both"]
    if any(_is_doubtful(one) for one in report.on):
        notes.append(NOT_VERIFIED)
    if expects:
        notes.append(EXPECTED_NOTE)
    title = f"one network, {len(report.on)} devices"
    return Grid(title, columns, tuple(_device_row(one, has_deadline, expects) for one in report.on), tuple(notes))


def _is_doubtful(on: OnDevice) -> bool:
    """Whether a figure of its row rests on one that is not verified."""
    times = (bool(on.latency.floor_s) and not on.latency.verified) or any(not one.verified for one in on.expected)
    return times or any(not one.verified for one in on.fit.regions)


def _device_row(on: OnDevice, has_deadline: bool, expects: bool) -> GridRow:
    latency = on.latency
    from weighbridge.estimates import batch_point

    batch = on.conditions.batch
    per_s = None if batch is None else batch_point(batch, latency, on.fit).per_s
    doubt = "" if latency.verified else "~"
    frames = on.deadline.frames_missed if on.deadline else None
    missed = (_UNKNOWN if frames is None else f">= {exact(frames)}",) if has_deadline else ()
    return GridRow(
        (
            printable(on.device, 40),
            word(on.fit.verdict),
            _filled(on.fit, "weights"),
            _filled(on.fit, "activations"),
            _time(latency.floor_s, latency.exact, doubt),
            *([expected_cell(on)] if expects else []),
            word(latency.bound),
            _time(latency.layerwise_s, latency.layerwise_exact, doubt),
            _short(on.fit),
            _time(latency.compute_s, latency.exact, doubt),
            _time(latency.memory_s, latency.exact, doubt),
            _UNKNOWN if per_s is None else f"{doubt}{significant(per_s)}",
            *missed,
        ),
        word(on.fit.verdict),
    )


def _time(value: float | None, is_exact: bool, doubt: str = "") -> str:
    return _UNKNOWN if value is None else lower_bound(f"{doubt}{seconds(value)}", is_exact)


def _filled(fit: Fit, what: str) -> str:
    region = next((region for region in fit.regions if what in region.holds), None)
    return _UNKNOWN if region is None else region_percent(region)


def region_percent(region: Region) -> str:
    """How much of a memory is needed: ``97.3%``; more than it has where only that is known."""
    if region.ratio is None:
        return ">100%" if region.verdict == "does not fit" else _UNKNOWN
    return lower_bound(f"{'' if region.verified else '~'}{percent(region.ratio)}", region.exact)


def _short(fit: Fit) -> str:
    short_of = [region for region in fit.regions if region.verdict == "does not fit"]
    parts = [
        f"{lower_bound(exact(region.short_bytes or 0), region.exact)} B {printable(region.name, 20)}"
        for region in short_of
    ]
    return ", ".join(parts)


def slowest_layers(on: OnDevice, all_rows: bool = False) -> Grid | None:
    """The layers that take longest, or all that take time, in that order."""
    times = [(place, time) for place, time in enumerate(on.nodes or ()) if time.time_s or time.time_s is None]
    total = on.latency.layerwise_s
    if sum(bool(time.time_s) for _, time in times) < 2:
        return None
    ranked = sorted(times, key=lambda entry: -(entry[1].time_s or 0))
    shown = ranked if all_rows else ranked[:_SLOWEST]
    columns = (
        Column("layer"),
        Column("time", True),
        Column("share", True),
        Column("bound"),
        Column("compute", True, rank=2),
        Column("memory", True, rank=3),
        Column("ops/byte", True, rank=1),
    )
    untimed = sum(time.time_s is None for _, time in times)
    title = (
        f"the {len(shown)} layers of {len(times):,} that take longest"
        if len(shown) < len(times)
        else "every layer that takes time"
    )
    title += f"; of {untimed:,} the time is not known" if untimed else ""
    return Grid(title, columns, tuple(_layer_row(place, time, total) for place, time in shown))


def _layer_row(place: int, time: NodeTime, total: float | None) -> GridRow:
    share = percent((time.time_s or 0) / total) if total else _UNKNOWN
    intensity = _UNKNOWN if time.intensity_ops_per_byte is None else significant(time.intensity_ops_per_byte)
    return GridRow(
        (
            printable(time.name, 60),
            _time(time.time_s, time.exact),
            share,
            word(time.bound),
            _time(time.compute_s, time.exact),
            _time(time.memory_s, time.exact),
            intensity,
        ),
        place=place,
    )


def batches(on: OnDevice) -> Grid | None:
    """Throughput against batch, where several batch sizes were weighed."""
    points = on.throughput.by_batch if on.throughput else ()
    if not points or [point.batch for point in points] == [on.conditions.batch]:
        return None
    doubt = "" if on.latency.verified else "~"
    columns = (
        Column("batch", True),
        Column("latency floor", True),
        Column("per s at most", True),
        Column("bound"),
        Column("layer by layer", True, rank=1),
        Column("per s so at most", True, rank=2),
        Column("fits", rank=0),
    )
    rows = tuple(
        GridRow(
            (
                exact(point.batch),
                _time(point.latency_s, point.exact, doubt),
                _rate(point.per_s),
                word(point.bound),
                _time(point.layerwise_s, point.layerwise_exact, doubt),
                _rate(point.layerwise_per_s),
                word(point.verdict),
            ),
            word(point.verdict),
        )
        for point in points
    )
    return Grid("throughput by batch", columns, rows)


def _rate(value: float | None) -> str:
    return _UNKNOWN if value is None else significant(value)


def bill(energy: Bill | None) -> Grid | None:
    """The energy of an inference by a table: the arithmetic, and everything fetched once from each level of memory."""
    if energy is None:
        return None
    columns = (
        Column("energy"),
        Column("in all", True),
        Column("weights", True),
        Column("activations", True),
        Column("total", True),
        *([Column("a charge", True)] if any(level.charge for level in energy.levels) else []),
    )
    return Grid(
        f"energy{_of_batch(energy.batch)} by {printable(energy.table)}: {printable(energy.title)}",
        columns,
        tuple(_bill_rows(energy)),
        tuple(_bill_notes(energy)),
    )


def _of_batch(batch: int | None) -> str:
    return "" if batch in (None, 1) else f" of a run of batch {exact(batch or 0)}"


def _bill_rows(energy: Bill) -> Iterator[GridRow]:
    with_charge = any(level.charge for level in energy.levels)
    empty = ("",) * (3 + with_charge)
    at = f"arithmetic ({word(energy.precision)})" if energy.precision else "arithmetic"
    yield GridRow((at, _joules(energy.arithmetic_j, energy.exact), *empty))
    for level in energy.levels:
        parts = (level.moved_j, level.weights_j, level.activations_j, level.total_j)
        charged = (exact(level.charge.runs) if level.charge else _UNKNOWN,) if with_charge else ()
        cells = (_joules(part, energy.exact) for part in parts)
        yield GridRow((f"all from {printable(level.level, 30)}", *cells, *charged))


def _bill_notes(energy: Bill) -> Iterator[str]:
    charged = any(level.charge for level in energy.levels)
    if energy.multiply_j is not None and energy.add_j is not None:
        yield f"arithmetic: multiplications {joules(energy.multiply_j)}, additions {joules(energy.add_j)}"
    yield "total: with the arithmetic, if all of it came from there" + (
        "; a charge: so many runs at most" if charged else ""
    )
    yield from (printable(note, 400) for note in energy.notes)
    if not energy.verified:
        yield "some numbers of the table are not verified; `weighbridge energy TABLE` says which"


def _joules(value: float | None, is_exact: bool = True) -> str:
    return _UNKNOWN if value is None else lower_bound(joules(value), is_exact)


def charge_sentence(charge: Charge, run: str) -> str:
    """``0.003224 mAh an inference; at most 620,402 of them a charge``; ``run`` says what one is."""
    return f"{significant(charge.charge_mah)} mAh {run}; at most {exact(charge.runs)} of them a charge"

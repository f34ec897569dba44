"""The tables of what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.measure.record import Profile
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.measured import KNEE_SHARE, Curve, FloorBeside, Measured
from weighbridge.report.measured_words import UNKNOWN, condition_rows, names_of, time, whole_percent
from weighbridge.report.page import Table, percent
from weighbridge.units import exact, joules, significant

__all__ = ["grids", "table"]

_ROWS: Final = 12


def grids(found: Measured, *, all_rows: bool = False) -> Iterator[Grid]:
    """The times, what they come to, and the conditions that they hold under."""
    names = names_of(found.measurements)
    yield _times(found, names)
    if found.against:
        yield _against(found, names)
    if found.curve is not None:
        yield _curve(found.curve)
    if found.frames:
        yield _frames(found, names)
    if found.floors:
        yield _floors(found, names)
    yield from _classes(found, names, all_rows)
    if any(one.energy is not None for one in found.measurements):
        yield _energy(found, names)
    yield _conditions(found, names)


def _times(found: Measured, names: Sequence[str]) -> Grid:
    columns = (
        Column("network"),
        Column("median", is_number=True),
        Column("from", is_number=True),
        Column("to", is_number=True),
        Column("mean", is_number=True, rank=2),
        Column("p90", is_number=True, rank=1),
        Column("p99", is_number=True, rank=1),
        Column("least", is_number=True, rank=3),
        Column("most", is_number=True, rank=2),
        Column("samples", is_number=True, rank=2),
        Column("runs in each", is_number=True, rank=4),
        Column("outliers", is_number=True, rank=2),
    )
    rows = []
    for name, one in zip(names, found.measurements, strict=True):
        got, interval = one.summary, one.interval
        cells = (
            name,
            time(got.median_s),
            UNKNOWN if interval is None else time(interval.low_s),
            UNKNOWN if interval is None else time(interval.high_s),
            *(time(value) for value in (got.mean_s, got.p90_s, got.p99_s, got.least_s, got.most_s)),
            exact(got.samples),
            exact(one.runs_per_sample),
            exact(got.outliers),
        )
        rows.append(GridRow(cells))
    confidence = found.measurements[0].summary.confidence
    note = (
        f"from, to: what holds the median at {whole_percent(confidence)}; outliers, which are in every figure, lie three times the "
        "distance of the quartiles above the upper one"
    )
    return Grid("the time of a run", columns, tuple(rows), (note,))


def _against(found: Measured, names: Sequence[str]) -> Grid:
    columns = (
        Column("network"),
        Column("times the first", is_number=True),
        Column("from", is_number=True),
        Column("to", is_number=True),
        Column("of the medians", is_number=True, rank=1),
    )
    rows = tuple(
        GridRow((names[one.place], *map(_ratio, (one.ratio, one.low, one.high, one.of_medians))))
        for one in found.against
    )
    notes = (
        "the median over the rounds, in each of which both ran one after the other",
        *(
            f"not the same in {names[one.place]}: {difference}"
            for one in found.against
            for difference in one.differences
        ),
    )
    return Grid(f"against {names[0]}", columns, rows, tuple(printable(note, 300) for note in notes))


def _ratio(value: float | None) -> str:
    return UNKNOWN if value is None else significant(value)


def _curve(curve: Curve) -> Grid:
    columns = (
        Column("batch", is_number=True),
        Column("a run", is_number=True),
        Column("from", is_number=True, rank=1),
        Column("to", is_number=True, rank=1),
        Column("1 / a run", is_number=True),
        Column("inferences/s", is_number=True),
        Column("knee", rank=1),
    )
    rows = tuple(
        GridRow(
            (
                exact(one.batch),
                time(one.latency_s),
                UNKNOWN if one.interval is None else time(one.interval.low_s),
                UNKNOWN if one.interval is None else time(one.interval.high_s),
                f"{significant(one.runs_per_s)}/s",
                significant(one.per_s),
                "<" if one.batch == curve.knee else "",
            )
        )
        for one in curve.points
    )
    note = (
        f"the knee is the smallest batch with {whole_percent(KNEE_SHARE)} of the best throughput; throughput is the batch times 1 / a run, "
        "so that 1 / latency is no throughput but at batch 1"
    )
    return Grid("latency and throughput over the batch", columns, rows, (note,))


def _frames(found: Measured, names: Sequence[str]) -> Grid:
    columns = (
        Column("network"),
        *(Column(title, is_number=True) for title in ("at the median", "at p90", "at p99", "in the longest")),
        Column("samples late", is_number=True, rank=1),
    )
    rows = tuple(
        GridRow(
            (
                names[one.place],
                *(UNKNOWN if count is None else exact(count) for count in (one.median, one.p90, one.p99, one.longest)),
                f"{exact(one.late)} of {exact(found.measurements[one.place].summary.samples)}",
            )
        )
        for one in found.frames
    )
    one = found.frames[0]
    title = f"frames missed at {significant(one.fps)} a second, a frame each {time(one.deadline_s)}"
    return Grid(title, columns, rows, ("ceil(time x rate) - 1; a sample is late that takes longer than a frame",))


def _floors(found: Measured, names: Sequence[str]) -> Grid:
    columns = (
        Column("network"),
        Column("device"),
        Column("precision", rank=1),
        Column("floor", is_number=True),
        Column("sum of layers", is_number=True, rank=1),
        Column("measured", is_number=True),
        Column("utilisation", is_number=True),
    )
    rows = tuple(
        GridRow(
            (
                names[one.place],
                printable(one.device, 60),
                printable(one.precision or UNKNOWN, 40),
                f"{'' if one.is_exact else '>= '}{time(one.floor_s)}",
                time(one.layerwise_s),
                time(found.measurements[one.place].latency_s),
                UNKNOWN if one.utilisation is None else percent(one.utilisation),
            ),
            "does not fit" if one.is_broken else "",
        )
        for one in found.floors
    )
    notes = [
        "utilisation is floor / measured; the floor is an estimate from the device's figures, of the whole chip, however many threads ran"
    ]
    if any(not one.is_verified for one in found.floors):
        notes.append("figures of a device here are not verified")
    return Grid("floor and measured", columns, rows, tuple(notes))


def _classes(found: Measured, names: Sequence[str], all_rows: bool) -> Iterator[Grid]:
    """What the runtime's profiler says by its own operators, and the floors by ours: beside each other, never joined by guess."""
    for place, one in enumerate(found.measurements):
        if one.profile is not None:
            yield _profiled(names[place], one.profile, all_rows)
            yield from (_floors_by_class(names[place], floor) for floor in found.floors if floor.place == place)


def _profiled(name: str, profile: Profile, all_rows: bool) -> Grid:
    columns = (
        Column("operators"),
        Column("a run", is_number=True),
        Column("share", is_number=True),
        Column("calls", is_number=True, rank=1),
    )
    whole = profile.total_s
    shown = profile.classes if all_rows else profile.classes[:_ROWS]
    rows = []
    for each in shown:
        share = percent(each.time_s / whole) if whole else UNKNOWN
        rows.append(GridRow((printable(each.operators, 60), time(each.time_s), share, exact(each.calls))))
    more = len(profile.classes) - len(shown)
    said = (
        f"{printable(profile.method)}, the median of {exact(profile.runs)} runs of {time(whole)}, which take longer than runs that nobody "
        "watches; names are the runtime's own, after it has fused what it fuses"
    )
    notes = (
        said,
        *((f"{exact(more)} more; --all shows them",) if more else ()),
    )
    return Grid(f"{name}: measured by operator", columns, tuple(rows), notes)


def _floors_by_class(name: str, floor: FloorBeside) -> Grid:
    columns = (
        Column("operators"),
        Column("nodes", is_number=True, rank=1),
        Column("sum of floors", is_number=True),
        Column("measured", is_number=True),
        Column("utilisation", is_number=True),
        Column("measured as", rank=1),
    )
    rows = []
    for each in floor.classes:
        used = None if each.floor_s is None or not each.profiled_s else each.floor_s / each.profiled_s
        share = UNKNOWN if used is None else percent(used)
        names = printable(", ".join(each.profiled_as), 60)
        cells = (
            printable(each.operator, 60),
            exact(each.nodes),
            time(each.floor_s),
            time(each.profiled_s),
            share,
            names,
        )
        rows.append(GridRow(cells))
    note = (
        "measured stands beside a floor where the profiler's name is sure to mean this operator and is called as often as there are nodes; "
        "elsewhere the runtime has fused or split it, or calls it otherwise"
    )
    return Grid(f"{name}: floors by operator on {printable(floor.device, 60)}", columns, tuple(rows), (note,))


def _energy(found: Measured, names: Sequence[str]) -> Grid:
    columns = (
        Column("network"),
        Column("covers"),
        Column("a run", is_number=True),
        Column("from", is_number=True),
        Column("to", is_number=True),
        Column("how"),
    )
    rows = []
    for name, one in zip(names, found.measurements, strict=True):
        read = one.energy
        if read is None or read.energy_j is None:
            reason = "" if read is None else printable(read.reason, 300)
            rows.append(GridRow((name, "", UNKNOWN, "", "", reason)))
        else:
            ends = ("", "") if read.interval_j is None else tuple(map(joules, read.interval_j))
            rows.append(
                GridRow((name, printable(read.domain, 60), joules(read.energy_j), *ends, printable(read.method, 60)))
            )
    note = "the counters are of the whole machine; what it draws idle is measured first and taken off"
    return Grid("energy of a run", columns, tuple(rows), (note,))


def _conditions(found: Measured, names: Sequence[str]) -> Grid:
    """What all have in common once, what differs for each."""
    each = [dict(condition_rows(one.conditions)) for one in found.measurements]
    rows = []
    for condition in dict.fromkeys(key for one in each for key in one):
        values = [one.get(condition, UNKNOWN) for one in each]
        if len(set(values)) == 1:
            rows.append(GridRow((condition, values[0])))
        else:
            rows += (GridRow((f"{condition}, {name}", value)) for name, value in zip(names, values, strict=True))
    return Grid("conditions", (Column("condition"), Column("value")), tuple(rows))


def table(found: Measured) -> Table:
    """A row a sample, for formats that are computed on."""
    columns = (
        "place",
        "network",
        "source",
        "batch",
        "threads",
        "streams",
        "sample",
        "round",
        "seconds",
        "runs",
        "outlier",
    )
    rows = []
    for place, one in enumerate(found.measurements):
        where = one.conditions
        begins = set(one.rounds)
        turn = -1 if begins else 0
        for number, sample in enumerate(one.samples_s):
            turn += number in begins
            late = sample > one.summary.fence_s
            head = place, one.name, one.source, where.batch, where.threads, where.streams
            rows.append((*head, number, turn, sample, one.runs_per_sample, late))
    return Table(columns, tuple(rows))

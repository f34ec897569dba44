"""Metrics of several reports as rows of a table, and what is to be said below it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.expectations import EXPECTED_NOTE, no_time_lines, timed
from weighbridge.report.figures import EXPECTED_BEGINNINGS, PEAK, is_rough, label
from weighbridge.report.grid import GridRow
from weighbridge.report.headlines import NOT_VERIFIED
from weighbridge.report.record import OnDevice, Report, by_device
from weighbridge.report.verdicts import conditions_of

__all__ = ["Side", "doubted", "group_label", "groups", "marks", "said_of", "side_of"]

_NO_BOUND: Final = "* is of what is counted on both sides: neither a floor nor a ceiling"


class Side(NamedTuple):
    """A report, what a page calls it, and what it says of each device by name: looked up once, as there may be many."""

    name: str
    report: Report
    on: Mapping[str, OnDevice]


def side_of(name: str, report: Report) -> Side:
    """The side of a table that ``report`` is, called ``name``."""
    return Side(name, report, by_device(report))


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Metric = TypeVar("_Metric", bound=_Named)


def groups(metrics: Iterable[_Metric], values: Callable[[_Metric], Hashable]) -> Iterator[list[_Metric]]:
    """The metrics one by one, but peaks by several policies that have the same ``values`` together."""
    peaks: dict[Hashable, list[_Metric]] = {}
    order: list[list[_Metric]] = []
    for one in metrics:
        if not one.name.startswith(PEAK):
            order.append([one])
            continue
        key = values(one)
        if key not in peaks:
            peaks[key] = []
            order.append(peaks[key])
        peaks[key].append(one)
    return iter(order)


def group_label(group: Sequence[_Metric]) -> str:
    """What the row of a group is called."""
    more = f" and {len(group) - 1} more" if len(group) > 1 else ""
    return f"{label(group[0].name)}{more}"


def doubted(on: OnDevice | None) -> frozenset[str]:
    """The metrics of a device that rest on a figure nobody has verified."""
    if on is None:
        return frozenset()
    doubts = () if on.latency.verified else ("floor_s", "layerwise_s")
    expected = (
        f"{beginning}{one.kernels}" for one in on.expected if not one.verified for beginning in EXPECTED_BEGINNINGS
    )
    return frozenset((*doubts, *(() if on.energy is None or on.energy.verified else ("energy_j",)), *expected))


def marks(rows: Iterable[GridRow], grouped: Iterable[Sequence[_Metric]]) -> Iterator[str]:
    """Which peaks stand in one row, and what the marks in front of figures mean."""
    for group in grouped:
        if len(group) > 1:
            yield f"{group_label(group)}: {', '.join(other.name.removeprefix(PEAK) for other in group)}"
    shown = [cell for row in rows for cell in row.cells[1:]]
    if any(cell.startswith("*") for cell in shown):
        yield _NO_BOUND
    if any(cell.startswith("~") for cell in shown):
        yield NOT_VERIFIED
    if any(is_rough(one.name) for group in grouped for one in group):
        yield EXPECTED_NOTE


def said_of(device: str | None, sides: Sequence[Side]) -> Iterator[str]:
    """The conditions of the times on a device, and why what is unknown is; a side is named where the others do not say the same.

    Of no device it is what is to be said of the bills of energy.
    """
    bills = [one.report.energy for one in sides if device is None and one.report.energy is not None]
    yield from (printable(note, 300) for note in dict.fromkeys(note for bill in bills for note in bill.notes))
    there = [(one.name, on) for one in sides if (on := one.on.get(device or "")) is not None]
    yield from _by_side([(name, [conditions_of(on)]) for name, on in there])
    yield from _by_side([(name, [*_why_unknown(on), *on.latency.notes]) for name, on in there])


def _by_side(notes: Sequence[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """What all sides say, then what only some do."""
    common = [note for note in (notes[0][1] if notes else ()) if all(note in other for _, other in notes)]
    yield from (printable(note, 300) for note in dict.fromkeys(common))
    for name, own in notes:
        yield from (f"{name}: {printable(note, 300)}" for note in dict.fromkeys(own) if note not in common)


def _why_unknown(on: OnDevice) -> Iterator[str]:
    if on.fit.verdict == "unknown":
        yield from on.fit.notes
    if on.energy is not None and on.energy.total_j is None:
        yield from on.energy.notes
    yield from no_time_lines(on)
    yield from (f"{one.kernels}: {one.beyond}" for one in timed(on) if one.beyond)

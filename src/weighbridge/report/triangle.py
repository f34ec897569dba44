"""The triangle: is it small enough, fast enough, does it draw little enough; the figures of a report under the three questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.asking import DEVICE, ENERGY
from weighbridge.report.expectations import basis, expected_energy, expected_time, timed
from weighbridge.report.headlines import (
    NOT_VERIFIED,
    activations,
    by_conventions,
    bytes_headline,
    computation,
    lower_bound,
    sizes,
)
from weighbridge.report.page import Headline, Quantity
from weighbridge.report.record import OnDevice, Report, by_device
from weighbridge.units import joules, seconds, significant

if TYPE_CHECKING:
    from weighbridge.estimates import Expected

__all__ = ["Corner", "CornerRow", "triangle"]

_UNKNOWN: Final = Quantity("unknown", "unknown")


class CornerRow(NamedTuple):
    """A figure of several models: one for each, None where a model has no such figure."""

    label: str
    figures: tuple[Headline | None, ...]


class Corner(NamedTuple):
    """A corner of the triangle: its question, its figures, and what is to be said of them, or asked for where there are none."""

    name: str
    question: str
    rows: tuple[CornerRow, ...]
    note: str


def triangle(reports: Iterable[Report], policy: str) -> tuple[Corner, ...]:
    """The three corners, with a figure of each report in every row; the peak is that of the memory ``policy``."""
    shown = tuple(reports)
    return (
        Corner("Smaller", "Does it fit?", _rows([_smaller(report, policy, len(shown) > 1) for report in shown]), ""),
        Corner(
            "Faster",
            "Will it be ready in time?",
            _rows([_faster(report) for report in shown]),
            _no_device(shown) or _doubtful(shown),
        ),
        Corner("Greener", "What does it draw?", _rows([_greener(report) for report in shown]), _no_energy(shown)),
    )


def _rows(figures: Iterable[Iterable[Headline]]) -> tuple[CornerRow, ...]:
    by_model: list[Mapping[str, Headline]] = [{figure.label: figure for figure in found} for found in figures]
    labels = dict.fromkeys(label for found in by_model for label in found)
    return tuple(CornerRow(label, tuple(found.get(label) for found in by_model)) for label in labels)


def _smaller(report: Report, policy: str, is_comparison: bool) -> Iterator[Headline]:
    yield from sizes(report, in_full=is_comparison)
    yield from activations(report.facts)
    named, memory = printable(policy, 40), report.memory
    node = memory.peak_node.get(policy)
    at = f", at {printable(node, 60)}" if node else ""
    yield bytes_headline(f"peak memory ({named})", memory.peak_bytes.get(policy), f"activations alive at once{at}")


def _faster(report: Report) -> Iterator[Headline]:
    yield from computation(report)
    yield from by_conventions(report.facts)
    for name, on in by_device(report).items():
        yield _latency(name, on)
        yield from _expected(name, on)
        yield _throughput(name, on)


def _latency(name: str, on: OnDevice) -> Headline:
    latency, label = on.latency, f"latency floor, {name}"
    if latency.floor_s is None:
        return Headline(label, _UNKNOWN, "the section of the device says why", is_exact=False)
    time = lower_bound(f"{_doubt(on)}{seconds(latency.floor_s)}", latency.exact)
    bound = f"bound by {printable(latency.bound, 40)}" if latency.bound else "of what is known"
    return Headline(label, Quantity(time, time), f"{bound}, {_conditions(on)}", latency.exact)


def _expected(device: str, on: OnDevice) -> Iterator[Headline]:
    """The time with each library of kernels that was measured there: a figure of its own, and no floor."""
    for one in timed(on):
        time = expected_time(one)
        yield Headline(_expected_label("time", device, one), Quantity(time, time), basis(one), is_exact=False)


def _expected_energy(device: str, on: OnDevice) -> Iterator[Headline]:
    for one in timed(on):
        energy = expected_energy(one)
        if energy:
            yield Headline(_expected_label("energy", device, one), Quantity(energy, energy), basis(one), is_exact=False)


def _expected_label(what: str, device: str, one: Expected) -> str:
    return f"expected {what}, {device}, {printable(one.kernels, 40)}"


def _throughput(name: str, on: OnDevice) -> Headline:
    label, points = f"throughput at most, {name}", on.throughput.by_batch if on.throughput else ()
    point = next((one for one in points if one.batch == on.conditions.batch), None)
    if point is None or point.per_s is None:
        return Headline(label, _UNKNOWN, "there is no floor, or no batch size", is_exact=False)
    rate = f"{_doubt(on)}{significant(point.per_s)} /s"
    return Headline(label, Quantity(rate, rate), "batch over the floor", point.exact)


def _doubt(on: OnDevice) -> str:
    """What stands before a figure that rests on one that is not verified."""
    return "" if on.latency.verified else "~"


def _greener(report: Report) -> Iterator[Headline]:
    if report.energy is not None:
        table = printable(report.energy.title)
        for level in report.energy.levels:
            yield _energy(
                f"energy, {printable(level.level)}",
                level.total_j,
                f"all fetched once from there, {table}",
                report.energy.exact,
            )
    for name, on in by_device(report).items():
        if on.energy is not None:
            yield _energy(f"energy, {name}", on.energy.total_j, f"a run, {_conditions(on)}", on.energy.exact)
        yield from _expected_energy(name, on)


def _energy(label: str, energy_j: float | None, meaning: str, is_exact: bool) -> Headline:
    if energy_j is None:
        return Headline(label, _UNKNOWN, meaning, is_exact=False)
    value = lower_bound(joules(energy_j), is_exact)
    return Headline(label, Quantity(value, value), meaning, is_exact)


def _conditions(on: OnDevice) -> str:
    precision = printable(on.conditions.precision or "unknown precision", 40)
    batch = "unknown" if on.conditions.batch is None else f"{on.conditions.batch:,}"
    return f"{precision}, batch {batch}"


def _doubtful(reports: Iterable[Report]) -> str:
    doubtful = any(not on.latency.verified and on.latency.floor_s for report in reports for on in report.on)
    return NOT_VERIFIED if doubtful else ""


def _no_device(reports: Iterable[Report]) -> str:
    return (
        ""
        if any(report.on for report in reports)
        else f"no device was asked for: {DEVICE} gives latency and throughput"
    )


def _has_energy(on: OnDevice) -> bool:
    return on.energy is not None or any(one.energy_j is not None for one in on.expected)


def _no_energy(reports: Iterable[Report]) -> str:
    if any(report.energy is not None or any(map(_has_energy, report.on)) for report in reports):
        return ""
    return f"no energies were asked for: {ENERGY} gives a bill by a published table"

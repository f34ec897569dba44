"""The tables of networks beside what is expected of them, and of how far that is off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.measured_words import UNKNOWN, between, time
from weighbridge.report.page import Table
from weighbridge.report.predicted import (
    BY_FLOOR,
    BY_MACS,
    LEFT_OUT,
    Distribution,
    LeftAside,
    NetworkTime,
)
from weighbridge.units import exact, significant

__all__ = ["asides", "distribution_grid", "network_grid", "network_table", "off", "predicted_sentences", "warnings_of"]

_NAME: Final = 60
_ASIDES: Final = 10


def off(error: float | None) -> str:
    """``+12.3%``: how much more is expected than was measured."""
    return UNKNOWN if error is None else f"{error:+.1%}"


def _error(expected_s: float | None, one: NetworkTime) -> str:
    return off(None if expected_s is None else expected_s / one.measured_s - 1)


def network_grid(networks: Sequence[NetworkTime]) -> Grid:
    """A row for each network: the floor, what was measured, and what is expected without it."""
    columns = (
        Column("network"),
        Column("runtime", rank=1),
        Column("batch", is_number=True, rank=3),
        Column("floor", is_number=True, rank=1),
        Column("measured", is_number=True),
        Column("/ floor", is_number=True, rank=2),
        Column("expected, left out", is_number=True),
        Column("off", is_number=True),
        Column("as it is", is_number=True, rank=2),
        Column("by floor", is_number=True, rank=1),
        Column("by MACs", is_number=True, rank=1),
        Column("noisy", rank=2),
    )
    rows = tuple(
        GridRow(
            (
                printable(one.name, _NAME),
                printable(one.runtime, _NAME),
                UNKNOWN if one.batch is None else exact(one.batch),
                time(one.floor_s),
                time(one.measured_s),
                UNKNOWN if not one.floor_s else significant(one.measured_s / one.floor_s),
                time(one.left_out_s),
                _error(one.left_out_s, one),
                _error(one.expected_s, one),
                _error(one.by_floor_s, one),
                _error(one.by_macs_s, one),
                "noisy" if one.noise else "",
            ),
            "does not fit" if one.is_floor_broken else "",
        )
        for one in networks
    )
    notes = (
        "expected, left out: by efficiencies fitted to the other networks; off: expected over measured, less 1",
        "as it is: off by the device, in whose fit the network may have had a part",
        "by floor, by MACs: off by one constant for all, the median of what the others take for a second of their floor, or for a MAC",
    )
    return Grid("networks: floor, measured, expected", columns, rows, notes)


def distribution_grid(errors: Sequence[Distribution]) -> Grid:
    """A row for each way to expect a time, by runtime and over all."""
    several = any(not one.runtime for one in errors)
    columns = (
        Column("expected by"),
        Column("runtime", rank=1),
        Column("networks", is_number=True, rank=1),
        Column("median", is_number=True),
        Column("90%", is_number=True),
        Column("99%", is_number=True, rank=2),
        Column("bias", is_number=True, rank=1),
        Column("worst", is_number=True, rank=2),
        Column("of", rank=3),
    )
    rows = tuple(
        GridRow(
            (
                one.method,
                printable(one.runtime, _NAME) if one.runtime else ("all" if several else ""),
                exact(one.errors.networks),
                *(f"{share:.1%}" for share in (one.errors.median, one.errors.p90, one.errors.p99)),
                off(one.errors.bias),
                off(one.errors.worst_error),
                printable(one.errors.worst, _NAME),
            )
        )
        for one in errors
    )
    notes = (
        "sizes of the error, expected over measured less 1, of half, of 90% and of 99% of the networks; bias: the median with its sign",
    )
    return Grid("how far expected times are off", columns, rows, notes)


def predicted_sentences(errors: Sequence[Distribution]) -> Iterator[str]:
    """The error of networks without a part in the fit, beside one constant for all."""
    runtimes = list(dict.fromkeys(one.runtime for one in errors if one.method == LEFT_OUT))
    for runtime in runtimes:
        if not runtime and len(runtimes) < 3:
            continue  # all together are those of the only runtime again
        found = {one.method: one.errors for one in errors if one.runtime == runtime}
        left_out = found[LEFT_OUT]
        where = f"{printable(runtime, _NAME)}: " if runtime else "all together: "
        beside = " and ".join(
            f"{found[method].median:.1%} {words}{_of_others(found[method].networks, left_out.networks)}"
            for method, words in ((BY_FLOOR, "on the floor"), (BY_MACS, "on MACs"))
            if method in found
        )
        constant = f"; one constant for all is off by {beside}" if beside else ""
        yield (
            f"{where}a network left out is expected within {left_out.median:.1%} in the median, and within {left_out.p90:.1%} in 90% of "
            f"{exact(left_out.networks)} cases{constant}"
        )


def _of_others(networks: int, others: int) -> str:
    """Of how many cases, where they are not the same ones."""
    return "" if networks == others else f" ({exact(networks)} case{'s' if networks != 1 else ''})"


def warnings_of(networks: Sequence[NetworkTime]) -> Iterator[str]:
    """What cannot be: a floor above what was measured."""
    for one in networks:
        if one.is_floor_broken:
            took = time(one.measured_s)
            if one.low_s is not None and one.high_s is not None:
                took = f"{took} ({between(one.low_s, one.high_s)})"
            yield (
                f"{printable(one.name, _NAME)} in {printable(one.runtime, _NAME)}: the floor, {time(one.floor_s)}, is above the measured "
                f"{took}, which nothing can beat: a peak or a bandwidth of the device is too low, or this is another machine"
            )


def asides(aside: Sequence[LeftAside]) -> list[str]:
    """What was left out, and why."""
    told = [f"left out: {one.where}: {one.why}" for one in aside[:_ASIDES]]
    if len(aside) > _ASIDES:
        told.append(f"left out: {exact(len(aside) - _ASIDES)} more; the JSON has them")
    return [printable(one, 400) for one in told]


def network_table(networks: Sequence[NetworkTime]) -> Table:
    """A row a network, for formats that are computed on."""
    columns = (
        "name",
        "source",
        "runtime",
        "precision",
        "threads",
        "batch",
        "macs",
        "measured_s",
        "low_s",
        "high_s",
        "floor_s",
        "expected_s",
        "least_s",
        "most_s",
        "left_out_s",
        "by_floor_s",
        "by_macs_s",
        "noisy",
    )
    rows = tuple((*(getattr(one, name) for name in columns[:-1]), bool(one.noise)) for one in networks)
    return Table(columns, rows)

"""What a page says of the times that are expected where kernels were measured: estimates, beside the floor and apart from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from weighbridge.errors import printable
from weighbridge.report.headlines import NOT_VERIFIED
from weighbridge.report.record import OnDevice
from weighbridge.units import joules, seconds

if TYPE_CHECKING:
    from weighbridge.estimates import Expected

__all__ = ["EXPECTED_NOTE", "expected_cell", "expected_lines", "has_expected"]

EXPECTED_NOTE = (
    "expected: from kernels that others measured on the device, not a measurement of this network; one a library"
)
_BASIS = "from its kernels as measured on this device, not a measurement of this network"
_UNKNOWN = "?"


def has_expected(on: Sequence[OnDevice]) -> bool:
    """Whether a time is expected on one of the devices."""
    return any(one.time_s is not None for device in on for one in device.expected)


def expected_cell(on: OnDevice) -> str:
    """The times that are expected, one for each library of kernels; ``?`` where there is none."""
    found = [f"{_doubt(one)}{seconds(one.time_s)}" for one in on.expected if one.time_s is not None]
    return " or ".join(found) or _UNKNOWN


def expected_lines(on: OnDevice) -> Iterator[str]:
    """A line for each library of kernels that was measured."""
    for one in on.expected:
        kernels = printable(one.kernels, 60)
        if one.time_s is None:
            yield f"expected time with {kernels} unknown: {printable(one.reason, 400) or 'the reason was not kept'}"
            continue
        time = f"{_doubt(one)}{seconds(one.time_s)}{_range(one.least_s, one.most_s, seconds)}"
        fitted = " even if it fitted" if on.fit.verdict == "does not fit" else ""
        unsure = "" if one.verified else f"; {NOT_VERIFIED}"
        yield f"expected {time} with {kernels}{fitted}{_energy(one)}: {_BASIS}{unsure}"


def _doubt(one: Expected) -> str:
    return "" if one.verified else "~"


def _energy(one: Expected) -> str:
    if one.energy_j is None:
        return ""
    return f", and {joules(one.energy_j)}{_range(one.least_energy_j, one.most_energy_j, joules)}"


def _range(least: float | None, most: float | None, shown: Callable[[float], str]) -> str:
    return "" if least is None or most is None else f" ({shown(least)} to {shown(most)})"

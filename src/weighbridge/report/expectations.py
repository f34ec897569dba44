"""What a page says of the times that are expected where kernels were measured: estimates, beside the floor and apart from it.

They are known to some tens of percent, so that two digits are shown, with the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from weighbridge.errors import printable
from weighbridge.report.headlines import NOT_VERIFIED
from weighbridge.report.record import OnDevice
from weighbridge.units import exact, rough_joules, rough_seconds

if TYPE_CHECKING:
    from weighbridge.estimates import Estimate, Expected

__all__ = [
    "EXPECTED_NOTE",
    "basis",
    "expected_cell",
    "expected_energy",
    "expected_lines",
    "expected_time",
    "has_expected",
    "missed_lines",
    "no_time_lines",
    "timed",
]

EXPECTED_NOTE = (
    "expected: from what was measured on the device, not a measurement of this network; one for each library"
)
_BASIS = "not a measurement of this network"
_BELOW = "below the floor, which nothing is: a number of the device's file is another than said"
_UNKNOWN = "?"
_NO_RANGE = " (range unknown)"


def timed(on: OnDevice) -> tuple[Expected, ...]:
    """The libraries of kernels with which a time is expected."""
    return tuple(one for one in on.expected if one.time_s is not None)


def has_expected(on: Sequence[OnDevice]) -> bool:
    """Whether a time is expected on one of the devices."""
    return any(map(timed, on))


def expected_cell(on: OnDevice) -> str:
    """The times that are expected, one for each library of kernels; ``?`` where there is none."""
    return " or ".join(_rough(one, one.time_s, rough_seconds) for one in timed(on)) or _UNKNOWN


def expected_time(one: Expected) -> str:
    """The time with its range: ``35 ms (30 ms to 53 ms)``."""
    return f"{_rough(one, one.time_s, rough_seconds)}{_range(one.least_s, one.most_s, rough_seconds)}"


def expected_energy(one: Expected) -> str:
    """The energy with its range; "" where no power was measured."""
    if one.energy_j is None:
        return ""
    energies = _range(one.least_energy_j, one.most_energy_j, rough_joules)
    return f"{_rough(one, one.energy_j, rough_joules)}{energies}"


def basis(one: Expected) -> str:
    """What the figures rest on, and what they are not."""
    parts = (f"estimated from {printable(one.conditions, 200)}", _BASIS, printable(one.beyond, 200))
    unsure = "" if one.verified else NOT_VERIFIED
    return "; ".join(part for part in (", ".join(parts[:2]), parts[2], unsure) if part)


def expected_lines(on: OnDevice) -> Iterator[str]:
    """A line for each library of kernels that was measured, and one for those that say nothing for the same reason."""
    fitted = " even if it fitted" if on.fit.verdict == "does not fit" else ""
    floor_s = on.latency.floor_s
    for one in timed(on):
        energy = expected_energy(one)
        below = f"; {_BELOW}" if floor_s is not None and (one.time_s or 0) < floor_s else ""
        drawn = f", and {energy}" if energy else ""
        yield f"expected {expected_time(one)} with {_kernels(one)}{fitted}{drawn}: {basis(one)}{below}"
    yield from no_time_lines(on)


def no_time_lines(on: OnDevice | Estimate) -> Iterator[str]:
    """Why no time is expected, with the libraries of which that is so."""
    without: dict[str, list[str]] = {}
    for one in on.expected:
        if one.time_s is None:
            without.setdefault(one.reason, []).append(_kernels(one))
    for reason, kernels in without.items():
        yield f"expected time with {' or '.join(kernels)} unknown: {printable(reason, 400) or 'the reason was not kept'}"


def missed_lines(on: OnDevice) -> Iterator[str]:
    """The frames that are expected to be missed, beside those that are missed whatever the kernels."""
    for one in on.deadline.expected if on.deadline else ():
        frames = exact(one.frames_missed)
        least, most = one.least_frames_missed, one.most_frames_missed
        of = _NO_RANGE if least is None or most is None else f" ({exact(least)} to {exact(most)})"
        yield f"expected to miss {frames} {'frame' if one.frames_missed == 1 else 'frames'}{of} with {printable(one.kernels, 60)}"


def _kernels(one: Expected) -> str:
    return printable(one.kernels, 60)


def _rough(one: Expected, value: float | None, shown: Callable[[float], str]) -> str:
    return _UNKNOWN if value is None else f"{'' if one.verified else '~'}{shown(value)}"


def _range(least: float | None, most: float | None, shown: Callable[[float], str]) -> str:
    return _NO_RANGE if least is None or most is None else f" ({shown(least)} to {shown(most)})"

"""How far expected times are from measured ones when the network had no part in the fit, and what one constant comes to beside."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, quantiles
from typing import Final

from weighbridge.calibration.efficiencies import Efficiencies, Single, expected_s, fit_efficiencies
from weighbridge.named_tuple import NamedTuple

__all__ = [
    "COVERED",
    "FEWEST_OF_TENTHS",
    "Errors",
    "LeftOut",
    "constant_left_out",
    "errors_of",
    "expected_left_out",
    "interval_of",
]

COVERED: Final = 0.8
"""The share of networks without a part in the fit that the interval is to hold."""
FEWEST_OF_TENTHS: Final = 9
"""Ratios below which their tenth and nine tenths lie beyond all of them."""


class LeftOut(NamedTuple):
    """A network: what it took, and what it is expected to by a fit to the others; None where they say nothing."""

    name: str
    measured_s: float
    expected_s: float | None

    @property
    def error(self) -> float | None:
        """Expected over measured, less 1."""
        return None if self.expected_s is None else self.expected_s / self.measured_s - 1


class Errors(NamedTuple):
    """How the errors of so many ``networks`` are distributed: their sizes, and as ``bias`` their median with its sign."""

    networks: int
    median: float
    p90: float
    p99: float
    bias: float
    mean: float
    worst: str
    worst_error: float


def expected_left_out(networks: Sequence[Single]) -> tuple[LeftOut, ...]:
    """Each network by the efficiencies of those in other groups, the strength of the fit being chosen by them alone as well."""
    fits: dict[str, Efficiencies | None] = {}
    for one in networks:
        if one.group not in fits:
            others = [other for other in networks if other.group != one.group]
            fits[one.group] = fit_efficiencies(others) if others else None
    return tuple(
        LeftOut(one.name, one.time_s, None if (fit := fits[one.group]) is None else expected_s(one, fit))
        for one in networks
    )


def constant_left_out(networks: Sequence[Single], amounts: Sequence[float | None]) -> tuple[LeftOut, ...]:
    """Each network by one constant for all: its amount (of MACs, or its floor) times the median of what the others take for one."""
    each = list(zip(networks, amounts, strict=True))
    found = []
    for one, mine in each:
        others = [other.time_s / theirs for other, theirs in each if other.group != one.group and theirs]
        found.append(LeftOut(one.name, one.time_s, mine * median(others) if mine and others else None))
    return tuple(found)


def errors_of(found: Sequence[LeftOut]) -> Errors | None:
    """The distribution of the errors; None where there is none."""
    known = [(one.name, one.error) for one in found if one.error is not None]
    if not known:
        return None
    signed = [error for _, error in known]
    sizes = sorted(map(abs, signed))
    name, worst = max(known, key=lambda one: abs(one[1]))
    return Errors(
        networks=len(known),
        median=median(sizes),
        p90=_quantile(sizes, 0.9),
        p99=_quantile(sizes, 0.99),
        bias=median(signed),
        mean=fmean(sizes),
        worst=name,
        worst_error=worst,
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Between the two that lie around it; the least and the most are the ends."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def interval_of(found: Sequence[LeftOut]) -> tuple[float, float] | None:
    """Between what multiples of the expected time ``COVERED`` of the measured ones lie: their tenth and their nine tenths.

    Taken as of a sample, so that as many networks to come are within.  Of fewer than nine the least and the most, which hold what they
    hold; None where nothing is known.
    """
    ratios = sorted(one.measured_s / one.expected_s for one in found if one.expected_s)
    if not ratios:
        return None
    if len(ratios) < FEWEST_OF_TENTHS:
        return ratios[0], ratios[-1]
    tenths = quantiles(ratios, n=10, method="exclusive")
    return tenths[0], tenths[-1]

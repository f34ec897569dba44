"""What is fitted as the entry of a device file: rates by class of operators with their sources, efficiencies, and the interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from weighbridge.calibration.efficiencies import Efficiencies
from weighbridge.calibration.rates import Rates, Seconds
from weighbridge.devices.measured import Amount
from weighbridge.devices.timed import ClassRates, Timed
from weighbridge.estimates.class_time import FAR_MEMORY
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import exact

__all__ = ["Runs", "with_efficiencies", "with_rates", "without_efficiencies"]

_DIGITS: Final = 4
"""Significant ones: more than the machine gives twice."""
_LEAST_OVERHEAD_S: Final = 2e-9
"""Less is none: a file keeps no smaller amounts, and no kernel starts as fast."""
_LEAST_SECONDS: Final = 1e-18
"""What one of a term takes at least: rounding leaves less, and nothing is as fast."""


class Runs(NamedTuple):
    """How single operators were run: the runtime, and whether it merges operators; ``source`` says where every number comes from.

    ``near_bytes`` and ``lanes`` are those that their work was told with.
    """

    runtime: str
    version: str
    mode: str
    precision: str
    threads: int
    fuses: bool
    conditions: str
    source: str
    near_bytes: int | None = None
    lanes: int = 1


def with_rates(runs: Runs, found: Rates) -> Timed:
    """The entry with the rates of single operators alone, which no network has been compared with; a class without any is not in it."""
    classes = (_rates(name, each, runs.source) for name, each in found.classes.items())
    far = None if runs.near_bytes is None else _rate(found.far_byte_s, runs.source)
    return Timed(
        runtime=runs.runtime,
        version=runs.version,
        mode=runs.mode,
        precision=runs.precision,
        threads=runs.threads,
        fuses=runs.fuses,
        conditions=runs.conditions,
        classes=tuple(one for one in classes if one.figures),
        call_s=_overhead(found.call_s, runs.source),
        near_bytes=None if far is None or runs.near_bytes is None else Amount(float(runs.near_bytes), runs.source),
        far_bytes_per_s=far,
        lanes=runs.lanes,
    )


def _rates(operators: str, found: Seconds, source: str) -> ClassRates:
    return ClassRates(
        operators,
        macs_per_s=_rate(found.macs, source),
        bytes_per_s=_rate(found.bytes, source),
        operations_per_s=_rate(found.operations, source),
        compares_per_s=_rate(found.compares, source),
        special_per_s=_rate(found.special, source),
        node_overhead_s=_overhead(found.nodes, source),
        overhead_s=_overhead(found.steps, source),
    )


def _overhead(seconds: float, source: str) -> Amount | None:
    return _amount(seconds, source) if seconds >= _LEAST_OVERHEAD_S else None


def _rate(seconds: float, source: str) -> Amount | None:
    return _amount(1 / seconds, source) if seconds > _LEAST_SECONDS else None


def _amount(value: float, source: str, note: str = "") -> Amount:
    return Amount(float(f"{value:.{_DIGITS}g}"), source, note=note)


def without_efficiencies(timed: Timed) -> Timed:
    """The entry as it was before any network was compared with it."""
    classes = tuple(replace(one, efficiency=None) for one in timed.classes)
    timed = replace(timed, classes=classes, networks=0, far_efficiency=None)
    return replace(timed, least=None, most=None, least_macs=None, most_macs=None)


def with_efficiencies(
    timed: Timed,
    found: Efficiencies,
    interval: tuple[float, float] | None,
    networks: int,
    macs: Sequence[int],
    source: str,
) -> Timed:
    """The entry with what ``networks`` networks of so many ``macs`` reached of the rates, and the interval of those left out."""
    of = f"{exact(networks)} networks, {source}"
    low, high = (None, None) if interval is None else interval
    lacking = "no network here has this class: the efficiency common to all"

    def reached(operators: str) -> Amount:
        return _amount(found.of(operators), of, "" if operators in found.classes else lacking)

    classes = tuple(replace(one, efficiency=reached(one.operators)) for one in timed.classes)
    left_out = f"measured over expected, one network left out at a time of {of}"
    known = [one for one in macs if one]
    return replace(
        timed,
        classes=classes,
        far_efficiency=None if timed.far_bytes_per_s is None else reached(FAR_MEMORY),
        least=None if low is None else _amount(low, left_out),
        most=None if high is None else _amount(high, left_out),
        networks=networks,
        least_macs=Amount(float(min(known)), of) if known else None,
        most_macs=Amount(float(max(known)), of) if known else None,
    )

"""The time of a network by the rates of its classes of operators: the one formula of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weighbridge.devices.measured import Amount
from weighbridge.devices.timed import ClassRates, Timed
from weighbridge.estimates.class_work import ClassWork

__all__ = ["time_of"]


def time_of(timed: Timed, work: Iterable[ClassWork]) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """The seconds of each class of operators, and the classes without rates, whose time is in none.

    What a run takes beside its operators (``timed.call_s``) is in none either.  Raises ``OverflowError`` for more than a number can hold.
    """
    found: dict[str, float] = {}
    missing: list[str] = []
    for one in work:
        rates = timed.rates(one.operators)
        if rates is None:
            missing.append(one.operators)
        else:
            found[one.operators] = _seconds(one, rates)
    return found, tuple(missing)


def _seconds(work: ClassWork, rates: ClassRates) -> float:
    moving = _over(work.macs, rates.macs_per_s) + _over(work.bytes, rates.bytes_per_s)
    starting = 0.0 if rates.overhead_s is None else work.steps * rates.overhead_s.value
    together = moving + _over(work.special, rates.special_per_s) + starting
    return together if rates.efficiency is None else together / rates.efficiency.value


def _over(count: int, rate: Amount | None) -> float:
    return 0.0 if rate is None else count / rate.value

"""The time of a network by the rates of its classes of operators: the one formula of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from weighbridge.devices.measured import Amount
from weighbridge.devices.timed import ClassRates, Timed
from weighbridge.estimates.class_work import ClassWork, NodeWork, class_work

__all__ = ["FAR_MEMORY", "asked_of", "time_of"]

FAR_MEMORY: Final = "far memory"
"""What bytes beyond the nearest memory take more, in all classes together: it stands beside the classes."""


def asked_of(timed: Timed, works: Sequence[NodeWork]) -> tuple[ClassWork, ...]:
    """``works`` by class, as this runtime takes time for them: with its lanes, and beyond its nearest memory."""
    return class_work(works, None if timed.near_bytes is None else timed.near_bytes.value, timed.lanes)


def time_of(timed: Timed, work: Iterable[ClassWork]) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """The seconds of each class of operators and of ``FAR_MEMORY``, and the classes without rates, whose time is in none.

    ``work`` is as ``asked_of`` has it.  What a run takes beside its operators (``timed.call_s``) is in none either.  Raises
    ``OverflowError`` for more than a number can hold.
    """
    found: dict[str, float] = {}
    missing: list[str] = []
    far_bytes = 0.0
    for one in work:
        rates = timed.rates(one.operators)
        if rates is None:
            missing.append(one.operators)
        else:
            found[one.operators] = _reached(_seconds(one, rates), rates.efficiency)
            far_bytes += one.far_bytes
    far_s = _reached(_over(far_bytes, timed.far_bytes_per_s), timed.far_efficiency)
    if far_s:
        found[FAR_MEMORY] = far_s
    return found, tuple(missing)


def _seconds(work: ClassWork, rates: ClassRates) -> float:
    return (
        _over(work.macs, rates.macs_per_s)
        + _over(work.bytes, rates.bytes_per_s)
        + _over(work.operations, rates.operations_per_s)
        + _over(work.compares, rates.compares_per_s)
        + _over(work.special, rates.special_per_s)
        + _each(work.nodes, rates.node_overhead_s)
        + _each(work.steps, rates.overhead_s)
    )


def _reached(seconds: float, efficiency: Amount | None) -> float:
    return seconds if efficiency is None else seconds / efficiency.value


def _over(count: float, rate: Amount | None) -> float:
    return 0.0 if rate is None else count / rate.value


def _each(count: float, seconds: Amount | None) -> float:
    return 0.0 if seconds is None else count * seconds.value

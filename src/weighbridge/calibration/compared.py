"""Networks that were measured beside what is expected of them: as the device is, by a fit without them, and by one constant for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weighbridge.calibration.efficiencies import FEWEST, Single
from weighbridge.calibration.entry import without_efficiencies
from weighbridge.calibration.left_out import LeftOut, constant_left_out, expected_left_out
from weighbridge.devices.timed import Timed
from weighbridge.estimates.class_time import asked_of, time_of
from weighbridge.estimates.class_work import NodeWork
from weighbridge.named_tuple import NamedTuple

__all__ = ["Compared", "Network", "compared", "groups_of", "singles_of"]

_FEWEST_OTHERS: Final = FEWEST - 1


class Network(NamedTuple):
    """A network that took ``time_s`` in the median: what it asks for, and its floor, None where the device's figures do not say."""

    name: str
    group: str
    work: tuple[NodeWork, ...]
    time_s: float
    macs: int
    floor_s: float | None


class Compared(NamedTuple):
    """What a network is expected to take.

    ``expected_s`` is by the device as it is, between ``least_s`` and ``most_s``; ``left_out_s`` by efficiencies that were fitted to the
    other networks alone; ``by_floor_s`` and ``by_macs_s`` by one constant for all, the median of the others.  None is not known.
    ``missing`` are the network's classes of operators without a rate, whose time is not in it.
    """

    expected_s: float | None
    least_s: float | None
    most_s: float | None
    left_out_s: float | None
    by_floor_s: float | None
    by_macs_s: float | None
    missing: tuple[str, ...] = ()


def groups_of(networks: Sequence[Network]) -> int:
    """How many different networks there are."""
    return len({one.group for one in networks})


def singles_of(networks: Sequence[Network], timed: Timed) -> tuple[Single, ...]:
    """The networks with the seconds of their classes at the rates of single operators.

    A network that was measured several times counts as much as one that was once.
    """
    plain = without_efficiencies(timed)
    count = {one.group: sum(other.group == one.group for other in networks) for one in networks}
    call_s = 0.0 if timed.call_s is None else timed.call_s.value
    return tuple(
        Single(one.name, one.group, _by(one, plain), call_s, one.time_s, 1 / count[one.group]) for one in networks
    )


def compared(networks: Sequence[Network], timed: Timed) -> tuple[Compared, ...]:
    """An entry for each of ``networks``, in their order."""
    singles = singles_of(networks, timed)
    known = [place for place, one in enumerate(singles) if one.by]
    fitted: dict[int, LeftOut] = {}
    if len({singles[place].group for place in known}) > _FEWEST_OTHERS:
        fitted = dict(zip(known, expected_left_out([singles[place] for place in known]), strict=True))
    by_floor = constant_left_out(singles, [one.floor_s for one in networks])
    by_macs = constant_left_out(singles, [float(one.macs) for one in networks])
    return tuple(
        _compared(one, timed, fitted.get(place), by_floor[place], by_macs[place]) for place, one in enumerate(networks)
    )


def _compared(one: Network, timed: Timed, fitted: LeftOut | None, by_floor: LeftOut, by_macs: LeftOut) -> Compared:
    by, missing = time_of(timed, asked_of(timed, one.work))
    time = sum(by.values()) + (0.0 if timed.call_s is None else timed.call_s.value) if by and timed.networks else None
    return Compared(
        expected_s=time,
        least_s=None if time is None or timed.least is None else time * timed.least.value,
        most_s=None if time is None or timed.most is None else time * timed.most.value,
        left_out_s=None if fitted is None else fitted.expected_s,
        by_floor_s=by_floor.expected_s,
        by_macs_s=by_macs.expected_s,
        missing=tuple(missing),
    )


def _by(one: Network, plain: Timed) -> dict[str, float]:
    """Classes that take no time are left out."""
    by, _ = time_of(plain, asked_of(plain, one.work))
    return {operators: seconds for operators, seconds in by.items() if seconds > 0}

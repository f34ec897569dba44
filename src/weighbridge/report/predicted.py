"""Networks beside what is expected of them: the record that a calibration and a validation share, and the distribution of its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from weighbridge.calibration.left_out import Errors, LeftOut, errors_of
from weighbridge.named_tuple import NamedTuple

__all__ = [
    "BY_FLOOR",
    "BY_MACS",
    "EXPECTED",
    "LEFT_OUT",
    "METHODS",
    "Distribution",
    "LeftAside",
    "NetworkTime",
    "distributions",
    "held",
]

EXPECTED: Final = "expected, by the device as it is"
LEFT_OUT: Final = "expected, left out"
BY_FLOOR: Final = "one constant on the floor"
BY_MACS: Final = "one constant on MACs"


class LeftAside(NamedTuple):
    """What is done without: a record, a network, a line of a file, and why."""

    where: str
    why: str


class NetworkTime(NamedTuple):
    """A network: what it took in the median, from ``low_s`` to ``high_s``, and beside it what is expected and what nothing beats.

    ``expected_s`` is by the device as it is, between ``least_s`` and ``most_s``; ``left_out_s`` by efficiencies that were fitted without
    this network; ``by_floor_s`` and ``by_macs_s`` are one constant for all, from the other networks.  None is not known.  ``missing`` are
    classes of operators without a rate, whose time is in no expected one; ``noise`` is what disturbed the measurement.
    """

    name: str
    source: str
    runtime: str
    precision: str
    threads: int
    batch: int | None
    macs: int
    measured_s: float
    low_s: float | None
    high_s: float | None
    floor_s: float | None
    expected_s: float | None
    least_s: float | None
    most_s: float | None
    left_out_s: float | None
    by_floor_s: float | None
    by_macs_s: float | None
    missing: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()

    @property
    def is_floor_broken(self) -> bool:
        """Whether the floor lies above what was measured by more than the noise: above the upper end of the median's interval."""
        upper = self.measured_s if self.high_s is None else self.high_s
        return self.floor_s is not None and self.floor_s > upper


METHODS: Final[dict[str, Callable[[NetworkTime], float | None]]] = {
    LEFT_OUT: lambda one: one.left_out_s,
    EXPECTED: lambda one: one.expected_s,
    BY_FLOOR: lambda one: one.by_floor_s,
    BY_MACS: lambda one: one.by_macs_s,
}
"""Ways to expect a time; all but the second have no part of the network's own."""


class Distribution(NamedTuple):
    """How far one way to expect a time is off, over all networks of a runtime; ``runtime`` is "" of all runtimes together."""

    method: str
    runtime: str
    errors: Errors


def distributions(networks: Sequence[NetworkTime]) -> tuple[Distribution, ...]:
    """By runtime, and where there are several of all together."""
    return tuple(_distributions(networks))


def _distributions(networks: Sequence[NetworkTime]) -> Iterator[Distribution]:
    runtimes = list(dict.fromkeys(one.runtime for one in networks))
    for runtime in (*runtimes, *([""] if len(runtimes) > 1 else ())):
        some = [one for one in networks if runtime in ("", one.runtime)]
        for method, expected in METHODS.items():
            found = errors_of([LeftOut(one.name, one.measured_s, expected(one)) for one in some])
            if found is not None:
                yield Distribution(method, runtime, found)


def held(networks: Sequence[NetworkTime]) -> tuple[int, int]:
    """Of how many networks the measured time lies within the interval of the device, and how many have one."""
    known = [(one.least_s, one.measured_s, one.most_s) for one in networks if one.least_s and one.most_s]
    return sum(bool(least and most and least <= time <= most) for least, time, most in known), len(known)

"""A measurement: every sample, the conditions, what disturbed it; nothing in it is an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from weighbridge.measure.conditions import Conditions
from weighbridge.measure.noise import Load
from weighbridge.measure.summary import Interval, Summary
from weighbridge.named_tuple import NamedTuple

__all__ = ["SCHEMA", "EnergyRead", "Measurement", "Profile", "ProfiledClass"]

SCHEMA: Final = 1


class EnergyRead(NamedTuple):
    """What a counter of the machine read: joules of one run, what the machine draws idle taken off, with an interval.

    ``domain`` is what the counter covers ("package 0", "the whole GPU"), ``method`` how it was read; without a counter the
    energies are None and ``reason`` says why: it is not measurable here.
    """

    domain: str
    method: str
    energy_j: float | None
    interval_j: tuple[float, float] | None
    idle_w: float | None
    runs: int
    reason: str = ""


class ProfiledClass(NamedTuple):
    """The operators of one class: the runtime's own seconds of one run, in the median over ``runs``, and how many calls that is."""

    operators: str
    time_s: float
    calls: int


class Profile(NamedTuple):
    """What the runtime's profiler says: its own run, slower than one that nobody watches; ``classes`` from the longest on."""

    method: str
    runs: int
    total_s: float
    classes: tuple[ProfiledClass, ...]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The time of one run of a network.

    ``taken_at`` is the time at which it ended, in UTC.  Each of ``samples_s``, in the order in which they were taken, is the mean of
    ``runs_per_sample`` runs, of which there are several where one is too short for the clock; ``warm_up_s`` are those before, in no figure.
    ``sha256`` is that of the source's file, None where it is no file.  ``wanted`` is the half width of the interval that was asked
    for, over the median.  ``noise`` says what disturbed it.  ``rounds`` are the places in ``samples_s`` at which the rounds begin in which
    they were taken, ``round_loads`` what the machine did in each: of two networks measured in turns, rounds of one number belong together.
    """

    tool: str
    taken_at: str
    name: str
    source: str
    sha256: str | None
    conditions: Conditions
    warm_up_s: tuple[float, ...]
    samples_s: tuple[float, ...]
    runs_per_sample: int
    wanted: float
    summary: Summary
    load: Load | None
    noise: tuple[str, ...]
    energy: EnergyRead | None = None
    profile: Profile | None = None
    notes: tuple[str, ...] = ()
    rounds: tuple[int, ...] = ()
    round_loads: tuple[Load, ...] = ()
    schema: int = SCHEMA

    @property
    def latency_s(self) -> float:
        """The median."""
        return self.summary.median_s

    @property
    def interval(self) -> Interval | None:
        return self.summary.median_interval

    @property
    def throughput_per_s(self) -> float | None:
        """Inferences a second of all streams: the batch over the median; None where the batch is unknown."""
        batch = self.conditions.batch
        return None if batch is None or not self.latency_s else batch * self.conditions.streams / self.latency_s

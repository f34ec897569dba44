"""When a measurement is warm, how many runs a sample has, and when there are enough: told by what has been measured so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import cycle
from statistics import median
from typing import Final

from weighbridge.measure.noise import Load
from weighbridge.measure.summary import CONFIDENCE, median_interval
from weighbridge.named_tuple import NamedTuple

__all__ = ["Asked", "Runs", "Taken", "Watch", "alternate", "is_enough", "is_warm", "runs_per_sample", "take"]

Runs = Callable[[int, int], Sequence[float]]
"""Takes so many samples of so many runs each; the seconds of one run in each sample."""
Watch = Callable[[], Callable[[], Load]]
"""Called before a round; what it returns is called after, and says what the machine did meanwhile."""

_SHORTEST_S: Final = 100e-6
"""A sample takes at least so long: a thousand times what reading the clock does."""
_ROUND_S: Final = 0.25
"""Samples are asked for in rounds of about that long, so that what a machine does now and then is seen between them."""
_MOST_A_ROUND: Final = 1_000
_WARM_S: Final = 0.2
"""A processor needs some of that to reach its frequency, however soon the runs are alike."""


class Asked(NamedTuple):
    """How well the median is to be known: to ``width`` either way, relative, at ``confidence``.

    No fewer than ``least_samples`` in ``least_rounds`` are taken, as what a machine does in one second says little of the next; and no
    more once there are ``most_samples`` or they have taken ``most_s`` seconds.  The warm-up before takes ``warm_up_s`` and one round at
    most.
    """

    width: float = 0.01
    confidence: float = CONFIDENCE
    least_samples: int = 30
    most_samples: int = 10_000
    most_s: float = 20.0
    warm_up_s: float = 3.0
    least_rounds: int = 8


class Taken(NamedTuple):
    """The samples of the warm-up and those that count.

    Each of ``samples_s`` is the mean of ``runs_per_sample`` runs, as are those of the warm-up but the first.  ``rounds`` are the places in
    ``samples_s`` at which each round begins, ``loads`` what the machine did in each, () where nobody watched.
    """

    warm_up_s: tuple[float, ...]
    samples_s: tuple[float, ...]
    runs_per_sample: int
    rounds: tuple[int, ...] = ()
    loads: tuple[Load, ...] = ()


class _Taking:
    """The samples of one network so far."""

    def __init__(self, runs: Runs, asked: Asked, watch: Watch | None) -> None:
        self._runs, self._asked, self._watch = runs, asked, watch
        self._spent_s = 0.0
        self._samples: list[float] = []
        self._rounds: list[int] = []
        self._loads: list[Load] = []
        self._warm_up, self._times = _warmed(runs, asked)

    @property
    def is_enough(self) -> bool:
        return is_enough(self._samples, self._spent_s, self._asked, len(self._rounds))

    def one_round(self) -> None:
        each = median(self._samples or self._warm_up[-3:]) * self._times
        wanted = min(_in_round(each), max(1, self._asked.most_samples - len(self._samples)))
        watched = None if self._watch is None else self._watch()
        found = self._runs(wanted, self._times)
        if watched is not None:
            self._loads.append(watched())
        self._rounds.append(len(self._samples))
        self._samples.extend(found)
        self._spent_s += sum(found) * self._times

    def taken(self) -> Taken:
        rounds, loads = tuple(self._rounds), tuple(self._loads)
        return Taken(tuple(self._warm_up), tuple(self._samples), self._times, rounds, loads)


def runs_per_sample(run_s: float, asked: Asked) -> int:
    """So many runs are one sample: it is long enough for the clock, and ``most_samples`` of them fill half of ``most_s``."""
    wanted = max(_SHORTEST_S, asked.most_s / asked.most_samples / 2)
    return max(1, math.ceil(wanted / run_s)) if run_s > 0 else _MOST_A_ROUND


def is_warm(samples_s: Sequence[float], spent_s: float, asked: Asked) -> bool:
    """Whether the runs are no longer getting faster: the last half in the median no faster than the half before it by more than the width
    asked for, of six samples at least, in a fifth of a second at least; or all of ``warm_up_s`` is spent.
    """
    if not samples_s:
        return False
    if spent_s >= asked.warm_up_s:
        return True
    half = len(samples_s) // 2
    settled = half >= 3 and median(samples_s[half:]) >= median(samples_s[:half]) * (1 - asked.width)
    return settled and spent_s >= _WARM_S


def is_enough(samples_s: Sequence[float], spent_s: float, asked: Asked, rounds: int) -> bool:
    """Whether the median is known as well as asked for, or the time or the number of samples is used up."""
    if samples_s and (spent_s >= asked.most_s or len(samples_s) >= asked.most_samples):
        return True
    if len(samples_s) < asked.least_samples or rounds < asked.least_rounds:
        return False
    found = median_interval(samples_s, asked.confidence)
    return found is not None and found.width_s / 2 <= asked.width * median(samples_s)


def take(runs: Runs, asked: Asked, watch: Watch | None = None) -> Taken:
    """Warm up, then take samples until there are enough."""
    (taken,) = alternate([runs], asked, watch)
    return taken


def alternate(runs: Sequence[Runs], asked: Asked, watch: Watch | None = None) -> tuple[Taken, ...]:
    """The same for several networks in turn, a round each, forwards and backwards, until there are enough of all.

    What the machine does meanwhile then happens to all of them alike: all have the same number of rounds, and those of one number were
    taken one after the other.  The time of ``asked`` is that of each.
    """
    taking = [_Taking(one, asked, watch) for one in runs]
    for turn in cycle((taking, taking[::-1])):
        if all(one.is_enough for one in taking):
            break
        for one in turn:
            one.one_round()
    return tuple(one.taken() for one in taking)


def _in_round(sample_s: float) -> int:
    return _MOST_A_ROUND if sample_s <= 0 else max(1, min(_MOST_A_ROUND, round(_ROUND_S / sample_s)))


def _warmed(runs: Runs, asked: Asked) -> tuple[list[float], int]:
    """The samples of the warm-up, in rounds twice as large each, and how many runs a sample has: one in the first, cold one."""
    found = list(runs(1, 1))
    spent_s, times, wanted = sum(found), runs_per_sample(found[-1], asked), 1
    while not is_warm(found[1:] or found, spent_s, asked):
        more = runs(min(wanted, _in_round(found[-1] * times)), times)
        found.extend(more)
        spent_s += sum(more) * times
        wanted *= 2
        times = runs_per_sample(median(found[-3:]), asked)
    return found, times

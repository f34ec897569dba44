"""When a measurement is warm, how many runs a sample has, and when there are enough: told by what has been measured so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from weighbridge.measure.summary import CONFIDENCE, median_interval
from weighbridge.named_tuple import NamedTuple

__all__ = ["Asked", "Runs", "Taken", "alternate", "is_enough", "is_warm", "runs_per_sample", "take"]

Runs = Callable[[int, int], Sequence[float]]
"""Takes so many samples of so many runs each; the seconds of one run in each sample."""

_SHORTEST_S: Final = 100e-6
"""A sample takes at least so long: a thousand times what reading the clock does."""
_ROUND_S: Final = 0.25
"""Samples are asked for in rounds of about that long, so that what a machine does now and then is seen between them."""
_MOST_A_ROUND: Final = 1_000


class Asked(NamedTuple):
    """How well the median is to be known: to ``width`` either way, relative, at ``confidence``.

    No fewer than ``least_samples`` are taken, and no more once there are ``most_samples`` or they have taken ``most_s`` seconds; the
    warm-up before takes ``warm_up_s`` at most, but one run.
    """

    width: float = 0.01
    confidence: float = CONFIDENCE
    least_samples: int = 30
    most_samples: int = 10_000
    most_s: float = 20.0
    warm_up_s: float = 3.0


class Taken(NamedTuple):
    """The samples of the warm-up and those that count, each of so many runs."""

    warm_up_s: tuple[float, ...]
    samples_s: tuple[float, ...]
    runs_per_sample: int


def runs_per_sample(run_s: float) -> int:
    """So many runs are one sample, so that it is long enough for the clock."""
    return max(1, math.ceil(_SHORTEST_S / run_s)) if run_s > 0 else _MOST_A_ROUND


def is_warm(samples_s: Sequence[float], asked: Asked) -> bool:
    """Whether the runs are no longer getting faster: three at least, the last half in the median no faster than the half before it by more
    than the width asked for, or all of ``warm_up_s`` spent.
    """
    if len(samples_s) < 3:
        return sum(samples_s) >= asked.warm_up_s > 0 and len(samples_s) > 0
    if sum(samples_s) >= asked.warm_up_s:
        return True
    half = len(samples_s) // 2
    return len(samples_s) >= 6 and median(samples_s[half:]) >= median(samples_s[:half]) * (1 - asked.width)


def is_enough(samples_s: Sequence[float], spent_s: float, asked: Asked) -> bool:
    """Whether the median is known as well as asked for, or the time or the number of samples is used up."""
    if spent_s >= asked.most_s or len(samples_s) >= asked.most_samples:
        return True
    if len(samples_s) < asked.least_samples:
        return False
    found = median_interval(samples_s, asked.confidence)
    return found is not None and found.width_s / 2 <= asked.width * median(samples_s)


def take(runs: Runs, asked: Asked) -> Taken:
    """Warm up, then take samples until there are enough."""
    (taken,) = alternate([runs], asked)
    return taken


def alternate(runs: Sequence[Runs], asked: Asked) -> tuple[Taken, ...]:
    """The same for several networks in turn, a round each, forwards and backwards, until there are enough of all.

    What the machine does meanwhile then happens to all of them alike.  The time of ``asked`` is that of each.
    """
    warm = [_warmed(one, asked) for one in runs]
    times = [runs_per_sample(median(found[-3:])) for found in warm]
    samples: list[list[float]] = [[] for _ in runs]
    spent = [0.0] * len(runs)
    forwards = True
    while not all(is_enough(one, seconds, asked) for one, seconds in zip(samples, spent, strict=True)):
        places = range(len(runs)) if forwards else reversed(range(len(runs)))
        for place in places:
            each = median(samples[place] or warm[place][-3:]) * times[place]
            wanted = _MOST_A_ROUND if each <= 0 else max(1, min(_MOST_A_ROUND, round(_ROUND_S / each)))
            wanted = min(wanted, max(1, asked.most_samples - len(samples[place])))
            found = runs[place](wanted, times[place])
            samples[place].extend(found)
            spent[place] += sum(found) * times[place]
        forwards = not forwards
    return tuple(Taken(tuple(one), tuple(two), n) for one, two, n in zip(warm, samples, times, strict=True))


def _warmed(runs: Runs, asked: Asked) -> list[float]:
    found = list(runs(1, 1))
    while not is_warm(found, asked):
        found.extend(runs(1, 1))
    return found

"""Many small networks in turns: a few milliseconds each in every round, so that all of them see what the machine does meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from weighbridge.measure.harness import Runs
from weighbridge.named_tuple import NamedTuple

__all__ = ["Samples", "best", "in_turns"]

_WARM_S: Final = 0.02
_SAMPLE_S: Final = 0.5e-3
"""A sample takes at least so long: reading the clock is nothing of it."""
_TURN_S: Final = 3e-3
_FEWEST: Final = 2
_ROUNDS: Final = 5
"""So many there are at least, however long they take."""
_MOST_RUNS: Final = 10_000


class Samples(NamedTuple):
    """The seconds of one run in each sample, the mean of so many runs."""

    samples_s: tuple[float, ...]
    runs_per_sample: int


def in_turns(
    runs: Sequence[Runs], seconds: float, clock: Callable[[], float], told: Callable[[int], None] | None = None
) -> tuple[tuple[Samples, ...], int]:
    """Samples of each of ``runs``, in rounds forwards and backwards until ``seconds`` are over, and how many rounds these were.

    The first sample of each turn is in no figure: what ran before has taken the caches.  ``told`` hears the number of each round.
    """
    end = clock() + seconds
    each_s = [_warm(one) for one in runs]
    times = [_runs_per_sample(one, _SAMPLE_S) for one in each_s]
    counts = [max(_FEWEST, round(_TURN_S / (one * many))) for one, many in zip(each_s, times, strict=True)]
    found: list[list[float]] = [[] for _ in runs]
    rounds = 0
    order = list(range(len(runs)))
    while rounds < _ROUNDS or clock() < end:
        for place in order:
            _, *counted = runs[place](counts[place] + 1, times[place])
            found[place] += counted
        order.reverse()
        rounds += 1
        if told is not None:
            told(rounds)
    return tuple(Samples(tuple(one), many) for one, many in zip(found, times, strict=True)), rounds


def best(runs: Runs, seconds: float, sample_s: float = _SAMPLE_S) -> float:
    """The fastest of the samples of about so many seconds, three of them at least, each of ``sample_s`` at least."""
    each_s = _warm(runs)
    times = _runs_per_sample(each_s, sample_s)
    return min(runs(max(3, round(seconds / (each_s * times))), times))


def _warm(runs: Runs) -> float:
    """The seconds of a run when it has run for a while."""
    found = list(runs(1, 1))
    spent_s, wanted = 0.0, 1
    while spent_s < _WARM_S and wanted < _MOST_RUNS:
        found = list(runs(wanted, 1))
        spent_s += sum(found)
        wanted *= 2
    return max(median(found), 1e-9)


def _runs_per_sample(run_s: float, sample_s: float) -> int:
    return min(_MOST_RUNS, max(1, math.ceil(sample_s / run_s)))

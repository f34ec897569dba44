"""What disturbed a measurement: other programs, a machine that changed its speed, samples that do not settle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Final

from weighbridge.measure.summary import Summary, median_interval
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import seconds

__all__ = ["Load", "drift", "noises", "noises_of_load", "together"]

_OTHERS: Final = 0.05
"""A twentieth of one processor's time: more of it taken by others is told."""
_DISTURBED: Final = 0.25
"""In one round a quarter of a processor's: the system counts in hundredths of a second, of which a round has few."""
_STOLEN: Final = 0.01
_DRIFTED: Final = 0.02
_SLOWED: Final = 0.05
_INTERRUPTED_PER_S: Final = 20
"""A process that has a processor to itself loses it a few times a second; one that shares it, at each slice of some milliseconds."""
_FEWEST: Final = 18
"""Drift is told of thirds of six samples at least."""
_OUTLYING: Final = 0.05


class Load(NamedTuple):
    """What the system says of the time of a measurement; None is what it does not say.

    Of ``wall_s`` seconds the processors were busy for ``busy_s``, all added, of which ``own_s`` were the measurement's; ``stolen_s`` a
    hypervisor gave to others.  ``interrupted`` times the first thread of its processes lost a processor that it would have gone on with.
    The frequencies are of the processors used, at the beginning and at the end.
    """

    wall_s: float
    processors: int
    busy_s: float | None = None
    own_s: float | None = None
    stolen_s: float | None = None
    interrupted: int | None = None
    frequency_before_hz: float | None = None
    frequency_after_hz: float | None = None

    @property
    def others(self) -> float | None:
        """How many processors others kept busy, in the mean."""
        if self.busy_s is None or self.own_s is None or self.wall_s <= 0:
            return None
        return max(0.0, self.busy_s - self.own_s) / self.wall_s


def together(loads: Sequence[Load]) -> Load | None:
    """The load of several stretches of time as one; None of none.  What one of them does not say, they do not say."""
    if not loads:
        return None
    interrupted = _sum(loads, lambda one: one.interrupted)
    return Load(
        wall_s=sum(one.wall_s for one in loads),
        processors=loads[0].processors,
        busy_s=_sum(loads, lambda one: one.busy_s),
        own_s=_sum(loads, lambda one: one.own_s),
        stolen_s=_sum(loads, lambda one: one.stolen_s),
        interrupted=None if interrupted is None else round(interrupted),
        frequency_before_hz=loads[0].frequency_before_hz,
        frequency_after_hz=loads[-1].frequency_after_hz,
    )


def _sum(loads: Sequence[Load], which: Callable[[Load], float | None]) -> float | None:
    found = [value for one in loads if (value := which(one)) is not None]
    return sum(found) if len(found) == len(loads) else None


def drift(samples_s: Sequence[float]) -> float | None:
    """The median of the last third over that of the first, less 1; None of few samples, and where their intervals meet."""
    third = len(samples_s) // 3
    if len(samples_s) < _FEWEST:
        return None
    first, last = samples_s[:third], samples_s[-third:]
    one, other = median_interval(first), median_interval(last)
    if one is None or other is None or one.meets(other) or not median(first):
        return None
    return median(last) / median(first) - 1


def noises(
    samples_s: Sequence[float], found: Summary, load: Load | None, wanted: float, rounds: Sequence[Load] = ()
) -> tuple[str, ...]:
    """What makes a measurement noisy, a sentence each; () where nothing is known to.

    ``wanted`` is the half width asked for, relative.  ``load`` is that of the whole measurement, ``rounds`` that of each of its rounds,
    in which a disturbance shows that is too short for the whole.
    """
    return (*_of_samples(samples_s, found, wanted), *noises_of_load(load, rounds))


def noises_of_load(load: Load | None, rounds: Sequence[Load] = ()) -> tuple[str, ...]:
    """What of that is no matter of one network: what the machine did meanwhile."""
    of_load = () if load is None else _of_load(load)
    return (*of_load, *_of_rounds(rounds), *_of_frequencies(load, rounds))


def _of_samples(samples_s: Sequence[float], found: Summary, wanted: float) -> Iterator[str]:
    width = found.relative_width
    if width is None:
        samples = f"{found.samples:,} sample{' is' if found.samples == 1 else 's are'}"
        yield f"{samples} too few, or too much alike, for an interval of the median"
    elif width > wanted:
        yield f"the median is known to {width:.1%} either way, not to the {wanted:.1%} asked for"
    moved = drift(samples_s)
    if moved is not None and abs(moved) > _DRIFTED:
        yield f"the last third of the runs took {abs(moved):.1%} {'more' if moved > 0 else 'less'} than the first"
    if found.outliers > _OUTLYING * found.samples:
        yield f"{found.outliers:,} of {found.samples:,} samples lie far out, above {seconds(found.fence_s)}"


def _of_load(load: Load) -> Iterator[str]:
    others = load.others
    if others is not None and others > _OTHERS:
        yield f"other programs kept {others:.2f} of {load.processors:,} processors busy"
    if load.stolen_s is not None and load.wall_s > 0 and load.stolen_s / load.wall_s > _STOLEN:
        yield f"the hypervisor gave {load.stolen_s / load.wall_s:.1%} of a processor to others"
    if load.interrupted is not None and load.interrupted > _INTERRUPTED_PER_S * max(load.wall_s, 1):
        yield f"the measurement lost its processor {load.interrupted:,} times in {load.wall_s:.1f} s"


def _of_rounds(rounds: Sequence[Load]) -> Iterator[str]:
    found = [one.others for one in rounds if one.others is not None]
    disturbed = sum(one > _DISTURBED for one in found)
    if disturbed and disturbed < len(found):  # of all of them the whole tells
        yield f"other programs were busy in {disturbed:,} of {len(found):,} rounds, with {max(found):.2f} processors at most"


def _of_frequencies(load: Load | None, rounds: Sequence[Load]) -> Iterator[str]:
    loads = rounds or (() if load is None else (load,))
    every = [hertz for one in loads for hertz in (one.frequency_before_hz, one.frequency_after_hz) if hertz]
    if every and max(every) / min(every) - 1 > _SLOWED:
        yield f"the processor ran at {min(every) / 1e9:.2f} to {max(every) / 1e9:.2f} GHz"

"""Frames that each of several models misses at a rate: at a device's floor, at a time expected there, or at a measured one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.published_figures import conditions_of
from weighbridge.report.record import by_device

if TYPE_CHECKING:
    from fractions import Fraction

    from weighbridge.report.comparison import Model

__all__ = ["EXPECTED", "FLOOR", "PUBLISHED", "Deadlines", "Missed", "deadlines_of"]

FLOOR: Final = "floor"
EXPECTED: Final = "expected"
PUBLISHED: Final = "published"


class Missed(NamedTuple):
    """The frames that ``model`` misses ``on`` a device, or under the conditions of a published time.

    ``kind`` says what ``latency_s`` is: ``floor``, the least that the device can take, so that more frames may be missed and never
    fewer, ``expected``, what the network is expected to take there with the library ``kernels``, or ``published``, as somebody measured
    it.  None is unknown.  A floor that is not ``exact`` is a lower bound of the floor; what is expected never is exact.
    """

    model: str
    on: str
    latency_s: float | None
    kind: str
    frames_missed: int | None
    exact: bool
    kernels: str = ""


class Deadlines(NamedTuple):
    """What ``fps`` frames a second, ``deadline_s`` each, ask of every model: frames missed are ceil(latency x fps) - 1."""

    fps: float
    deadline_s: float
    by: tuple[Missed, ...]


def deadlines_of(models: Sequence[Model], fps: Fraction) -> Deadlines:
    """The frames that each model misses at ``fps`` frames a second."""
    return Deadlines(float(fps), float(1 / fps), tuple(missed for model in models for missed in _of(model, fps)))


def _of(model: Model, fps: Fraction) -> Iterator[Missed]:
    from weighbridge.estimates import deadline

    if model.report is not None:
        for device, on in by_device(model.report).items():
            floor = on.latency.floor_s
            frames = deadline(fps, floor, None).frames_missed
            yield Missed(model.name, device, floor, FLOOR, frames, on.latency.exact and floor is not None)
            for one in on.expected:
                if one.time_s is not None:
                    frames = deadline(fps, one.time_s, None).frames_missed
                    yield Missed(model.name, device, one.time_s, EXPECTED, frames, False, one.kernels)
    if model.published is not None:
        found = model.published
        time = None if found.latency_s is None else float(found.latency_s)
        frames = deadline(fps, time, None).frames_missed
        yield Missed(model.name, conditions_of(found.conditions), time, PUBLISHED, frames, time is not None)

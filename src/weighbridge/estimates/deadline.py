"""Frames that pass while an inference runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final

from weighbridge.estimates.expected import Expected
from weighbridge.named_tuple import NamedTuple

__all__ = ["ROUNDING", "Deadline", "ExpectedMissed", "deadline", "frames_missed"]

ROUNDING: Final = Fraction(1, 10**12)
"""What computing in floating point may have added to a time or an energy, as a part of it: a quotient that is whole but for that
is whole."""


class ExpectedMissed(NamedTuple):
    """The frames that a network is expected to miss with the library ``kernels``: at the expected time, and at both ends of its range,
    None where that is unknown.
    """

    kernels: str
    frames_missed: int
    least_frames_missed: int | None
    most_frames_missed: int | None


class Deadline(NamedTuple):
    """``frames_missed`` at the latency floor and ``layerwise_frames_missed`` at the layerwise sum, at ``fps`` frames a second.

    The floor is the least a device can take, so more frames may be missed than it says, never fewer.  None where there
    is no such time.  ``expected`` has an entry for each library of kernels with which a time is expected.
    """

    fps: float
    deadline_s: float
    frames_missed: int | None
    layerwise_frames_missed: int | None
    expected: tuple[ExpectedMissed, ...] = ()


def deadline(
    fps: Fraction, floor_s: float | None, layerwise_s: float | None, expected: Iterable[Expected] = ()
) -> Deadline:
    """What ``fps`` frames a second ask of an inference of these times."""
    at_floor, layerwise = _missed(floor_s, fps), _missed(layerwise_s, fps)
    return Deadline(float(fps), float(1 / fps), at_floor, layerwise, tuple(_expected(expected, fps)))


def _expected(expected: Iterable[Expected], fps: Fraction) -> Iterator[ExpectedMissed]:
    for one in expected:
        if one.time_s is not None:
            ends = (_missed(one.least_s, fps), _missed(one.most_s, fps))
            yield ExpectedMissed(one.kernels, frames_missed(_not_rounded_up(one.time_s), fps), *ends)


def _missed(time_s: float | None, fps: Fraction) -> int | None:
    return None if time_s is None else frames_missed(_not_rounded_up(time_s), fps)


def _not_rounded_up(time_s: float) -> Fraction:
    """A time that was computed in floating point, less what rounding may have added: 100 ms must not miss a frame of 100 ms."""
    return Fraction(time_s) * (1 - ROUNDING)


def frames_missed(latency_s: Fraction, fps: Fraction) -> int:
    """ceil(latency x fps) - 1: the frame that begins as the inference does is not missed."""
    return max(0, math.ceil(latency_s * fps) - 1)

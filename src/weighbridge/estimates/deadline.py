"""Frames that pass while an inference runs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["ROUNDING", "Deadline", "deadline", "frames_missed"]

ROUNDING: Final = Fraction(1, 10**12)
"""What computing in floating point may have added to a time or an energy, as a part of it: a quotient that is whole but for that
is whole."""


class Deadline(NamedTuple):
    """``frames_missed`` at the latency floor and ``layerwise_frames_missed`` at the layerwise sum, at ``fps`` frames a second.

    The floor is the least a device can take, so more frames may be missed than it says, never fewer.  None where there
    is no such time.
    """

    fps: float
    deadline_s: float
    frames_missed: int | None
    layerwise_frames_missed: int | None


def deadline(fps: Fraction, floor_s: float | None, layerwise_s: float | None) -> Deadline:
    """What ``fps`` frames a second ask of an inference of these times."""
    missed = (None if time is None else frames_missed(_not_rounded_up(time), fps) for time in (floor_s, layerwise_s))
    return Deadline(float(fps), float(1 / fps), *missed)


def _not_rounded_up(time_s: float) -> Fraction:
    """A time that was computed in floating point, less what rounding may have added: 100 ms must not miss a frame of 100 ms."""
    return Fraction(time_s) * (1 - ROUNDING)


def frames_missed(latency_s: Fraction, fps: Fraction) -> int:
    """ceil(latency x fps) - 1: the frame that begins as the inference does is not missed."""
    return max(0, math.ceil(latency_s * fps) - 1)

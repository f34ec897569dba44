"""Says which devices have no rate at a precision that was asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

__all__ = ["NO_RATE", "warn_without_rate"]

NO_RATE: Final = 2
"""The exit code of asking for a precision that a device does not have: what else is known has been shown."""


def warn_without_rate(on: Sequence[str], precision: str | None) -> int:
    """A line on standard error for each device that was named by itself and has rates, but none at ``precision``.

    Returns the exit code, 0 if there is none.  A device of a group was not asked for alone, and one without any rate
    has no precision that could be asked for.
    """
    if precision is None:
        return 0
    from weighbridge.devices.catalogue import find_one_by_one

    lacking = [device for device in find_one_by_one(on) if device.peaks and device.peak(precision) is None]
    for device in lacking:
        stated = ", ".join(dict.fromkeys(peak.precision for peak in device.peaks))
        sys.stderr.write(
            f"weighbridge: {device.name} has no rate at {precision}: there is no time there; its rates are at {stated}\n"
        )
    return NO_RATE if lacking else 0

"""Says which devices have no rate at a precision that was asked for, and which cannot train at all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.report import Report

__all__ = ["NO_RATE", "warn_untrainable", "warn_without_rate"]

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


def warn_untrainable(report: Report, on: Sequence[str]) -> int:
    """A line on standard error for each device that was named by itself and has no room to train with a single sample.

    Returns the exit code, 0 if there is none.
    """
    from weighbridge.devices.catalogue import find_one_by_one

    alone = {device.name for device in find_one_by_one(on)}
    small = [one for one in report.on if one.device in alone and one.training and one.training.largest_batch == 0]
    for one in small:
        found = one.training
        assert found is not None
        sys.stderr.write(
            f"weighbridge: no batch can be trained on {printable(one.device, 60)}: a single sample needs more than the "
            f"{found.available_bytes:,} B of {printable(found.region or 'its memory', 40)}; --update, --checkpoint or a smaller "
            "network may help\n"
        )
    return NO_RATE if small else 0

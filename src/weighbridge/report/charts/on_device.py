"""What the charts of one device share: what stands over them, what binds a layer, and which figures are in doubt."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, TypeGuard

import altair

from weighbridge.errors import printable
from weighbridge.report.asking import SHOWN_DEVICE
from weighbridge.report.charts.panel import Subject
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE, WIDTH
from weighbridge.report.headlines import lower_bound
from weighbridge.report.record import OnDevice
from weighbridge.units import exact, seconds, short, significant

__all__ = [
    "BOUNDS",
    "bound",
    "bound_colours",
    "dataset",
    "doubts",
    "is_above_zero",
    "is_time",
    "many",
    "rate_of",
    "time",
    "under",
]

BOUNDS: Final = {"bound by compute": PALETTE[0], "bound by memory": ACCENT, "bound not known": MUTED}
"""What a layer waits for, and its colour."""
_WHOLE: Final = 1000
_KNOWN: Final = ("compute", "memory")


def bound(name: str | None) -> str:
    """What a layer of this ``bound`` is called in ``BOUNDS``."""
    return f"bound by {name}" if name in _KNOWN else "bound not known"


def bound_colours() -> Any:
    """The scale of ``BOUNDS``, the same in every chart."""
    return altair.Scale(domain=list(BOUNDS), range=list(BOUNDS.values()))


def dataset(name: str, subject: Subject) -> str:
    """The name of a dataset of one model on one device."""
    place = next(place for place, on in enumerate(subject.report.on) if on is subject.on)
    return f"{name}_{subject.place}_{place}"


def under(on: OnDevice, *figures: str, has_batch: bool = True) -> altair.TitleParams:
    """The conditions, without which a time means nothing, and below them ``figures``; the batch may be on an axis instead."""
    conditions = on.conditions
    parts = [conditions.hardware, conditions.precision or "precision unknown"]
    if has_batch:
        parts.append("batch unknown" if conditions.batch is None else f"batch {exact(conditions.batch)}")
    text = ", ".join(printable(part, 60) for part in parts)
    return altair.TitleParams(text, subtitle=list(figures), limit=WIDTH)


def time(value: float | None, is_exact: bool) -> str:
    """A time as tables have it."""
    return "unknown" if value is None else lower_bound(seconds(value), is_exact)


def rate_of(value: float) -> str:
    """Operations a second: ``33.36 T``."""
    return short(round(value)) if value >= _WHOLE else significant(value)


def many(count: int, what: str = "layer") -> str:
    """``1 layer``, ``2 layers``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def is_above_zero(value: float | None) -> TypeGuard[float]:
    """Whether a logarithmic axis has a place for ``value``."""
    return value is not None and 0 < value < math.inf


def is_time(value: float | None) -> TypeGuard[float]:
    """Whether ``value`` is known and can be drawn."""
    return value is not None and 0 <= value < math.inf


def doubts(on: OnDevice) -> Iterator[str]:
    """What every figure of a device rests on that nobody has checked."""
    if not on.latency.verified:
        yield f"rests on a figure of the device that is not verified; `{SHOWN_DEVICE}` says which"

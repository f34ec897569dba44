"""The figures of a published network by name; they are in rows of their own, as they are not counted by our conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.errors import printable
from weighbridge.published import Conditions, Published
from weighbridge.report.figures import Value
from weighbridge.units import as_number

__all__ = ["PUBLISHED", "are_comparable", "conditions_of", "is_of_times", "published_values"]

PUBLISHED: Final = "published."
"""Begins the name of a figure that somebody published."""
_TIMES: Final = frozenset({f"{PUBLISHED}latency_s", f"{PUBLISHED}throughput_per_s"})


def published_values(found: Published) -> Mapping[tuple[str, str], Value]:
    """The figures that were published, by name and unit: qualities of different units are different figures."""
    values = (
        ("macs", "", found.macs),
        ("flops", "", found.flops),
        ("latency_s", "s", found.latency_s),
        ("throughput_per_s", "1/s", found.throughput_per_s),
        ("quality", found.quality_metric, found.quality),
    )
    return {
        (f"{PUBLISHED}{name}", unit): Value(unit, as_number(value), True)
        for name, unit, value in values
        if value is not None
    }


def is_of_times(name: str) -> bool:
    """Whether a figure was measured, so that it means something under its conditions alone."""
    return name in _TIMES


def are_comparable(one: Published, other: Published) -> bool:
    """Whether the times of two have a ratio: all is known and the same but the network, or but the hardware of one network.

    What the source does not say is taken for the same where both stand in one source.
    """
    here, there = one.conditions, other.conditions
    if here is None or there is None or not here.hardware or not there.hardware:
        return False
    if here != there:
        moved = here._replace(hardware=there.hardware)
        if (one.title, one.input, moved) != (other.title, other.input, there):
            return False
    return one.source == other.source or all(here)


def conditions_of(conditions: Conditions | None) -> str:
    """Hardware, runtime, precision and batch, each said to be unknown where it is; printable, as names of devices are."""
    if conditions is None:
        return "conditions unknown"
    batch = "batch unknown" if conditions.batch is None else f"batch {conditions.batch:,}"
    words = ((conditions.hardware, "hardware"), (conditions.runtime, "runtime"), (conditions.precision, "precision"))
    return ", ".join((*(printable(said, 80) or f"{what} unknown" for said, what in words), batch))

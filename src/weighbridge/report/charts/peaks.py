"""The peak under every policy side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import altair

from weighbridge.errors import printable
from weighbridge.report.charts.axes import amounts
from weighbridge.report.charts.bars import sized
from weighbridge.report.charts.layers import picked_opacity
from weighbridge.report.charts.panel import Datum, NoPanel, Panel, Subject, key
from weighbridge.report.charts.theme import PALETTE, WIDTH
from weighbridge.report.peaks import peaks as peaks_by_policy
from weighbridge.report.peaks import place_of_peak

__all__ = ["peaks"]

_BAR: Final = 20
"""The height of a policy, in pixels."""


def peaks(subject: Subject) -> Panel | NoPanel:
    """A bar for each policy with a figure, in the order of the report; those without one are notes, in the words of the page."""
    found = peaks_by_policy(subject.report.memory)
    data = tuple(_rows(subject))
    if not data:
        return NoPanel("; ".join(found.left_out) or "the report has no peak under any policy")
    name = f"peaks_{subject.place}"
    drawing = (
        altair.Chart(altair.NamedData(name), width=WIDTH, height=_BAR * len(data))
        .mark_bar(aria=False, color=PALETTE[0], height={"band": 0.75})
        .encode(
            x=altair.X("peak_bytes:Q", title="peak memory", axis=amounts("B")),
            y=altair.Y("policy:N", sort=None, title="policy", axis=altair.Axis(labelOverlap=False)),
            opacity=picked_opacity(),
            tooltip=[
                altair.Tooltip("policy:N"),
                altair.Tooltip("peak_bytes:Q", title="peak (B)", format=","),
                altair.Tooltip("node:N", title="set at"),
            ],
        )
    )
    sizes = {row["policy"]: size for row in data if isinstance(size := row["peak_bytes"], int)}
    least, largest = min(sizes, key=lambda one: sizes[one]), max(sizes, key=lambda one: sizes[one])
    description = f"from {sized(sizes[least])} under {least} to {sized(sizes[largest])} under {largest}"
    return Panel(drawing, {name: data}, description, found.left_out)


def _rows(subject: Subject) -> Iterator[Datum]:
    memory = subject.report.memory
    for policy, size in memory.peak_bytes.items():
        if size is not None and policy not in memory.inapplicable:
            place = place_of_peak(subject.report, policy)
            yield {
                "key": None if place is None else key(subject.place, place),
                "policy": printable(policy, 40),
                "peak_bytes": size,
                "node": printable(memory.peak_node.get(policy) or "", 60),
            }

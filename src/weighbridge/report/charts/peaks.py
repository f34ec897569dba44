"""The peak under every policy side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from weighbridge.report.record import told_apart

__all__ = ["peaks"]

_BAR: Final = 20
"""The height of a policy, in pixels."""
_MOST: Final = 40
"""So many policies are drawn: more than there are, but a report can name any."""


def peaks(subject: Subject) -> Panel | NoPanel:
    """A bar for each policy with a figure, in the order of the report; those without one are notes, in the words of the page."""
    memory = subject.report.memory
    found = peaks_by_policy(memory)
    known = [
        (policy, size)
        for policy, size in memory.peak_bytes.items()
        if size is not None and policy not in memory.inapplicable
    ]
    if not known:
        return NoPanel("; ".join(found.left_out) or "the report has no peak under any policy")
    data = tuple(_rows(subject, [policy for policy, _ in known[:_MOST]]))
    name = f"peaks_{subject.place}"
    drawing = (
        altair.Chart(altair.NamedData(name), width=WIDTH, height=_BAR * len(data))
        .mark_bar(aria=False, color=PALETTE[0], height={"band": 0.75})
        .encode(
            x=altair.X("peak_bytes:Q", title="peak in bytes", axis=amounts("B")),
            x2=altair.datum(0),
            y=altair.Y("policy:N", sort=None, title="policy", axis=altair.Axis(labelOverlap=False)),
            opacity=picked_opacity(),
            tooltip=[
                altair.Tooltip("policy:N"),
                altair.Tooltip("peak_bytes:Q", title="peak (B)", format=","),
                altair.Tooltip("node:N", title="set at"),
            ],
        )
    )
    more = (f"drawn are the first {_MOST} of {len(known):,} policies",) if len(known) > _MOST else ()
    return Panel(drawing, {name: data}, _from_to(known), (*found.left_out, *more))


def _from_to(sizes: Sequence[tuple[str, int]]) -> str:
    (least, small), (most, large) = min(sizes, key=lambda one: one[1]), max(sizes, key=lambda one: one[1])
    if small == large:
        return f"{sized(small)} under each policy that applies"
    return f"from {sized(small)} under {printable(least, 40)} to {sized(large)} under {printable(most, 40)}"


def _rows(subject: Subject, policies: Sequence[str]) -> Iterator[Datum]:
    memory = subject.report.memory
    names = told_apart(printable(policy, 40) for policy in policies)
    for name, policy in zip(names, policies, strict=True):
        place = place_of_peak(subject.report, policy)
        yield {
            "key": None if place is None else key(subject.place, place),
            "policy": name,
            "peak_bytes": memory.peak_bytes[policy],
            "node": printable(memory.peak_node.get(policy) or "", 60),
        }

"""Memory over time: the bytes that are alive while each node runs, and the peak."""

from __future__ import annotations

from typing import Final

import altair

from weighbridge.errors import printable
from weighbridge.report.charts.bars import Series, bars, layers, sized
from weighbridge.report.charts.panel import NoPanel, Panel, Subject
from weighbridge.report.charts.theme import ACCENT, PALETTE, WIDTH
from weighbridge.report.peaks import place_of_peak, where_of_peak, why_no_profile

__all__ = ["memory"]

_ALIVE: Final = Series("alive_bytes", "bytes alive", "B", PALETTE[0])


def memory(subject: Subject) -> Panel | NoPanel:
    """A bar a node under the policy of ``subject``; the node that sets the peak and the level of the peak stand out."""
    plan, policy = subject.report.memory, subject.policy
    reason = why_no_profile(plan, policy)
    if reason is not None:
        return NoPanel(reason)
    data = layers(subject)
    if not any(data.columns[_ALIVE.field]):
        return NoPanel(f"{policy}: of no node is it known that bytes are alive while it runs")
    place, peak = place_of_peak(subject.report, policy), plan.peak_bytes.get(policy)
    where = "" if place is None else f" {where_of_peak(subject.report, policy, place)}"
    said = "the peak is not known" if peak is None else f"peak {sized(peak)}{where}"
    drawing = bars(subject, data, _ALIVE, [_ALIVE], accent=None if place is None else (place + 1, ACCENT))
    datasets = {data.name: data.rows}
    if peak is not None:
        level = f"memory_peak_{subject.place}"
        datasets[level] = ({"peak_bytes": peak},)
        drawing += (
            altair.Chart(altair.NamedData(level))
            .mark_rule(aria=False, color=ACCENT, strokeDash=[4, 3], strokeWidth=1.5)
            .encode(y="peak_bytes:Q", tooltip=altair.Tooltip("peak_bytes:Q", title="peak (B)", format=","))
        )
    title = altair.TitleParams(f"under the policy {printable(policy, 40)}", subtitle=said, limit=WIDTH)
    return Panel(drawing.properties(title=title), datasets, f"{printable(policy, 40)}: {said}", data.notes([_ALIVE]))

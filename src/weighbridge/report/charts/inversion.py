"""Parameters and MACs side by side: where a network is heavy is seldom where it works."""

from __future__ import annotations

from typing import Any

import altair

from weighbridge.report.charts.layers import layer_axis, most, picked_opacity, rows
from weighbridge.report.charts.panel import NoPanel, Panel, Subject
from weighbridge.report.charts.theme import HEIGHT, PALETTE, WIDTH
from weighbridge.units import short

__all__ = ["inversion"]


def inversion(subject: Subject) -> Panel | NoPanel:
    """Two rows of bars over the layers: parameters, MACs."""
    nodes = subject.report.nodes
    if not any(node.parameters or node.macs for node in nodes):
        return NoPanel("no layer has parameters or MACs")
    places, note = most([(node.macs or 0) + (node.parameters or 0) for node in nodes])
    name = f"inversion_{subject.place}"
    data = rows(subject, lambda _, node: {"parameters": node.parameters, "macs": node.macs}, places)
    parts = [
        _bars(subject, name, field, title, colour)
        for field, title, colour in (("parameters", "parameters", PALETTE[0]), ("macs", "MACs", PALETTE[1]))
    ]
    heaviest = max(nodes, key=lambda node: node.parameters or 0)
    busiest = max(nodes, key=lambda node: node.macs or 0)
    description = (
        f"most parameters: {heaviest.name} with {short(heaviest.parameters or 0)}; "
        f"most MACs: {busiest.name} with {short(busiest.macs or 0)}"
    )
    return Panel(altair.vconcat(*parts, spacing=8), {name: data}, description, (note,) if note else ())


def _bars(subject: Subject, name: str, field: str, title: str, colour: str) -> Any:
    tooltip = [
        altair.Tooltip("name:N"),
        altair.Tooltip("operator:N"),
        altair.Tooltip(f"{field}:Q", title=title, format=","),
    ]
    return (
        altair.Chart(altair.NamedData(name), width=WIDTH, height=HEIGHT // 2)
        .mark_bar(color=colour, aria=False)
        .encode(
            x=layer_axis(subject),
            y=altair.Y(f"{field}:Q", title=title, axis=altair.Axis(format="~s", tickCount=4)),
            opacity=picked_opacity(),
            tooltip=tooltip,
        )
    )

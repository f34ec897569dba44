"""What each layer takes to train: what it keeps, its weights, their gradients, stacked; over the depth of a network a U."""

from __future__ import annotations

from typing import Any, Final

import altair

from weighbridge.errors import printable
from weighbridge.memory.training.records import TrainingLayer
from weighbridge.report.asking import TRAINING
from weighbridge.report.charts.axes import amounts
from weighbridge.report.charts.layers import NAMED, name_axis, number_axis, picked_opacity, thinned, width_of
from weighbridge.report.charts.panel import Datum, NoPanel, Panel, Subject, key
from weighbridge.report.charts.theme import HEIGHT, PALETTE, WIDTH
from weighbridge.report.headlines import lower_bound
from weighbridge.report.record import told_apart
from weighbridge.units import decimal_bytes, exact

__all__ = ["training"]

_PARTS: Final = {
    "saved activations": ("saved_bytes", PALETTE[0]),
    "parameters": ("parameter_bytes", PALETTE[1]),
    "gradients": ("gradient_bytes", PALETTE[2]),
}


def training(subject: Subject) -> Panel | NoPanel:
    """A bar a layer (a module, by the rule autograd) of three parts; layers that keep and learn nothing have none."""
    plan = subject.report.memory.training
    if plan is None:
        return NoPanel(f"training was not asked for; weigh it with {TRAINING}")
    layers = [layer for layer in plan.layers if layer.training_bytes]
    if not layers:
        return NoPanel("no layer keeps or learns anything")
    places, note = thinned([[layer.training_bytes for layer in layers]])
    names = list(told_apart(printable(layer.name, 80) or "(root)" for layer in layers))
    name = f"training_{subject.place}"
    nodes = {node.name: key(subject.place, at) for at, node in enumerate(subject.report.nodes)}
    keys = [nodes.get(layer.name, key(subject.place, len(nodes) + place)) for place, layer in enumerate(layers)]
    rows = tuple(row for place in places for row in _rows(layers[place], place, names[place], keys[place]))
    legend = altair.Legend(title=None, orient="bottom")
    domain, colours = list(_PARTS), [colour for _, colour in _PARTS.values()]
    drawn: Any = (
        altair.Chart(altair.NamedData(name), width=WIDTH, height=HEIGHT)
        .mark_bar(aria=False, orient="vertical", size=width_of(len(layers)))
        .encode(
            x=name_axis(names) if len(layers) <= NAMED else number_axis(len(layers)),
            # Stacked here: Vega groups by name, and trips over one that every object in JavaScript has.
            y=altair.Y("end:Q", title="bytes to train a layer", axis=amounts("B"), stack=None),
            y2=altair.Y2("begin:Q"),
            color=altair.Color("part:N", scale=altair.Scale(domain=domain, range=colours), legend=legend),
            opacity=picked_opacity(),
            tooltip=[
                altair.Tooltip("layer:Q", format=",d"),
                altair.Tooltip("name:N"),
                altair.Tooltip("part:N"),
                altair.Tooltip("bytes:Q", title="B", format=","),
                altair.Tooltip("together:Q", title="together (B)", format=","),
            ],
        )
    )
    bounds = sum(not layer.exact for layer in layers)
    notes = [f"what {bounds:,} of {len(layers):,} layers keep is a lower bound"] if bounds else []
    return Panel(drawn, {name: rows}, _description(layers, names), (*notes, *([note] if note else [])))


def _rows(layer: TrainingLayer, place: int, name: str, picked_by: str) -> list[Datum]:
    """A row a part; a layer that runs in the deployed graph too has the key that it has there."""
    shared: Datum = {"key": picked_by, "layer": place + 1, "name": name, "together": layer.training_bytes}
    rows: list[Datum] = []
    begin = 0
    for part, (field, _) in _PARTS.items():
        size = getattr(layer, field)
        rows.append({**shared, "part": part, "bytes": size, "begin": begin, "end": begin + size})
        begin += size
    return rows


def _description(layers: list[TrainingLayer], names: list[str]) -> str:
    most = max(range(len(layers)), key=lambda place: layers[place].training_bytes)
    layer = layers[most]
    size = lower_bound(f"{exact(layer.training_bytes)} B ({decimal_bytes(layer.training_bytes)})", layer.exact)
    saved = sum(one.saved_bytes for one in layers)
    learned = sum(one.parameter_bytes + one.gradient_bytes for one in layers)
    return (
        f"{len(layers):,} layers; most at {names[most]}, {size}; all of them keep {decimal_bytes(saved)}, their parameters and "
        f"gradients are {decimal_bytes(learned)}"
    )

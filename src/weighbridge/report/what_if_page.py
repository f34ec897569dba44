"""A comparison for people: what it comes to, every metric in a table, and the layers that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.report.figures import EXPECTED_S, WORDS, Value, cell, label
from weighbridge.report.figures import ratio_cell as ratio_of
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.layer_grid import ROWS, layer_grid
from weighbridge.report.metric_rows import doubted, group_label, groups, marks, said_of, side_of
from weighbridge.report.page import Table
from weighbridge.report.record import by_device
from weighbridge.report.spans import Line, text_of
from weighbridge.report.terminal import Look
from weighbridge.report.told import Told, lines_of, markdown_of
from weighbridge.report.view import subtitle
from weighbridge.report.view import title as title_of
from weighbridge.report.what_if import Metric, WhatIf, compared
from weighbridge.units import exact

__all__ = ["grids", "lines", "markdown", "said", "sentences", "table", "text", "title"]

_Stage = Mapping[tuple[str, str | None], Metric]
_UNKNOWN: Final = "?"
_NOTES: Final = 20
_HEADLINES: Final = (
    ("parameters", "parameters", ""),
    ("nonzero_parameters", "of them not zero", "parameters"),
    ("parameter_bytes", "model size", ""),
    ("macs", "MACs", ""),
    ("nonzero_macs", "of them not zero", "macs"),
)
"""What the first sentence says: a metric, its name there, and the dense one that it has to differ from to be said."""
_MUCH: Final = 0.5
_HARDLY: Final = 0.75
"""A size that is at most half is much smaller; a computation of three quarters or more is hardly less."""


def title(found: WhatIf) -> str:
    """The network and what was changed."""
    return f"{title_of(found.before)} with {printable(' '.join(found.changes), 300)}"


def text(found: WhatIf, look: Look, *, all_rows: bool = False) -> str:
    """The page as plain text."""
    return text_of(lines(found, look, all_rows=all_rows))


def lines(found: WhatIf, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans."""
    return lines_of(_told(found, all_rows), look)


def markdown(found: WhatIf) -> str:
    """The page as Markdown, with every row."""
    return markdown_of(_told(found, all_rows=True))


def _told(found: WhatIf, all_rows: bool) -> Told:
    return Told(
        title(found),
        subtitle(found.before),
        (),
        sentences(found),
        grids(found, all_rows=all_rows),
        said(found, all_rows),
        found.after.tool,
    )


def table(found: WhatIf) -> Table:
    """A row a metric with raw values, for formats that are computed on."""
    columns = ("device", *(name for name in Metric._fields if name != "device"))
    return Table(columns, tuple(tuple(getattr(one, name) for name in columns) for one in found.metrics))


def said(found: WhatIf, all_rows: bool) -> list[str]:
    """The notes of both sides, the first of them unless ``all_rows``."""
    notes = [printable(note, 600) for note in dict.fromkeys((*found.notes, *found.before.notes))]
    if all_rows or len(notes) <= _NOTES:
        return notes
    return [*notes[:_NOTES], f"{len(notes) - _NOTES:,} more notes; --all shows them"]


def sentences(found: WhatIf) -> Iterator[str]:
    """What the changes come to, and what part of the network they touched."""
    devices = list(by_device(found.after))
    parts = [
        f"{called} {ratio_cell(metric)} times"
        for name, called, dense in _HEADLINES
        if (metric := found.metric(name)).ratio is not None and (not dense or metric.ratio != found.metric(dense).ratio)
    ]
    floors = [(device, found.metric("floor_s", device)) for device in devices[:3]]
    parts += (f"latency floor on {name} {ratio_cell(one)} times" for name, one in floors if one.ratio is not None)
    parts += (
        f"{label(one.name)} on {one.device} {ratio_cell(one)} times"
        for one in found.metrics
        if one.name.startswith(EXPECTED_S) and one.device in devices[:3] and one.ratio is not None
    )
    if parts:
        yield f"{', '.join(parts)}{_conclusion(found, devices)}"
    touched = _touched(found)
    if touched:
        yield touched


def _conclusion(found: WhatIf, devices: Sequence[str]) -> str:
    """The point of the figures, where they have one and are exact."""
    nonzero, macs = found.metric("nonzero_parameters"), found.metric("macs")
    sizes = [found.metric(name) for name in ("parameters", "parameter_bytes")]
    small = min((one.ratio for one in sizes if one.ratio is not None and one.exact), default=1.0)
    if small == 1 and nonzero.exact and nonzero.ratio not in (None, 1.0):
        return ": zeros save neither bytes nor time by themselves"
    if small > _MUCH or macs.ratio is None or not macs.exact or macs.ratio < _HARDLY:
        return ""
    floors = [(device, found.metric("floor_s", device)) for device in devices[:3]]
    less = {one.device for one in found.metrics if one.name.startswith(EXPECTED_S) and (one.ratio or 1.0) < _HARDLY}
    slow = [
        device
        for device, one in floors
        if one.exact and one.ratio is not None and one.ratio >= _HARDLY and device not in less
    ]
    what = f"the floor on {', '.join(slow)}" if slow else "computation"
    return f": the size shrinks, {what} hardly"


def _touched(found: WhatIf) -> str:
    """How much of the network the layers that differ were, where it is not another one, built anew, and they were not all of it."""
    if found.before.network.source != found.after.network.source:
        return ""
    old = [layer.before for layer in found.layers if layer.before is not None]
    facts = found.before.facts
    if not facts.exact or not facts.weights or not facts.macs:
        return ""
    weights, macs = sum(one.weights or 0 for one in old), sum(one.macs or 0 for one in old)
    if not 0 < weights < sum(node.weights or 0 for node in found.before.nodes):
        return ""
    of_weights = f"{exact(weights)} of {exact(facts.weights)} weights ({weights / facts.weights:.1%})"
    return f"the layers that differ had {of_weights} and {exact(macs)} of {exact(facts.macs)} MACs ({macs / facts.macs:.1%})"


def grids(found: WhatIf, *, all_rows: bool = False) -> Iterator[Grid]:
    """A table of the network, one of each device, and one of the layers."""
    stages = [found.before, *(step.report for step in found.steps[:-1]), found.after]
    by_stage = [found.metrics, *(compared(found.before, report) for report in stages[1:-1])]
    yield _metrics("the network", None, found, by_stage)
    for device in dict.fromkeys(one.device for one in found.metrics if one.device is not None):
        yield _metrics(f"on {printable(device, 60)}", device, found, by_stage)
    if found.layers:
        yield layer_grid("layers that differ", found.layers, found.before.facts, None if all_rows else ROWS)


def _metrics(name: str, device: str | None, found: WhatIf, by_stage: Sequence[Sequence[Metric]]) -> Grid:
    """Rows of metrics; ``by_stage`` are those of the whole first, then of each step but the last."""
    metrics = [one for one in by_stage[0] if one.device == device and not _is_enough(one)]
    between: list[_Stage] = [{(one.name, one.device): one for one in stage} for stage in by_stage[1:]]
    doubts = doubted(by_device(found.after).get(device or ""))
    grouped = list(groups(metrics, lambda one: _at_every_stage(one, between)))
    rows = []
    for group in grouped:
        one = group[0]
        doubt = "~" if one.name in doubts else ""
        rows.append(
            GridRow(
                (
                    group_label(group),
                    cell(one.before, one.unit, one.exact_before, doubt, one.name),
                    *(_between(stage.get((one.name, device)), doubt) for stage in between),
                    cell(one.after, one.unit, one.exact_after, doubt, one.name),
                    ratio_cell(one),
                    ratio_cell(one, inverse=True),
                ),
                str(one.after) if one.name == "verdict" else "",
            )
        )
    columns = (
        Column("metric"),
        Column("before", is_number=True),
        *(Column(printable(" ".join(step.changes), 20), is_number=True, rank=1) for step in found.steps[:-1]),
        Column("after", is_number=True),
        Column("after/before", is_number=True),
        Column("times smaller", is_number=True, rank=2),
    )
    sides = (side_of("before", found.before), side_of("after", found.after))
    return Grid(_heading(name, found), columns, tuple(rows), (*marks(rows, grouped), *said_of(device, sides)))


def _at_every_stage(metric: Metric, between: Sequence[_Stage]) -> tuple[object, ...]:
    """What a peak is before, after each step and after all of them."""
    steps = (stage[metric.name, None].after for stage in between if (metric.name, None) in stage)
    return metric.before, metric.after, *steps


def _between(one: Metric | None, doubt: str) -> str:
    """A metric after a step; not every figure of the first and the last report is one of those between."""
    return "?" if one is None else cell(one.after, one.unit, one.exact_after, doubt, one.name)


def _is_enough(metric: Metric) -> bool:
    """Whether it is about bytes that were and are not missing."""
    return metric.name.startswith("short_bytes.") and metric.before == metric.after == 0


def _heading(name: str, found: WhatIf) -> str:
    if len(found.steps) < 2:
        return name
    return f"{name}, step by step: {'; then '.join(printable(' '.join(step.changes), 80) for step in found.steps)}"


def ratio_cell(metric: Metric, *, inverse: bool = False) -> str:
    """The ratio, marked where a side is a lower bound; "" of words, ``?`` where it is unknown."""
    if metric.name in WORDS:
        return ""
    before = Value(metric.unit, metric.before, metric.exact_before)
    after = Value(metric.unit, metric.after, metric.exact_after)
    if inverse:
        return ratio_of(metric.times_smaller, before, after, metric.name)
    return ratio_of(metric.ratio, after, before, metric.name)

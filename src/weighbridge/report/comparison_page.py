"""Several networks side by side for people: what it comes to, every metric in a table, the layers that differ, which none beats."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.report.comparison import Comparison, Difference, Metric, Model
from weighbridge.report.comparison_sentences import ends_of, names_of, sentences
from weighbridge.report.figures import WORDS, Value, cell, ratio_cell, values_of
from weighbridge.report.front_grids import deadline_grid, front_grid
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.layer_grid import ROWS, layer_grid
from weighbridge.report.metric_rows import Side, doubted, group_label, groups, marks, said_of, side_of
from weighbridge.report.page import Table
from weighbridge.report.published_grid import published_grids
from weighbridge.report.spans import Line, text_of
from weighbridge.report.terminal import Look
from weighbridge.report.told import Told, lines_of, markdown_of
from weighbridge.report.view import subtitle
from weighbridge.report.view import title as title_of

__all__ = ["grids", "heads", "lines", "markdown", "said", "sentences", "table", "text", "title"]

_NOTES: Final = 20
_RENAMED: Final = 3
_ABSENT: Final = "-"
"""Stands where a model has no such figure."""
_IN_THE_TITLE: Final = 4


def title(found: Comparison) -> str:
    """The models side by side."""
    names = ends_of(found)
    if len(set(names)) < len(names):
        names = [printable(model.name, 80) for model in found.models]
    if len(names) > _IN_THE_TITLE:
        return f"{names[0]} and {len(names) - 1:,} others side by side"
    return f"{', '.join(names[:-1])} and {names[-1]} side by side"


def heads(found: Comparison) -> Iterator[str]:
    """What each model is, a line each."""
    for name, called in names_of(found).items():
        model = next(one for one in found.models if one.name == name)
        as_it_is = printable(name, 300)
        yield f"{called}: {' · '.join(part for part in (as_it_is * (as_it_is != called), _kind(model)) if part)}"


def _kind(model: Model) -> str:
    if model.report is not None:
        own = title_of(model.report)
        return f"{own} · {subtitle(model.report)}" if own not in model.name else subtitle(model.report)
    assert model.published is not None
    return printable(f"{model.published.title}, as published", 200)


def text(found: Comparison, look: Look, *, all_rows: bool = False) -> str:
    """The page as plain text."""
    return text_of(lines(found, look, all_rows=all_rows))


def lines(found: Comparison, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans."""
    return lines_of(_told(found, all_rows), look)


def markdown(found: Comparison) -> str:
    """The page as Markdown, with every row."""
    return markdown_of(_told(found, all_rows=True))


def _told(found: Comparison, all_rows: bool) -> Told:
    return Told(
        title(found),
        "",
        list(heads(found)),
        sentences(found),
        grids(found, all_rows=all_rows),
        said(found, all_rows),
        found.tool,
    )


def table(found: Comparison) -> Table:
    """A row a metric with raw values, for formats that are computed on; three columns a model."""
    kinds = (("", "values"), (" exact", "exact"), (" ratio", "ratios"))
    columns = [f"{printable(model.name)}{kind}" for model in found.models for kind, _ in kinds]
    rows = tuple(
        (
            one.device,
            one.name,
            one.unit,
            *(getattr(one, field)[at] for at in range(len(found.models)) for _, field in kinds),
        )
        for one in found.metrics
    )
    return Table(("device", "name", "unit", *columns), rows)


def said(found: Comparison, all_rows: bool) -> list[str]:
    """The notes of the comparison, then those of its reports; the first of them unless ``all_rows``."""
    called = names_of(found)
    own = [f"{called[model.name]}: {note}" for model in found.models if model.report for note in model.report.notes]
    notes = [printable(note, 600) for note in dict.fromkeys((*found.notes, *own))]
    if all_rows or len(notes) <= _NOTES:
        return notes
    return [*notes[:_NOTES], f"{len(notes) - _NOTES:,} more notes; --all shows them"]


def grids(found: Comparison, *, all_rows: bool = False) -> Iterator[Grid]:
    """Tables: the networks, each device, the deadline, which none beats, the layers that differ, what was published."""
    called = names_of(found)
    sides = [side_of(called[model.name], model.report) for model in found.models if model.report is not None]
    has = [values_of(side.report).keys() for side in sides]
    if sides:
        yield _metrics("the network", None, found, sides, has)
    for device in dict.fromkeys(one.device for one in found.metrics if one.device is not None):
        yield _metrics(f"on {printable(device, 60)}", device, found, sides, has)
    yield from published_grids(found, called)
    if found.deadline is not None and found.deadline.by:
        yield deadline_grid(found.deadline, called)
    if any(front.best or front.beaten for front in found.fronts):
        yield front_grid(found.fronts, called)
    yield from _layers(found, all_rows)


def _layers(found: Comparison, all_rows: bool) -> Iterator[Grid]:
    called = names_of(found)
    whole = next((model.report.facts for model in found.models if model.report is not None), None)
    for one in found.differences:
        name, against = called[one.name], called[one.against]
        if one.layers and whole is not None:
            title = f"layers of {name} that differ from {against}"
            yield layer_grid(title, one.layers, whole, None if all_rows else ROWS)
        if one.renamed:
            yield _renamed(one, name, against, None if all_rows else _RENAMED)


def _renamed(found: Difference, name: str, against: str, most: int | None) -> Grid:
    """The layers that are alike under two names, the first of them."""
    rows = tuple(GridRow((printable(before), printable(after))) for before, after in found.renamed[:most])
    first = f", the first {len(rows):,}" if len(rows) < len(found.renamed) else ""
    heading = f"layers that are alike and called otherwise: {len(found.renamed):,}{first}"
    return Grid(heading, (Column(against), Column(name)), rows)


def _metrics(
    name: str,
    device: str | None,
    found: Comparison,
    sides: Sequence[Side],
    has: Sequence[Collection[tuple[str, str | None]]],
) -> Grid:
    """Rows of metrics of what is weighed, each later model with its ratio to the first; ``has`` are the figures of each side."""
    shown = [at for at, model in enumerate(found.models) if model.report is not None]
    doubts = [doubted(side.on.get(device or "")) for side in sides]
    metrics = [one for one in found.metrics if _is_of(one, device) and any((one.name, device) in keys for keys in has)]
    grouped = list(groups((one for one in metrics if not _is_enough(one)), lambda one: (one.values, one.exact)))
    rows = []
    for group in grouped:
        one = group[0]
        figures = [
            cell(one.values[at], one.unit, one.exact[at], "~" if one.name in doubt else "", one.name)
            if (one.name, device) in keys
            else _ABSENT
            for at, doubt, keys in zip(shown, doubts, has, strict=True)
        ]
        is_there = [(one.name, device) in keys for keys in has]
        ratios = [
            _ratio(one, shown[0], at) if is_there[0] and there else ""
            for at, there in zip(shown, is_there, strict=True)
        ]
        later = [text for pair in zip(figures[1:], ratios[1:], strict=True) for text in pair]
        verdict = str(one.values[shown[0]]) if one.name == "verdict" and len(set(figures)) == 1 else ""
        rows.append(GridRow((group_label(group), figures[0], *later), verdict))
    columns = [Column(sides[0].name, is_number=True)]
    for side in sides[1:]:
        columns += (Column(side.name, is_number=True), Column("ratio", is_number=True, rank=1))
    heading = f"{name}, with the ratio to {sides[0].name}" if len(sides) > 1 else name
    return Grid(heading, (Column("metric"), *columns), tuple(rows), (*marks(rows, grouped), *said_of(device, sides)))


def _is_of(metric: Metric, device: str | None) -> bool:
    return metric.device == device


def _is_enough(metric: Metric) -> bool:
    """Whether it is about bytes that no model lacks."""
    return metric.name.startswith("short_bytes.") and not any(
        value != 0 for value in metric.values if value is not None
    )


def _ratio(metric: Metric, base: int, at: int) -> str:
    """The ratio, marked where a side is a lower bound; "" of words."""
    if metric.name in WORDS:
        return ""
    there, here = (Value(metric.unit, metric.values[place], metric.exact[place]) for place in (base, at))
    return ratio_cell(metric.ratios[at], here, there, metric.name)

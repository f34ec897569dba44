"""What an update of the baseline changed, for whoever is about to commit it: figures and layers of each model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from weighbridge.budgets.record import BaselineModel
from weighbridge.budgets.words import differences_words, several
from weighbridge.counts import NetworkFacts
from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.figures import NOTHING, Value, cell, quotient, ratio_cell
from weighbridge.report.grid import Column, Grid, GridRow, grid_lines
from weighbridge.report.layer_grid import ROWS, layer_grid
from weighbridge.report.matching import differences
from weighbridge.report.metric_rows import group_label, groups
from weighbridge.report.spans import Line, Style, in_ascii, wrap
from weighbridge.report.terminal import Look

__all__ = ["Updated", "lines"]

_NAME: Final = 80


class Updated(NamedTuple):
    """A model in the baseline as it was and as it is; None is not there.  ``facts`` are those of the network as it is."""

    name: str
    before: BaselineModel | None
    after: BaselineModel | None
    facts: NetworkFacts | None = None


class _Figure(NamedTuple):
    name: str
    device: str | None
    before: Value
    after: Value


def lines(path: Path, updated: Iterable[Updated], look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans: the file, and of each model what changed in it."""
    made = _lines(path, tuple(updated), look, all_rows)
    return made if look.unicode else (in_ascii(line) for line in made)


def _lines(path: Path, updated: tuple[Updated, ...], look: Look, all_rows: bool) -> Iterator[Line]:
    changed = [one for one in updated if one.before != one.after]
    same = len(updated) - len(changed)
    kept = f", {same:,} {'is' if same == 1 else 'are'} as before" if same else ""
    state = f"{several(len(changed), 'model')} changed{kept}" if changed else "it was up to date"
    yield from wrap(f"baseline {printable(str(path))}: {state}", look.measure, Style.STRONG, hanging=2)
    for one in changed:
        yield Line()
        yield from _model(one, look, all_rows)


def _model(one: Updated, look: Look, all_rows: bool) -> Iterator[Line]:
    name = printable(one.name, _NAME)
    if one.before is None or one.after is None:
        what = "gone: no model of the file has this name" if one.after is None else "new in the baseline"
        yield from wrap(f"{name}: {what}", look.measure, Style.STRONG, hanging=2)
        return
    found = differences(one.before.layers, one.after.layers)
    figures = list(_changed(one.before, one.after))
    if one.before.source != one.after.source:
        moved = f"{name}: from {printable(one.before.source)} to {printable(one.after.source)}"
        yield from wrap(moved, look.measure, Style.STRONG, hanging=2)
    if one.before.weighed_with != one.after.weighed_with:
        options = [printable(side.weighed_with) or "no option" for side in (one.before, one.after)]
        yield from wrap(f"{name}: weighed with {' -> '.join(options)}", look.measure, Style.STRONG, hanging=2)
    if figures:
        yield from grid_lines(_grid(name, figures), look.measure)
    else:
        yield from wrap(f"{name}: every figure is as it was", look.measure, Style.STRONG, hanging=2)
    yield from wrap(f"layers: {differences_words(found)}", look.measure, Style.QUIET, hanging=2)
    if found.layers and one.facts is not None:
        most = None if all_rows else ROWS
        yield from grid_lines(layer_grid("layers that differ", found.layers, one.facts, most), look.measure)


def _changed(before: BaselineModel, after: BaselineModel) -> Iterator[_Figure]:
    for key in dict.fromkeys((*before.figures, *after.figures)):
        old, new = before.figures.get(key, NOTHING), after.figures.get(key, NOTHING)
        if old != new:
            yield _Figure(*key, old, new)


def _grid(name: str, figures: list[_Figure]) -> Grid:
    rows = []
    for group in groups(figures, lambda one: (one.before, one.after)):
        one = group[0]
        device = "" if one.device is None else f" on {printable(one.device, _NAME)}"
        rows.append(
            GridRow(
                (
                    f"{group_label(group)}{device}",
                    cell(one.before.value, one.before.unit, one.before.exact, name=one.name),
                    cell(one.after.value, one.after.unit, one.after.exact, name=one.name),
                    ratio_cell(quotient(one.after.value, one.before.value), one.after, one.before, one.name),
                )
            )
        )
    columns = (
        Column("figure"),
        *(Column(title, is_number=True) for title in ("was", "is", "ratio")),
    )
    return Grid(name, columns, tuple(rows))

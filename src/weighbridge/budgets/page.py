"""A check for people: what passes, what breaks by how much, and which layer is to blame; on a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.budgets.record import NOT_EXACT, OVER, PASSED, Checked, CheckedModel, Result
from weighbridge.budgets.words import (
    NOT_CHECKED,
    baseline,
    blamed,
    figure,
    headline,
    layers_sentence,
    limit,
    outcome,
    shown_budget,
    unchecked_sentence,
)
from weighbridge.errors import printable
from weighbridge.report.grid import Column, Grid, GridRow, grid_lines
from weighbridge.report.layer_grid import ROWS, layer_grid
from weighbridge.report.spans import Line, Style, in_ascii, text_of, wrap
from weighbridge.report.terminal import Look

__all__ = ["lines", "markdown", "text"]

_BLAMED: Final = 3
"""Layers that are named where not all are shown."""
_NAME: Final = 80
_LOOKS: Final = {PASSED: "fits", OVER: "does not fit", NOT_EXACT: "unknown"}
"""How the row of a budget is to be looked at, in the words of verdicts."""
_STYLES: Final = {OVER: Style.BAD, NOT_EXACT: Style.WARNING}


def text(checked: Checked, look: Look, *, all_rows: bool = False) -> str:
    """The page as plain text."""
    return text_of(lines(checked, look, all_rows=all_rows))


def lines(checked: Checked, look: Look, *, all_rows: bool = False) -> Iterator[Line]:
    """The page as lines of spans: a table a model, and below it what broke, how far, and why."""
    made = _lines(checked, look, all_rows)
    return made if look.unicode else (in_ascii(line) for line in made)


def _lines(checked: Checked, look: Look, all_rows: bool) -> Iterator[Line]:
    style = {0: Style.GOOD, 3: Style.WARNING}.get(checked.exit_code, Style.BAD)
    yield from wrap(headline(checked), look.measure, style, hanging=2)
    for model in checked.models:
        yield Line()
        yield from grid_lines(_results(model), look.measure)
        for result in model.results:
            if result.status != PASSED:
                yield from _broken(result, look, all_rows)
        if sentence := layers_sentence(model):
            yield from wrap(sentence, look.measure, Style.QUIET, hanging=2)
        if layers := _layers(model, all_rows):
            yield from grid_lines(layers, look.measure)
        for note in _notes(model):
            yield from wrap(f"note: {note}", look.measure, Style.QUIET, hanging=6)
    if checked.unchecked:
        yield Line()
        yield from wrap(NOT_CHECKED, look.measure, Style.STRONG)
    for one in checked.unchecked:
        yield from wrap(unchecked_sentence(one), look.measure, Style.BAD, hanging=2)


def _broken(result: Result, look: Look, all_rows: bool) -> Iterator[Line]:
    yield from wrap(_sentence(result), look.measure, _STYLES[result.status], hanging=2)
    for words in _why(result, all_rows):
        yield from wrap(words, look.measure, Style.PLAIN, indent=2, hanging=2)


def _sentence(result: Result) -> str:
    return f"{result.status}: {shown_budget(result)}: {outcome(result)}"


def _why(result: Result, all_rows: bool) -> Iterator[str]:
    """What is to be known of a budget that is broken: notes, and the layers that it is due to, of many the first."""
    yield from (printable(note, 600) for note in result.notes)
    most = len(result.blame) if all_rows or len(result.blame) <= _BLAMED + 1 else _BLAMED
    yield from blamed(result, most)
    if most < len(result.blame):
        yield f"--all names {len(result.blame) - most:,} more"


def _notes(model: CheckedModel) -> list[str]:
    """What is to be known of the budgets that passed, once each."""
    passed = (result for result in model.results if result.status == PASSED)
    return list(dict.fromkeys(f"{shown_budget(one)}: {printable(note, 600)}" for one in passed for note in one.notes))


def _results(model: CheckedModel) -> Grid:
    """A row a budget."""
    rows = tuple(
        GridRow(
            (
                result.status,
                shown_budget(result),
                figure(
                    result.value, result.unit, is_exact=result.exact or result.value is None, name=result.budget.metric
                ),
                limit(result),
                "" if result.baseline is None else baseline(result),
                ""
                if result.over_by is None
                else figure(result.over_by, result.unit, is_exact=result.exact, name=result.budget.metric),
            ),
            _LOOKS[result.status],
        )
        for result in model.results
    )
    columns = (
        Column("", rank=0),
        Column("budget"),
        Column("now", is_number=True),
        Column("limit", is_number=True),
        Column("baseline", is_number=True, rank=2),
        Column("too much", is_number=True, rank=1),
    )
    return Grid(_title(model), columns, rows)


def _title(model: CheckedModel) -> str:
    name, source = printable(model.name, _NAME), printable(model.source)
    return name if name == source else f"{name}: {source}"


def _layers(model: CheckedModel, all_rows: bool) -> Grid | None:
    """The layers that differ from the baseline: where a budget broke, and where all are asked for."""
    is_wanted = all_rows or any(result.status == OVER for result in model.results)
    if model.differences is None or not model.differences.layers or not is_wanted:
        return None
    most = None if all_rows else ROWS
    return layer_grid("layers that differ from the baseline", model.differences.layers, model.report.facts, most)


def markdown(checked: Checked) -> str:
    """The page as Markdown, for a pull request, with every row."""
    return "\n".join(_blocks(checked)) + "\n"


def _blocks(checked: Checked) -> Iterator[str]:
    from weighbridge.report.markdown import escaped, grid_blocks

    yield f"## {escaped(headline(checked))}\n"
    for model in checked.models:
        yield from grid_blocks(_results(model)._replace(title=f"Budgets of {_title(model)}"))
        yield ""
        for result in model.results:
            if result.status != PASSED:
                yield f"- **{escaped(_sentence(result))}**"
                yield from (f"  - {escaped(words)}" for words in _why(result, all_rows=True))
        if sentence := layers_sentence(model):
            yield f"- {escaped(sentence)}"
        yield from (f"- {escaped(note)}" for note in _notes(model))
        if layers := _layers(model, all_rows=True):
            yield ""
            yield from grid_blocks(layers)
        yield ""
    if checked.unchecked:
        yield f"{NOT_CHECKED.capitalize()}:\n"
        yield from (f"- **{escaped(unchecked_sentence(one))}**" for one in checked.unchecked)
        yield ""
    yield escaped(printable(checked.tool))

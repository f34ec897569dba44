"""What a simulator is: controls go in, figures, charts and tables come out; the page around it is the same for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weighbridge.errors import WeighbridgeError
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.grid import Grid
from weighbridge.web.controls import Control, State, Stated, address, stated

__all__ = ["Answer", "Figure", "Plot", "Preset", "Readout", "Simulator", "answered", "plain"]

Figure = int | float | str | bool | None


class Readout(NamedTuple):
    """A figure: its ``name`` is that of the Python interface, ``value`` exact, ``shown`` for people; None and ``?`` are unknown."""

    name: str
    label: str
    value: Figure
    shown: str
    meaning: str = ""
    group: str = ""


class Plot(NamedTuple):
    """A chart: a Vega-Lite ``spec`` whose data are named ``rows``, and ``description``, what is to be seen, in a sentence."""

    name: str
    title: str
    spec: Mapping[str, Any]
    rows: tuple[Mapping[str, Figure], ...]
    description: str


class Answer(NamedTuple):
    """All that a state comes to.  ``unused`` are controls that mean nothing in it; ``sentences`` say what it comes to.

    ``remarks`` stand beside controls, by their names: what is to be said of a value that is no fault.  ``reaches`` are where sliders end
    in this state, where that is not where they always do.
    """

    readouts: tuple[Readout, ...]
    sentences: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Grid, ...] = ()
    unused: tuple[str, ...] = ()
    remarks: Mapping[str, str] = {}
    reaches: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()


class Preset(NamedTuple):
    """A state that has a name."""

    title: str
    state: State


class Simulator(NamedTuple):
    """A page: ``question`` is what it answers, ``meaning`` how to read it.

    ``answer`` takes a state in which each control has a value that it can have; where these do not go together it raises an
    error of ours, ``BadSpec`` located at a control if one can mend it.
    """

    name: str
    title: str
    question: str
    meaning: str
    controls: tuple[Control, ...]
    answer: Callable[[State], Answer]
    presets: tuple[Preset, ...] = ()

    def link(self, state: State) -> str:
        """The address of a state; what it leaves out is at its default."""
        whole = {control.name: state.get(control.name, control.default) for control in self.controls}
        query = address(self.controls, whole)
        return f"/{self.name}{'?' if query else ''}{query}"


def answered(simulator: Simulator, query: Iterable[tuple[str, str]]) -> tuple[Stated, Answer | None]:
    """The state that an address says and what it comes to, None where the values do not go together.

    A fault of a single control leaves an answer, with the default in its place.
    """
    found = stated(simulator.controls, query)
    try:
        return found, simulator.answer(found.state)
    except WeighbridgeError as error:
        names = {control.name for control in simulator.controls}
        where = error.where if error.where in names else ""
        said = str(type(error)(error.what, hint=error.hint, details=error.details) if where else error)
        return found._replace(faults={**found.faults, where: said}), None


def plain(simulator: Simulator, found: Stated, answer: Answer | None) -> dict[str, Any]:
    """The twin in JSON of a page: state, faults by control, and all that the page shows; without an answer null in its place."""
    return {
        "simulator": simulator.name,
        "address": simulator.link(found.state),
        "state": dict(found.state),
        "faults": dict(found.faults),
        "readouts": None if answer is None else [one._asdict() for one in answer.readouts],
        "sentences": None if answer is None else list(answer.sentences),
        "plots": None if answer is None else [_plot(one) for one in answer.plots],
        "tables": None if answer is None else [_table(one) for one in answer.tables],
        "unused": [] if answer is None else list(answer.unused),
        "remarks": {} if answer is None else dict(answer.remarks),
        "reaches": {} if answer is None else dict(answer.reaches),
        "notes": [] if answer is None else list(answer.notes),
    }


def _plot(one: Plot) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "spec": dict(one.spec),
        "rows": [dict(row) for row in one.rows],
        "description": one.description,
    }


def _table(grid: Grid) -> dict[str, Any]:
    return {
        "title": grid.title,
        "columns": [column.title for column in grid.columns],
        "numbers": [column.is_number for column in grid.columns],
        "rows": [list(row.cells) for row in grid.rows],
        "notes": list(grid.notes),
    }

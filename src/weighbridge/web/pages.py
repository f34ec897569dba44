"""The pages: one template for all simulators, which also work without scripts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import jinja2

from weighbridge.report.around import Around
from weighbridge.report.asking import BATCHES, DEVICE, ENERGY, SHOWN_DEVICE, TRAINING
from weighbridge.report.assets import in_script, style_sheet
from weighbridge.report.charts.theme import config
from weighbridge.web.controls import Stated, written
from weighbridge.web.simulator import Answer, Simulator, plain

__all__ = [
    "around",
    "failed_page",
    "first_page",
    "missing_page",
    "rendered",
    "resource",
    "script",
    "simulator_page",
    "style",
]

_WELCOME: Final = (
    "What a neural network costs before it is shipped: what it takes to store it, to run it and to power it."
)
_FAULT_OF_OURS: Final = "It is a fault of weighbridge, not yours; the terminal that it runs in says more."

_ASKING: Final = {"on": DEVICE, "energy": ENERGY, "batches": BATCHES, "train": TRAINING}
"""By field of a form, the option of the command line that asks for the same."""


def first_page(simulators: Mapping[str, Simulator]) -> str:
    """What the app is for, and where to begin."""
    return _listed("Weighbridge", _WELCOME, simulators)


def missing_page(simulators: Mapping[str, Simulator], near: str | None) -> str:
    """What is said of an address that no page has: those that there are, and the one that is ``near`` it."""
    return _listed("There is no such page", "These are the pages that there are.", simulators, near)


def failed_page(simulators: Mapping[str, Simulator]) -> str:
    """What is said where a page failed, which is a fault of ours."""
    return _listed("This page failed", _FAULT_OF_OURS, simulators)


def _listed(heading: str, said: str, simulators: Mapping[str, Simulator], near: str | None = None) -> str:
    return _template("first.html.jinja").render(
        heading=heading,
        is_first=said == _WELCOME,
        said=said,
        near=simulators[near] if near else None,
        simulators=list(simulators.values()),
    )


def simulator_page(simulator: Simulator, found: Stated, answer: Answer | None) -> str:
    """The page of a state: what is wrong stands beside its control, and the answer is that of the values that hold."""
    groups: dict[str, list[Any]] = {}
    for readout in () if answer is None else answer.readouts:
        groups.setdefault(readout.group, []).append(readout)
    held = {
        "config": config("page"),
        "defaults": {one.name: written(one.default) for one in simulator.controls},
        "answer": plain(simulator, found, answer),
    }
    return _template("simulator.html.jinja").render(
        simulator=simulator,
        state=found.state,
        written=written,
        faults=found.faults,
        answer=answer,
        groups=groups,
        held=in_script(held),
    )


def rendered(template: str, **context: Any) -> str:
    """The page that a template of ours makes; every text in ``context`` is escaped in it."""
    return _template(template).render(**context)


def around(template: str = "nav.html.jinja", *, form: str = "", fields: Collection[str] = (), **context: Any) -> Around:
    """What stands around a report that the app shows: the links to all pages, and what ``template`` has of its own.

    What the report has not is asked for in those ``fields`` of the form at the address ``form`` that are about it.
    """
    asked_at = {asking: f"{form}#control-{name}" for name, asking in _ASKING.items() if name in fields}
    asked_at[SHOWN_DEVICE] = "/devices"
    before = rendered(template, **context)
    return Around("/static/app.css", "/static/report.js", "/static/vega.js", before, asked_at)


@cache
def style() -> str:
    """The style sheet: that of the report, and what the app has beside it."""
    return f"{style_sheet()}\n{resource('app.css')}"


@cache
def script() -> str:
    """What moves the page without loading it again."""
    return resource("app.js")


def resource(name: str) -> str:
    """The text of one of the app's templates."""
    return (files("weighbridge.web") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(resource),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)

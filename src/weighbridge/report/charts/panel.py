"""What a chart is made of: a subject goes in, a panel comes out, panels of several models become one chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.record import OnDevice, Report

if TYPE_CHECKING:
    import altair

__all__ = ["IS_PICKED", "PICKED", "Chart", "Datum", "Kind", "NoPanel", "Panel", "Subject", "key", "title_line"]

PICKED: Final = "picked"
"""The parameter of a chart that holds the keys of the layers that are picked; empty where none is."""
IS_PICKED: Final = f"length({PICKED}) == 0 || indexof({PICKED}, datum.key) >= 0"
"""The condition under which a mark with a ``key`` is drawn in full."""

_LINE: Final = 200
"""Characters of a line above a panel; fewer have room there."""
_OF_EVERY_OBJECT: Final = frozenset(
    {
        *(
            "constructor",
            "hasOwnProperty",
            "isPrototypeOf",
            "propertyIsEnumerable",
            "toLocaleString",
            "toString",
            "valueOf",
        ),
        *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__"),
    }
)
"""What every object in JavaScript has: Vega looks a title up among its signals, finds these, and draws nothing."""

Datum = Mapping[str, str | int | float | bool | None]
"""A row of data; where it stands for a layer its ``key`` is that of ``key``."""


class Subject(NamedTuple):
    """What a panel is of: the report at ``place`` among those that are shown, its title, one of its devices where the chart
    is of a device, and the memory policy that a running profile follows.
    """

    place: int
    title: str
    report: Report
    on: OnDevice | None
    policy: str


class Panel(NamedTuple):
    """A drawing of one model.

    ``drawing`` names its ``datasets`` and holds no rows; datasets of one name are the same in every chart of a page.
    ``description`` says in a sentence with figures what there is to be seen, for who cannot see it.  ``notes`` are what the
    drawing leaves out.
    """

    drawing: altair.Chart | altair.LayerChart | altair.VConcatChart
    datasets: Mapping[str, tuple[Datum, ...]]
    description: str
    notes: tuple[str, ...] = ()


class NoPanel(NamedTuple):
    """Why a model has no such drawing, and what would give it one: a sentence without a full stop."""

    reason: str


class Kind(NamedTuple):
    """A chart that there is: its title, how to read it, what draws a panel.

    ``of_device`` has one for each device of a report.  ``shared`` are the scales that the panels of several models have in
    common, of ``x`` and ``y``.
    """

    title: str
    meaning: str
    panel: Callable[[Subject], Panel | NoPanel]
    of_device: bool = False
    shared: tuple[str, ...] = ("y",)


class Chart(NamedTuple):
    """A chart as Vega-Lite: ``spec`` names ``datasets``, whose rows stand beside it, and has no theme.

    ``reasons`` say of which models there is no panel and why; without any panel ``spec`` is None.
    """

    name: str
    title: str
    meaning: str
    device: str | None
    spec: Mapping[str, Any] | None
    datasets: Mapping[str, tuple[Datum, ...]]
    description: str
    notes: tuple[str, ...]
    reasons: tuple[str, ...]


def key(place: int, layer: int) -> str:
    """The name of a layer on a page: the place of its model, and its own among the nodes."""
    return f"{place}:{layer}"


def title_line(text: str) -> str:
    """``text`` as a line of a title: cut to what could be seen of it, as a drawing measures all, and never a word that Vega trips over."""
    line = printable(text, _LINE)
    return f"{line} " if line in _OF_EVERY_OBJECT else line

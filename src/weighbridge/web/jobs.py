"""What is done in a process of its own (``work``): read what somebody uploaded, weigh it, and make the page.

Everything here is called by name with plain arguments, and what it needs is imported when it is called: the process that the server runs
in never needs most of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.extra import report_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weighbridge.comparing import Side
    from weighbridge.devices.device import Device
    from weighbridge.report import Report
    from weighbridge.report.around import Around
    from weighbridge.report.comparison import Comparison

__all__ = [
    "Compare",
    "Order",
    "Saved",
    "chart_library",
    "compared_json",
    "compared_page",
    "graph_json",
    "report_json",
    "report_page",
    "saved_json",
    "saved_page",
]

_A_PAGE = "a page with charts"
_NO_FILES = str(Path(__file__).parent / "templates")
"""A folder in which no file is called like a network."""


class Order(NamedTuple):
    """A network, and how it is to be weighed: ``source`` is the name of an upload in ``folder``, or of a textbook network where that is "".

    ``choices`` stand behind the colon of the source, ``sizes`` are what ``load`` takes, with ``inputs`` as on the command line, and
    ``options`` all else that ``weigh`` does.  ``on`` names devices of the catalogue; ``own`` are files of the user's own devices, each
    by its name.
    """

    source: str
    folder: str = ""
    choices: str = ""
    sizes: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    on: tuple[str, ...] = ()
    own: tuple[tuple[str, bytes], ...] = ()


class Saved(NamedTuple):
    """A saved report, and what it is called."""

    name: str
    content: bytes


class Compare(NamedTuple):
    """Several models, a name alone being that of a published row, and how those that are orders are to be weighed, all of them alike:
    the fields are those of an order.  ``fps`` is a rate as it was written, "" for none.
    """

    models: tuple[Order | Saved | str, ...]
    fps: str = ""
    sizes: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}
    on: tuple[str, ...] = ()
    own: tuple[tuple[str, bytes], ...] = ()


def report_json(order: Order) -> bytes:
    """The report as JSON."""
    return _weighed(order).to_json().encode()


def report_page(order: Order, around: Around) -> bytes:
    """The report as a page."""
    return _page(_weighed(order), around)


def saved_page(saved: Saved, around: Around) -> bytes:
    """A saved report as a page."""
    return _page(_read(saved), around)


def saved_json(saved: Saved) -> bytes:
    """A saved report as JSON, which it is once it has been read."""
    return _read(saved).to_json().encode()


def graph_json(order: Order) -> bytes:
    """The graph of a source, at the sizes that the options say."""
    from weighbridge.api import load
    from weighbridge.graph_json import graph_to_json

    with _at(order) as source:
        return graph_to_json(load(source, **_sizes(order, source))).encode()


def compared_json(asked: Compare) -> bytes:
    """Several models side by side, as JSON."""
    return _compared(asked).to_json().encode()


def compared_page(asked: Compare, around: Around) -> bytes:
    """Several models side by side, as a page."""
    with report_extra(_A_PAGE):
        from weighbridge.report.comparison_html import render
    return render(_compared(asked), around).encode()


def chart_library() -> bytes:
    """The script that draws charts, which takes seconds to make and holds up all else in the process that makes it."""
    from weighbridge.report.assets import library

    return library().encode()


def _page(report: Report, around: Around) -> bytes:
    with report_extra(_A_PAGE):
        from weighbridge.report.html_file import render
    from weighbridge.report.view import title

    return render({title(report): report}, around=around).encode()


def _weighed(order: Order) -> Report:
    report = _of(order, {"on": _devices(order), "patches": True, **order.options})
    if report.network.source:
        return report
    return replace(report, network=report.network._replace(source=_written(order)))


def _of(order: Order, options: Mapping[str, Any]) -> Report:
    from weighbridge.api import weigh

    with _at(order) as source:
        return weigh(source, **_sizes(order, source), **options)


@contextmanager
def _at(order: Order) -> Iterator[str]:
    """What ``weigh`` calls the source, in the folder of the upload: errors then say its name as a command line would.

    A textbook network is looked for where there is no file that could have its name.
    """
    with _in_folder(order.folder or _NO_FILES):
        yield _written(order)


def _written(order: Order) -> str:
    return f"{order.source}:{order.choices}" if order.choices else order.source


@contextmanager
def _in_folder(place: str) -> Iterator[None]:
    before = Path.cwd()
    try:
        os.chdir(place)
    except FileNotFoundError:  # another upload took its room
        raise BadSpec("this model is not here any more", where="model", hint="upload it again") from None
    try:
        yield
    finally:
        os.chdir(before)


def _sizes(order: Order, source: str) -> dict[str, Any]:
    from weighbridge.stated_inputs import inputs_for

    sizes = dict(order.sizes)
    return {**sizes, **inputs_for(source, sizes.pop("inputs", ()))}


def _devices(order: Order | Compare) -> tuple[str | Device, ...]:
    from weighbridge.devices.read import device_of

    return (*order.on, *(device_of(content, name) for name, content in order.own))


def _read(saved: Saved) -> Report:
    from weighbridge.report.json import from_bytes

    try:
        return from_bytes(saved.content)
    except BadSpec as error:
        raise error.at(saved.name) from None


def _compared(asked: Compare) -> Comparison:
    """What the command says of the same models in the folders where they lie."""
    from weighbridge.choices import fps_of
    from weighbridge.comparing import check_options, compared, options_of, sides_of, takes

    rate = fps_of(asked.fps) if asked.fps else None
    sizes = dict(asked.sizes)
    inputs = sizes.pop("inputs", ())
    with _in_folder(_NO_FILES), sides_of([_side(one) for one in asked.models]) as sides:
        weighing = options_of(sides, on=_devices(asked), **{"train": None, **asked.options})
        check_options(sides, rate, {**weighing, **sizes, "input": inputs})

        def weighed(side: Side) -> Report:
            order = next(one for one, other in zip(asked.models, sides, strict=True) if other is side)
            assert isinstance(order, Order), "all else is known"
            taken = {name: size for name, size in sizes.items() if takes(side, sides, name, size)}
            shapes = [one for one in inputs if takes(side, sides, "inputs", {} if "=" in one else one)]
            return _of(order._replace(sizes={**taken, "inputs": shapes}), weighing)

        return compared(sides, weighed, rate)


def _side(one: Order | Saved | str) -> Any:
    """A side as the command would have it, of a file with its whole path: what it is follows from what lies there."""
    from weighbridge.comparing import Side
    from weighbridge.published import SCHEME

    if isinstance(one, str):
        return f"{SCHEME}{one}"
    if isinstance(one, Saved):
        name = f"{one.name}.json"
        return Side(name, name, known=_read(one._replace(name=name)))
    written = _written(one)
    return Side(written, written, os.path.join(one.folder, written))  # noqa: PTH118 - choices are no part of a path

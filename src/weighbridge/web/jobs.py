"""What is done in a process of its own (``work``): read what somebody uploaded, weigh it, and make the page.

Everything here is called by name with plain arguments, and what it needs is imported when it is called: the process that the server runs
in never needs most of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
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


def compared_json(sides: Iterable[Order | Saved | str], fps: str) -> bytes:
    """Several models side by side, as JSON; a name alone is that of a published row."""
    return _compared(sides, fps).to_json().encode()


def compared_page(sides: Iterable[Order | Saved | str], fps: str, around: Around) -> bytes:
    """Several models side by side, as a page."""
    with report_extra(_A_PAGE):
        from weighbridge.report.comparison_html import render
    return render(_compared(sides, fps), around).encode()


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
    from weighbridge.api import weigh

    with _at(order) as source:
        report = weigh(source, on=_devices(order), **_sizes(order, source), **order.options)
    if report.network.source:
        return report
    return replace(report, network=report.network._replace(source=source))


@contextmanager
def _at(order: Order) -> Iterator[str]:
    """What ``weigh`` calls the source, in the folder of the upload: errors then say its name as a command line would.

    A textbook network is looked for where there is no file that could have its name.
    """
    place = order.folder or str(Path(__file__).parent / "templates")
    before = Path.cwd()
    try:
        os.chdir(place)
    except FileNotFoundError:  # another upload took its room
        raise BadSpec("this model is not here any more", where="model", hint="upload it again") from None
    try:
        yield f"{order.source}:{order.choices}" if order.choices else order.source
    finally:
        os.chdir(before)


def _sizes(order: Order, source: str) -> dict[str, Any]:
    from weighbridge.stated_inputs import inputs_for

    sizes = dict(order.sizes)
    return {**sizes, **inputs_for(source, sizes.pop("inputs", ()))}


def _devices(order: Order) -> tuple[str | Device, ...]:
    from weighbridge.devices.read import device_of

    return (*order.on, *(device_of(content, name) for name, content in order.own))


def _read(saved: Saved) -> Report:
    from weighbridge.report.json import from_bytes

    try:
        return from_bytes(saved.content)
    except BadSpec as error:
        raise error.at(saved.name) from None


def _compared(sides: Iterable[Order | Saved | str], fps: str) -> Comparison:
    from weighbridge.choices import fps_of
    from weighbridge.comparing import check_options, compared, sides_of

    rate = fps_of(fps) if fps else None
    with sides_of([_side(one) for one in sides]) as found:
        check_options(found, rate, {"on": ()})
        return compared(found, _never, rate)


def _never(side: Side) -> Report:
    raise AssertionError("every side is known")


def _side(one: Order | Saved | str) -> Side:
    from weighbridge.comparing import Side
    from weighbridge.published import find

    if isinstance(one, str):
        row = find(one)
        return Side("", row.name, known=row)
    if isinstance(one, Saved):
        return Side("", one.name, known=_read(one))
    report = _weighed(one)
    return Side("", report.network.source or report.network.name, known=report)

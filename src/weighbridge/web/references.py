"""What an address may name: networks, uploads, saved reports, published rows, devices, tables of energies; each looked up by its name.

Nothing that came from a browser reaches the core as a path: what has no name here is an error of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from typing import Final

from weighbridge.devices import catalogue
from weighbridge.devices.device import KINDS, Device
from weighbridge.errors import BadSpec, printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.published import SCHEME as PUBLISHED
from weighbridge.published import Conditions, Published, find
from weighbridge.published import names as published_names
from weighbridge.report.device_grid import KIND_TITLES
from weighbridge.sources import is_named_model
from weighbridge.textbook import names, specification
from weighbridge.web.jobs import Order, Saved
from weighbridge.web.shelf import Shelf

__all__ = [
    "OWN",
    "PUBLISHED",
    "REPORT",
    "UPLOAD",
    "Offered",
    "devices_named",
    "devices_offered",
    "energies_offered",
    "energy_named",
    "model_of",
    "models_offered",
    "order_of",
    "title_of",
]

UPLOAD: Final = "upload:"
REPORT: Final = "report:"
OWN: Final = "own:"
_ELSEWHERE: Final = re.compile(r"[/\\\0]")
_LONGEST: Final = 60
"""Characters of a name that is looked for among others."""


class Offered(NamedTuple):
    """A heading, and below it what can be chosen: what the address has, and what people read."""

    heading: str
    items: tuple[tuple[str, str], ...]


def model_of(reference: str, shelf: Shelf) -> Order | Saved | str:
    """What a model of an address is: ``NAME`` or ``NAME:choices`` of a textbook network and ``upload:ID`` are an ``Order``,
    ``report:NAME`` is a ``Saved``, ``published:NAME`` the name of the row.

    Raises ``BadSpec``, located at ``model``, for one that is not there.
    """
    if reference.startswith(REPORT):
        name = reference.removeprefix(REPORT)
        with _located("model"):
            return Saved(name, shelf.report(name))
    if reference.startswith(PUBLISHED):
        with _located("model"):
            return find(reference.removeprefix(PUBLISHED)).name
    return order_of(reference, shelf)


def order_of(reference: str, shelf: Shelf, choices: str = "") -> Order:
    """The network of ``NAME`` or ``upload:ID``, with ``choices`` or those that stand behind a colon, to be weighed as it is.

    Raises ``BadSpec``, located at ``model`` or ``choices``, for one that is not there and for choices that have a path in them.
    """
    scheme = UPLOAD if reference.startswith(UPLOAD) else ""
    name, colon, behind = reference.removeprefix(scheme).partition(":")
    chosen = choices or (behind if colon else "")
    if _ELSEWHERE.search(chosen):
        raise BadSpec("there is a slash in what is chosen", where="choices", hint="write NAME=VALUE,NAME=VALUE")
    if scheme:
        kept = shelf.model(name)
        return Order(kept.name, str(kept.folder), chosen)
    if not reference:
        raise BadSpec("there is no model", where="model", hint="upload a file, or choose a textbook network")
    if is_named_model(reference):
        what = "a model of a PyTorch library is built on the command line alone"
        raise BadSpec(what, where="model", hint=f"weighbridge weigh {printable(reference, 60)}")
    with _located("model"):
        specification(name)
    return Order(name, "", chosen)


def title_of(order: Order) -> str:
    """What people call the network: its title in the literature, or the name of the file."""
    return order.source if order.folder else _titles()[order.source]


def devices_named(on: Iterable[str], shelf: Shelf) -> tuple[tuple[str, ...], tuple[tuple[str, bytes], ...]]:
    """``Order.on`` and ``Order.own``: names of devices and groups (``mcu``) of the catalogue, and the files of the folder by name.

    Raises ``BadSpec``, located at ``on``, for the first that is not there.
    """
    listed: list[str] = []
    own: list[tuple[str, bytes]] = []
    for name in dict.fromkeys(on):
        with _located("on"):
            if name.startswith(OWN):
                own.append((f"{name.removeprefix(OWN)}.toml", shelf.device_file(name.removeprefix(OWN))))
            else:
                listed.append(_in_catalogue(name))
    return tuple(listed), tuple(own)


def energy_named(name: str) -> str:
    """The name of a table of energies that comes with the package.  Raises ``BadSpec``, located at ``energy``."""
    known = catalogue.energy_names()
    with _located("energy"):
        if catalogue.path_of(name) is None and catalogue.plain_name(name) in known:
            return name
        raise _unknown("table of energies", name, known, f"there is {', '.join(known)}")


def models_offered(shelf: Shelf, *, reports: bool = False, published: bool = False) -> tuple[Offered, ...]:
    """The models that can be chosen: uploads first, then textbook networks; with ``reports`` and ``published`` these too."""
    found = [
        Offered("Uploaded", tuple((f"{UPLOAD}{one.id}", one.name) for one in shelf.models())),
        Offered(
            "Saved reports", tuple((f"{REPORT}{one.name}", one.name) for one in shelf.reports()) if reports else ()
        ),
        Offered("Textbook networks", tuple(_titles().items())),
        Offered("Published networks", _published() if published else ()),
    ]
    return tuple(one for one in found if one.items)


def devices_offered(shelf: Shelf) -> tuple[Offered, ...]:
    """The devices that can be chosen: those of the folder, and those of the catalogue by kind."""
    own = Offered("Your own", tuple((f"{OWN}{one.name}", one.name) for one in shelf.devices()))
    return (*((own,) if own.items else ()), *_by_kind())


def energies_offered() -> tuple[tuple[str, str], ...]:
    """The tables of energies that can be chosen."""
    return tuple((name, catalogue.find_energy(name).title) for name in catalogue.energy_names())


def _in_catalogue(name: str) -> str:
    """The name.  Raises ``BadSpec`` for one that is no device and no group, and for whatever would be taken for the path of a file."""
    known = (*catalogue.names(), *KINDS)
    if catalogue.path_of(name) is None and catalogue.plain_name(name) in known:
        return name
    raise _unknown("device", name, known, "the page of devices lists all")


def _unknown(what: str, name: str, known: Iterable[str], advice: str) -> BadSpec:
    near = get_close_matches(catalogue.plain_name(name[:_LONGEST]), known, 1, 0.5)
    meant = f"did you mean {near[0]}? " if near else ""
    return BadSpec(f"there is no {what} {printable(name, _LONGEST)!r}", hint=f"{meant}{advice}")


@cache
def _titles() -> Mapping[str, str]:
    return {name: specification(name).header.title for name in names()}


@cache
def _published() -> tuple[tuple[str, str], ...]:
    return tuple((f"{PUBLISHED}{name}", _row_title(find(name))) for name in published_names())


def _row_title(row: Published) -> str:
    """The title of a row and what it was timed on, by which rows of one network differ."""
    timed = row.conditions or Conditions()
    batch = f"batch {timed.batch}" if timed.batch and timed.batch > 1 else ""
    return ", ".join(part for part in (row.title, timed.hardware, batch) if part)


@cache
def _by_kind() -> tuple[Offered, ...]:
    found: dict[str, list[Device]] = {kind: [] for kind in KINDS}
    for name in catalogue.names():
        device = catalogue.find(name)
        found[device.kind].append(device)
    return tuple(
        Offered(KIND_TITLES[kind], tuple((one.name, one.title) for one in devices)) for kind, devices in found.items()
    )


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Errors of what is done in this say which part of the address they are about."""
    try:
        yield
    except BadSpec as error:
        raise BadSpec(error.what, where=where, hint=error.hint, details=error.details) from None

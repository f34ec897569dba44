"""What the query of an address asks for: a network and how to weigh it, and what is wrong, each beside its field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import urlencode

from weighbridge.errors import BadSpec, WeighbridgeError, printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.stated_options import training_stated
from weighbridge.web.fields import FIELDS, SIZES, TRAINING, Field
from weighbridge.web.jobs import Order
from weighbridge.web.references import devices_named, order_of
from weighbridge.web.shelf import Shelf

__all__ = [
    "Asked",
    "Reading",
    "asked",
    "check_choices",
    "check_length",
    "field_of",
    "fields_asked_for",
    "one_error",
    "pairs_of",
    "said_beside",
]

_LONGEST: Final = 7_900
"""Bytes of a query: an address of more is not answered."""
_SINGLE: Final = ("model", "choices")
_NAMES: Final = (*_SINGLE, "on", *(one.name for one in FIELDS))
_OPTIONS: Final = {"dim": "dims", "input": "inputs"}
"""Fields by the name of the command's option where that is another one."""
_ASKED_FOR: Final = re.compile(r"--(?P<option>batch|sequence|dim|input) (?P<value>\S+)")


class Asked(NamedTuple):
    """``order`` is what is asked for as far as it holds, None without a network; ``faults`` are what does not, by field, "" for none;
    ``values`` all that was said, by field, whether it holds or not.
    """

    order: Order | None
    faults: Mapping[str, str]
    values: Mapping[str, tuple[str, ...]]

    @property
    def query(self) -> str:
        """The query of the address that says the same."""
        return urlencode([(name, value) for name in _NAMES for value in self.values.get(name, ())])

    def of(self, model: str) -> Asked:
        """The same of another model, whose reference this is."""
        values = {name: value for name, value in self.values.items() if name != "model"}
        return self._replace(values={"model": (model,), **values} if model else values)

    def one(self, name: str) -> str:
        """The first value of a field, "" where there is none."""
        return next(iter(self.values.get(name, ())), "")


def pairs_of(fields: Mapping[str, Iterable[str]]) -> tuple[tuple[str, str], ...]:
    """The fields of a form as a query has them."""
    return tuple((name, value) for name, values in fields.items() for value in values)


def asked(query: Iterable[tuple[str, str]], shelf: Shelf, upload: Order | None = None) -> Asked:
    """What is asked for; ``upload`` is a file that came with the query, whose network it is then."""
    found = Reading(query)
    values = found.values
    order = found.tried("model", lambda: _network(values, shelf, upload))
    on, own = found.tried("on", lambda: devices_named(values.get("on", ()), shelf)) or ((), ())
    options = found.options()
    sizes = {name: options.pop(name) for name in SIZES if name in options}
    training = {name: options.pop(name) for name in TRAINING if name in options}
    how = found.tried("train", lambda: training_stated(options.pop("train", None), training))
    if how:
        options["train"] = how
    if order is not None:
        order = order._replace(on=on, own=own, sizes=sizes, options=options)
        found.tried("choices", lambda: check_choices(order))
    return Asked(order, found.faults, values)


def field_of(error: WeighbridgeError) -> str:
    """The field that an error is about, "" where it is no single one."""
    name = error.where.removeprefix("--").replace("-", "_")
    name = _OPTIONS.get(name, name)
    return name if name in _NAMES else ""


def said_beside(error: WeighbridgeError) -> str:
    """What an error says where its field is in sight."""
    return str(type(error)(error.what, hint=error.hint, details=error.details))


def fields_asked_for(error: WeighbridgeError) -> Mapping[str, str]:
    """The fields that the hint of an error names as options of the command line, each with the value that it has there."""
    found: dict[str, str] = {}
    for option in _ASKED_FOR.finditer(error.hint):
        name = _OPTIONS.get(option["option"], option["option"])
        found.setdefault(name, option["value"])
    return found


def one_error(faults: Iterable[tuple[str, str]]) -> BadSpec:
    """The faults, each with what it is about or "", as one error for programs."""
    found = tuple(faults)
    if len(found) == 1:
        ((where, said),) = found
        return BadSpec(said, where=where)
    details = [f"{where}: {said}" if where else said for where, said in found]
    return BadSpec(f"there are {len(details)} faults", details=details)


def check_length(query: str) -> None:
    """Raises ``BadSpec`` for a query that stands in no address."""
    if len(query) > _LONGEST:
        raise BadSpec("all this is more than an address can say", hint="leave something out")


class Reading:
    """Reads a query: values by field, and the faults that are met.  ``single`` and ``several`` are names beside those of ``fields``."""

    def __init__(
        self,
        query: Iterable[tuple[str, str]],
        fields: Iterable[Field] = FIELDS,
        single: Iterable[str] = _SINGLE,
        several: Iterable[str] = ("on",),
    ) -> None:
        self.faults: dict[str, str] = {}
        by_name = self._fields = {field.name: field for field in fields}
        names = (*single, *several, *by_name)
        given: dict[str, list[str]] = {}
        for name, text in query:
            if name in names:
                given.setdefault(name, []).append(text)
            else:
                near = get_close_matches(name[:60], names, 1)
                meant = f"; did you mean {near[0]}?" if near else ""
                self.faults[""] = f"there is no field {printable(name, 60)!r}{meant}"
        singles = {name for name, field in by_name.items() if field.is_single} | set(single)
        self.values: dict[str, tuple[str, ...]] = {}
        for name, texts in given.items():
            field = by_name.get(name)
            said = tuple(dict.fromkeys(one.strip() for one in texts if one.strip()))
            values = said if field is None else field.values(said)
            if values:
                self.values[name] = values
            if name in singles and len(values) > 1:
                self.faults[name] = "is there twice"

    def options(self) -> dict[str, Any]:
        """What ``weigh`` takes, by field, of all that was said and holds."""
        options: dict[str, Any] = {}
        for name, field in self._fields.items():
            if name in self.values:
                value = self.tried(name, lambda field=field: field.read(self.values[field.name]))
                if value is not None:
                    options[name] = value
        return options

    def tried(self, name: str, read: Any) -> Any:
        """What ``read`` comes to; None, and the fault kept, where it is an error of ours or the field has one already."""
        if name in self.faults:
            return None
        try:
            return read()
        except BadSpec as error:
            where = field_of(error) or name
            self.faults.setdefault(where, said_beside(error))
            return None


def _network(values: Mapping[str, tuple[str, ...]], shelf: Shelf, upload: Order | None) -> Order:
    choices = next(iter(values.get("choices", ())), "")
    if upload is not None:
        return upload._replace(choices=choices)
    return order_of(next(iter(values.get("model", ())), ""), shelf, choices)


def check_choices(order: Order) -> None:
    """Raises ``BadSpec`` for parameters that a textbook network does not have; what those of an upload are only its file says."""
    from weighbridge.frontends.from_toml import parse_choices
    from weighbridge.frontends.toml_values import choose
    from weighbridge.textbook import specification

    if order.folder or not order.choices:
        return
    try:
        choose(specification(order.source).parameters, parse_choices(order.choices, ""), "")
    except BadSpec as error:
        raise BadSpec(error.what, hint=error.hint, details=error.details) from None

"""The report as JSON, and back: a saved report is the report.

The two directions are driven by the records' own fields, so a field added to a record is in the JSON at once.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import MISSING
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from weighbridge.errors import BadSpec
from weighbridge.report.json_text import parsed
from weighbridge.report.record import SCHEMA, Report
from weighbridge.written import shown

__all__ = ["from_bytes", "from_plain", "from_text", "layout", "plain", "record_of", "to_plain", "to_text"]

_ORDER = ("schema", "tool", "network", "facts", "memory", "nodes", "on", "notes")
"""Keys that every saved report has, in order; ``energy`` came later and may be missing."""
_AS_IT_IS = frozenset({int, str, bool, NoneType})
_MOST_BITS = 13_000
"""Of a whole number: some 3,900 digits, as Python writes no more than 4,300."""
_Record = TypeVar("_Record")
_NOT_FINITE = "a number that is not finite is null"


def to_plain(report: Report) -> dict[str, object]:
    """Dicts, lists, ints, finite floats, strings, booleans and None, under the names of the JSON contract."""
    lost: list[float] = []
    facts = plain(report.facts._replace(nodes=()), lost)
    del facts["nodes"], facts["notes"]
    memory = plain(report.memory, lost)
    del memory["notes"]
    whole = {
        "schema": report.schema,
        "tool": report.tool,
        "network": plain(report.network, lost),
        "facts": facts,
        "memory": memory,
        "nodes": plain(report.nodes, lost),
        "on": plain(report.on, lost),
        "energy": plain(report.energy, lost),
    }
    notes = [*report.facts.notes, *report.memory.notes, *report.notes]
    if lost and _NOT_FINITE not in notes:
        notes.append(_NOT_FINITE)
    return {**whole, "notes": notes}


def to_text(report: Report) -> str:
    """The JSON text: ASCII, an entry of a list of objects a line, ending in a newline."""
    return layout(to_plain(report))


def layout(data: object, opened: int = 2) -> str:
    """The JSON text of plain ``data``: ASCII, an entry of a list of objects a line, ending in a newline.

    Objects are ``opened`` that many levels deep, each key on a line of its own.
    """
    return f"{_layout(data, 0, opened)}\n"


def _layout(value: object, depth: int, opened: int) -> str:
    """Lists of objects have one entry a line; what is inside, or too deep, stays on its line."""
    inner = "\n" + " " * (depth + 1)
    outer = "\n" + " " * depth
    if isinstance(value, dict) and value and depth < opened:
        items = (f"{json.dumps(key)}: {_layout(item, depth + 1, opened)}" for key, item in value.items())
        return f"{{{inner}{f',{inner}'.join(items)}{outer}}}"
    if isinstance(value, list) and value and isinstance(value[0], (dict, str)):
        return f"[{inner}{f',{inner}'.join(map(_one_line, value))}{outer}]"
    return _one_line(value)


_one_line = json.JSONEncoder(allow_nan=False).encode


def plain(value: Any, lost: list[float]) -> Any:
    """``value`` as JSON has it; ``lost`` collects what is not finite.  Tuples come first: a report is full of them."""
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        if fields is None:
            return [item if type(item) in _AS_IT_IS else plain(item, lost) for item in value]
        made = dict(zip(fields, value, strict=True))
        for field, item in made.items():
            if type(item) not in _AS_IT_IS:
                made[field] = plain(item, lost)
        return made
    if value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        lost.append(value)
        return None
    return {str(key): plain(item, lost) for key, item in value.items()}


def from_text(text: str) -> Report:
    """Read what ``to_text`` wrote.  Raises ``BadSpec`` for text that is no JSON or no report."""
    try:
        data = parsed(text)
    except BadSpec as error:
        if error.where:
            raise
        hint = "give the text that to_json() returned, or that --json wrote; not the path of the file"
        raise BadSpec(error.what, hint=hint) from None
    return from_plain(data)


def from_bytes(content: bytes) -> Report:
    """Read what a file has that ``to_text`` was written to.  Raises ``BadSpec``, without ``where`` for what is no text or no JSON."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSpec(f"this is no saved report: it is no UTF-8 text from byte {error.start:,} on") from None
    return from_plain(parsed(text))


def from_plain(data: object) -> Report:
    """Read what ``to_plain`` made.  Keys that this version does not know are left out; raises ``BadSpec`` for the rest."""
    if not isinstance(data, Mapping) or "schema" not in data:
        raise BadSpec("this is no saved report: it has no schema", where="$")
    if data["schema"] != SCHEMA:
        hint = f"this version reads schema {SCHEMA}"
        raise BadSpec(f"the report has schema {shown(data['schema'])}", where="$.schema", hint=hint)
    missing = [key for key in _ORDER if key not in data]
    if missing:
        raise BadSpec(f"the saved report lacks {missing[0]!r}", where="$")
    moved = dict(data)
    for part, keys in (("facts", {"nodes": data["nodes"], "notes": []}), ("memory", {"notes": []})):
        if isinstance(data[part], Mapping):
            moved[part] = {**data[part], **keys}
    try:
        report = record_of(Report, moved, "saved report")
    except BadSpec as error:
        where = error.where
        if where.startswith("$.facts.nodes"):
            where = f"${where.removeprefix('$.facts')}"
        raise BadSpec(error.what, where=where, hint=error.hint) from None
    for path, entries in _by_node(report):
        if len(entries) != len(report.nodes):
            what = f"has {len(entries):,} entries for {len(report.nodes):,} nodes"
            raise BadSpec(what, where=f"${path}", hint="this is no saved report")
    return report


def record_of(kind: type[_Record], data: object, what: str) -> _Record:
    """The record that plain ``data`` is of, fields with a default being optional; a number counts or measures something, from 0 on.

    Raises ``BadSpec``, which says that it is no ``what``, with the ``$.path`` of what does not fit.
    """
    hint: Any = kind
    try:
        found: _Record = _reader(hint)(data)
    except _Misfit as misfit:
        raise BadSpec(misfit.what, where=f"${misfit.path}", hint=f"this is no {what}") from None
    return found


def _by_node(report: Report) -> Iterator[tuple[str, Sized]]:
    """Every list of a report that has an entry for each node, with its path."""
    yield from ((f".memory.profile.{policy}", profile) for policy, profile in report.memory.profile.items())
    yield from ((f".on[{place}].nodes", on.nodes) for place, on in enumerate(report.on) if on.nodes is not None)


_Reader = Callable[[Any], Any]


@cache
def _reader(hint: Any) -> _Reader:
    """A function that turns plain data into what the type ``hint`` says, or raises ``_Misfit``."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is tuple:
        return _items(_reader(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(_reader(arguments[1]))
    if hasattr(hint, "_fields") or hasattr(hint, "__dataclass_fields__"):
        return _record(hint)
    return _union((hint,))


class _Misfit(Exception):
    """A value that does not fit; the path to it grows on the way out, so that reading what fits costs nothing for it."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.path = ""

    def under(self, step: str) -> _Misfit:
        self.path = step + self.path
        return self


def _expected(what: str, value: object) -> _Misfit:
    found = _one_line(value) if value is None or isinstance(value, bool) else shown(value)
    return _Misfit(f"must be {what}, not {found}")


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", NoneType: "null"}


def _union(arguments: tuple[Any, ...]) -> _Reader:
    scalars = frozenset(argument for argument in arguments if argument in _WORDS)
    others = [_reader(argument) for argument in arguments if argument not in scalars]
    words = " or ".join(word for kind, word in _WORDS.items() if kind in scalars)

    def read(value: Any) -> Any:
        kind = type(value)
        if kind is float and kind in scalars:
            return _finite(value)
        if kind is int and (kind in scalars or float in scalars):
            return _amount(value) if kind in scalars else _finite(_amount(value))
        if kind in scalars:
            return value
        if others:
            return others[0](value)
        raise _expected(words, value)

    return read


def _amount(value: int) -> int:
    """``value``, which counts or measures something, as every number of a report does."""
    if value < 0:
        raise _expected("0 or more", value)
    if value.bit_length() > _MOST_BITS:
        raise _expected("a number of some 3,900 digits at most", value)
    return value


def _finite(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0 <= number < math.inf:
        raise _expected("a finite number from 0 on", value)
    return number


def _items(item: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise _expected("a list", value)
        found = []
        try:
            for element in value:
                found.append(item(element))
        except _Misfit as misfit:
            raise misfit.under(f"[{len(found)}]") from None
        return tuple(found)

    return read


def _mapping(item: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, (dict, Mapping)):
            raise _expected("an object", value)
        found = {}
        for key, element in value.items():
            try:
                found[str(key)] = item(element)
            except _Misfit as misfit:
                raise misfit.under(f".{key}") from None
        return found

    return read


def _record(record: Any) -> _Reader:
    from weighbridge import estimates

    # the module's own names before those of the estimates, which some records name without importing them
    hints = get_type_hints(record, localns={**vars(estimates), **vars(sys.modules[record.__module__])})
    readers = [(name, _reader(hints[name])) for name in _names(record)]
    optional = _added_later(record)

    def read(value: Any) -> Any:
        if not isinstance(value, (dict, Mapping)):
            raise _expected("an object", value)
        found = {}
        for name, reader in readers:
            if name not in value:
                if name in optional:
                    continue
                raise _Misfit(f"lacks {name!r}")
            try:
                found[name] = reader(value[name])
            except _Misfit as misfit:
                raise misfit.under(f".{name}") from None
        return record(**found)

    return read


def _names(record: Any) -> tuple[str, ...]:
    return getattr(record, "_fields", None) or tuple(record.__dataclass_fields__)


def _added_later(record: Any) -> frozenset[str]:
    """Fields with a default: a report that was saved before they existed is still a report."""
    if hasattr(record, "_field_defaults"):
        return frozenset(record._field_defaults)
    fields = record.__dataclass_fields__.values()
    return frozenset(field.name for field in fields if field.default is not MISSING)

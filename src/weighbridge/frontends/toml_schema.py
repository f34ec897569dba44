"""What may stand in a network file: its tables, read strictly, every fault with its ``$.path``.

Each table of the file is read by itself, so a fault in one does not hide those in another.  Without a library: whatever
names a textbook network waits for this module, and cattrs alone would take longer to import than all of it to run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sized
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, TypeVar

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple

from .toml_expression import Expression, Value, parse

__all__ = [
    "Block",
    "Computed",
    "Fault",
    "Header",
    "Input",
    "Layer",
    "Name",
    "Parameter",
    "Term",
    "listed",
    "refuse",
    "structure",
]

T = TypeVar("T")
Reader = Callable[[Any], Any]
Term = Value | Expression | tuple["Term", ...]
"""An argument of a layer: a value, what is to be computed, or a list of such."""

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_ENTRIES: Final = 256
_MOST_CHARACTERS: Final = 128
_SHOWN_FAULTS: Final = 100
_SHOWN_WORDS: Final = 24
_FIELDS: Final = {"from": "reads"}  # keys that cannot be the names of fields
_MEANT: Final = frozenset({"index", "in_channels", "true", "false", "and", "or", "not", "if", "else", "in", "is"})
"""Words that mean something in an expression, so nothing can be called by them."""


class Fault(NamedTuple):
    """One thing wrong with a file, and where in it."""

    path: str
    what: str


def refuse(faults: Iterable[Fault], where: str, what: str = "the network file") -> None:
    """Raise one ``BadSpec`` that lists all ``faults``, if there are any."""
    found = [f"{fault.path}: {fault.what}" for fault in faults]
    if found:
        count = "1 fault" if len(found) == 1 else f"{len(found)} faults"
        shown, hidden = found[:_SHOWN_FAULTS], len(found) - _SHOWN_FAULTS
        raise BadSpec(
            f"{what} has {count}", where=where, details=[*shown, f"and {hidden} more"] if hidden > 0 else shown
        )


class Name(NamedTuple):
    """The name of a layer: pieces of text, and expressions where the file has braces."""

    text: str
    pieces: tuple[str | Expression, ...]


class Computed(NamedTuple):
    """A value that follows from parameters."""

    value: Term


class Parameter(NamedTuple):
    """A number, truth or word that whoever loads the network may choose."""

    default: Value
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[str, ...] = ()
    description: str = ""


class Input(NamedTuple):
    """A tensor that the network is given."""

    name: str
    shape: tuple[Term, ...]
    dtype: str = "float32"


class Layer(NamedTuple):
    """One line of a network: an operator or a block, what it reads, how often it stands there.

    ``arguments`` are whatever else its table holds: of its operator or block.
    """

    name: Name
    op: str = ""
    block: str = ""
    reads: tuple[str, ...] = ()
    repeat: Term | None = None
    when: Term = True
    weights: Mapping[str, Term] = _NONE
    arguments: Mapping[str, Term] = _NONE


class Block(NamedTuple):
    """Layers that stand in a network more than once, with parameters of their own."""

    layers: tuple[Any, ...]
    parameters: tuple[str, ...] = ()
    defaults: Mapping[str, Term] = _NONE
    inputs: tuple[str, ...] = ("input",)
    let: Mapping[str, Term] = _NONE


class Header(NamedTuple):
    """The whole file; its longer tables are still as they were read."""

    name: str
    source: str
    inputs: tuple[Any, ...]
    layers: tuple[Any, ...]
    title: str = ""
    description: str = ""
    parameters: Mapping[str, Any] = _NONE
    let: Mapping[str, Any] = _NONE
    outputs: tuple[str, ...] = ()
    blocks: Mapping[str, Any] = _NONE


class _Faults(ValueError):
    """What is wrong inside a list or table: pairs of a path below it and a description."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        super().__init__(faults)
        self.faults = faults


def structure(value: object, of: type[T], path: str, faults: list[Fault]) -> T | None:
    """``value`` as an ``of``; None where it has faults, which are added to ``faults`` with their paths below ``path``."""
    try:
        return of(**_fields(of, value))
    except _Faults as error:
        faults.extend(Fault(path + below, what) for below, what in error.faults)
    except ValueError as error:
        faults.append(Fault(path, str(error)))
    return None


def listed(words: Iterable[str]) -> str:
    """Words as a person lists them, the first of very many; "none" where there are none."""
    found = list(words)
    more = [f"{len(found) - _SHOWN_WORDS} more"] if len(found) > _SHOWN_WORDS else []
    return ", ".join([*found[:_SHOWN_WORDS], *more]) or "none"


def _fields(of: Any, value: Any) -> dict[str, Any]:
    """The fields of an ``of`` from a table: unknown keys and missing ones are faults, nothing is coerced."""
    readers, table = _READERS[of], _as_table(of, value)
    faults = [
        (f".{key}", f"there is no such key; the keys here are {listed(readers)}") for key in table if key not in readers
    ]
    needed = [key for key in readers if _FIELDS.get(key, key) not in of._field_defaults and key not in table]
    faults += [(f".{key}", "is missing") for key in needed]
    read: dict[str, Any] = {}
    for key, reader in readers.items():
        if key in table:
            _keep(read, key, reader, table[key], faults)
    if faults:
        raise _Faults(faults)
    return {_FIELDS.get(key, key): found for key, found in read.items()}


def _as_table(of: type, value: Any) -> dict[str, Any]:
    if of is Computed:
        return {"value": value}
    if of is Parameter and not isinstance(value, dict):
        return {"default": value}  # ``batch = 1`` says the same as ``batch = { default = 1 }``
    if not isinstance(value, dict):
        raise ValueError(f"must be a table, not {_shown(value)}")
    if of is Layer:
        own = {key: item for key, item in value.items() if key in _READERS[Layer] and key != "arguments"}
        return {**own, "arguments": {key: item for key, item in value.items() if key not in own}}
    return value


def _keep(into: dict[Any, Any], key: Any, reader: Reader, value: Any, faults: list[tuple[str, str]]) -> None:
    """Read one entry of a list or table, or add what is wrong with it to ``faults``."""
    step = f"[{key}]" if isinstance(key, int) else "" if key in ("arguments", "value") else f".{key}"
    try:
        into[key] = reader(value)
    except _Faults as error:
        faults.extend((step + below, what) for below, what in error.faults)
    except ValueError as error:
        faults.append((step, str(error)))


def _all(entries: Iterable[tuple[Any, Any]], reader: Reader) -> dict[Any, Any]:
    read: dict[Any, Any] = {}
    faults: list[tuple[str, str]] = []
    for key, value in entries:
        _keep(read, key, reader, value, faults)
    if faults:
        raise _Faults(faults)
    return read


def _shown(value: object) -> str:
    kinds = ((dict, "a table"), (list, "a list"), (bool, str(value).lower()))
    return next((text for kind, text in kinds if isinstance(value, kind)), repr(value))


def _as_read(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text, not {_shown(value)}")
    return value


def _word(value: Any) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise ValueError(f"must be letters, digits and underscores, not {_shown(value)}")
    if value in _MEANT:
        raise ValueError(f"{value!r} has a meaning of its own; choose another name")
    return value


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"must be a number, not {_shown(value)}")
    return value


def _value(value: Any) -> Value:
    return value if isinstance(value, bool | str) else _number(value)


def _dtype(value: Any) -> str:
    if not isinstance(value, str) or value not in DTYPES:
        raise ValueError(f"must be an element type such as float32 or int64, not {_shown(value)}")
    return value


def _term(value: Any) -> Term:
    if isinstance(value, list):
        return _each(_term)(value)
    if isinstance(value, str):
        return parse(value)
    return value if isinstance(value, bool) else _number(value)


def _layer_name(value: Any) -> Name:
    text = _short(value)
    if not _NAME.fullmatch(_BRACES.sub("0", text)):
        raise ValueError(
            f"must be letters, digits and underscores, with dots between and expressions in braces, not {value!r}"
        )
    parts = _BRACES.split(text)
    return Name(text, tuple(parse(part) if index % 2 else part for index, part in enumerate(parts)))


def _short(value: Any) -> str:
    text = _text(value)
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"must have at most {_MOST_CHARACTERS} characters, not {len(text)}")
    return text


def _references(value: Any) -> tuple[str, ...]:
    return (_short(value),) if isinstance(value, str) else _each(_short)(value)


def _each(reader: Reader) -> Callable[[Any], tuple[Any, ...]]:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(f"must be a list, not {_shown(value)}")
        _few(value)
        return tuple(_all(enumerate(value), reader).values())

    return read


def _few(value: Sized) -> None:
    if len(value) > _MOST_ENTRIES:
        raise ValueError(f"must have at most {_MOST_ENTRIES} entries, not {len(value)}")


def _some(value: Any) -> tuple[Any, ...]:
    if not value or not isinstance(value, list):
        raise ValueError(f"must be a list of at least one table, not {_shown(value)}")
    return tuple(value)


def _table_of(reader: Reader) -> Reader:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"must be a table, not {_shown(value)}")
        return _all(value.items(), reader)

    return read


def _named(reader: Reader) -> Reader:
    """A table whose keys are names that expressions can use."""

    def read(value: Any) -> dict[str, Any]:
        found: dict[str, Any] = _table_of(reader)(value)
        _few(found)
        _all(((key, key) for key in found), _word)
        return found

    return read


_READERS: Final[Mapping[type, Mapping[str, Reader]]] = {
    Computed: {"value": _term},
    Parameter: {
        "default": _value,
        "minimum": _number,
        "maximum": _number,
        "choices": _each(_text),
        "description": _text,
    },
    Input: {"name": _word, "shape": _each(_term), "dtype": _dtype},
    Layer: {
        "name": _layer_name,
        "op": _text,
        "block": _text,
        "from": _references,
        "repeat": _term,
        "when": _term,
        "weights": _table_of(_term),
        "arguments": _table_of(_term),
    },
    Block: {
        "layers": _some,
        "parameters": _each(_word),
        "defaults": _named(_term),
        "inputs": _each(_word),
        "let": _named(_term),
    },
    Header: {
        **dict.fromkeys(("name", "source", "title", "description"), _text),
        **dict.fromkeys(("inputs", "layers"), _some),
        **dict.fromkeys(("parameters", "let", "blocks"), _named(_as_read)),
        "outputs": _each(_text),
    },
}
"""The keys of each kind of table, and how their values are read."""

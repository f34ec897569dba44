"""What may stand in a network file: its tables, structured strictly, every fault with its ``$.path``.

Each table of the file is structured by itself, so a fault in one does not hide those in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from math import isfinite
from typing import Any, Final, NamedTuple, TypeVar

import cattrs
from cattrs.gen import make_dict_structure_fn, override

from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec

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
Hook = Callable[[Any, Any], Any]
Term = Value | Expression | tuple["Term", ...]
"""An argument of a layer: a value, what is to be computed, or a list of such."""

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_KEY: Final = re.compile(r"\['([^']*)'\]")
_MEANT: Final = frozenset({"index", "in_channels", "true", "false", "and", "or", "not", "if", "else", "in", "is"})
"""Words that mean something in an expression, so nothing can be called by them."""


class Fault(NamedTuple):
    """One thing wrong with a file, and where in it."""

    path: str
    what: str


def refuse(faults: Iterable[Fault], where: str, what: str = "the network file") -> None:
    """Raise one ``BadSpec`` that lists all ``faults``, if there are any."""
    found = [f"{path}: {what}" for path, what in faults]
    if found:
        count = "1 fault" if len(found) == 1 else f"{len(found)} faults"
        raise BadSpec(f"{what} has {count}", where=where, details=found)


class Name(NamedTuple):
    """The name of a layer: pieces of text, and expressions where the file has braces."""

    text: str
    pieces: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number, truth or word that whoever loads the network may choose."""

    default: Value
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[str, ...] = ()
    description: str = ""


class Computed(NamedTuple):
    """A value that follows from parameters."""

    term: Term


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor that the network is given."""

    name: str
    shape: tuple[Term, ...]
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Layer:
    """One line of a network: an operator or a block, what it reads, how often it stands there."""

    name: Name
    op: str = ""
    block: str = ""
    reads: tuple[str, ...] = ()
    repeat: Term | None = None
    when: Term = True
    weights: Mapping[str, Term] = field(default_factory=dict)
    arguments: Mapping[str, Term] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """Layers that stand in a network more than once, with parameters of their own."""

    layers: tuple[Any, ...]
    parameters: tuple[str, ...] = ()
    defaults: Mapping[str, Term] = field(default_factory=dict)
    inputs: tuple[str, ...] = ("input",)
    let: Mapping[str, Term] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Header:
    """The whole file; its longer tables are still as they were read."""

    name: str
    source: str
    inputs: tuple[Any, ...]
    layers: tuple[Any, ...]
    title: str = ""
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    let: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    blocks: Mapping[str, Any] = field(default_factory=dict)


def structure(value: object, of: type[T], path: str, faults: list[Fault]) -> T | None:
    """``value`` as an ``of``; None where it has faults, which are added to ``faults`` with their paths below ``path``."""
    try:
        return _converter().structure(value, of)
    except cattrs.BaseValidationError as error:
        for line in cattrs.transform_error(error, path, format_exception=_explained):
            what, _, where = line.rpartition(" @ ")
            faults.append(Fault(_KEY.sub(r".\1", where).replace(".reads", ".from").replace(".arguments", ""), what))
    except ValueError as error:
        faults.append(Fault(path, str(error)))
    return None


def listed(words: Iterable[str]) -> str:
    """Words as a person lists them; "none" where there are none."""
    return ", ".join(words) or "none"


def _explained(error: BaseException, _: object) -> str:
    if isinstance(error, KeyError):
        return "is missing"
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = listed(field.name for field in fields(error.cl))
        return f"has no key {listed(map(repr, sorted(error.extra_fields)))}; the keys here are {known}"
    return str(error)


@cache
def _converter() -> cattrs.Converter:
    """Strict: unknown keys are faults and nothing is coerced."""
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    words, terms, tables = _each(_word), _table_of(_term, named=True), _table_of(_as_read, named=True)
    _register(
        converter, Parameter, default=_value, minimum=_number, maximum=_number, choices=_each(_text), description=_text
    )
    _register(converter, Input, name=_word, shape=_each(_term), dtype=_dtype)
    _register(converter, Layer, name=_layer_name, op=_text, block=_text, reads=_references, repeat=_term, when=_term)
    _register(converter, Block, layers=_some, parameters=words, defaults=terms, inputs=words, let=terms)
    hooks = {"inputs": _some, "layers": _some, "parameters": tables, "let": tables, "blocks": tables}
    texts = dict.fromkeys(("name", "source", "title", "description"), _text)
    _register(converter, Header, **hooks, **texts, outputs=_each(_text))
    converter.register_structure_hook(Computed, lambda value, kind: Computed(_term(value, kind)))
    converter.register_structure_hook(Parameter, _short_parameter(converter.get_structure_hook(Parameter)))
    converter.register_structure_hook(Layer, _layer_of(converter.get_structure_hook(Layer)))
    return converter


def _register(converter: cattrs.Converter, of: type, **hooks: Hook) -> None:
    names = {"reads": "from"}
    overrides = {name: override(struct_hook=hook, rename=names.get(name)) for name, hook in hooks.items()}
    if of is Layer:
        overrides |= {name: override(struct_hook=_table_of(_term)) for name in ("weights", "arguments")}
    structured: Hook = make_dict_structure_fn(of, converter, **overrides)  # type: ignore[arg-type]

    def read(value: Any, kind: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"must be a table, not {_shown(value)}")
        return structured(value, kind)

    converter.register_structure_hook(of, read)


def _short_parameter(structured: Hook) -> Hook:
    """``batch = 1`` says the same as ``batch = { default = 1 }``."""
    return lambda value, kind: structured(value if isinstance(value, dict) else {"default": value}, kind)


def _layer_of(structured: Hook) -> Hook:
    """Whatever a layer's table holds beside its own keys are arguments of its operator or block."""
    own = {"name", "op", "block", "from", "repeat", "when", "weights"}

    def read(value: Any, kind: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"must be a table, not {_shown(value)}")
        kept = {key: value[key] for key in value if key in own}
        return structured({**kept, "arguments": {key: value[key] for key in value if key not in own}}, kind)

    return read


def _shown(value: object) -> str:
    kinds = ((dict, "a table"), (list, "a list"), (bool, str(value).lower()))
    return next((text for kind, text in kinds if isinstance(value, kind)), repr(value))


def _as_read(value: Any, _: Any) -> Any:
    return value


def _text(value: Any, _: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text, not {_shown(value)}")
    return value


def _word(value: Any, _: Any) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise ValueError(f"must be letters, digits and underscores, not {_shown(value)}")
    if value in _MEANT:
        raise ValueError(f"{value!r} has a meaning of its own; choose another name")
    return value


def _number(value: Any, _: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"must be a number, not {_shown(value)}")
    return value


def _value(value: Any, kind: Any) -> Value:
    return value if isinstance(value, bool | str) else _number(value, kind)


def _dtype(value: Any, _: Any) -> str:
    if not isinstance(value, str) or value not in DTYPES:
        raise ValueError(f"must be an element type such as float32 or int64, not {_shown(value)}")
    return value


def _term(value: Any, kind: Any) -> Term:
    if isinstance(value, list):
        return tuple(_all(enumerate(value), _term, kind).values())
    return parse(value) if isinstance(value, str) else _number_or_truth(value)


def _number_or_truth(value: Any) -> Value:
    return value if isinstance(value, bool) else _number(value, None)


def _layer_name(value: Any, kind: Any) -> Name:
    text = _text(value, kind)
    if not _NAME.fullmatch(_BRACES.sub("0", text)):
        raise ValueError(
            f"must be letters, digits and underscores, with dots between and expressions in braces, not {value!r}"
        )
    parts = _BRACES.split(text)
    return Name(text, tuple(parse(part) if index % 2 else part for index, part in enumerate(parts)))


def _references(value: Any, kind: Any) -> tuple[str, ...]:
    return (_text(value, kind),) if isinstance(value, str) else _each(_text)(value, kind)


def _each(item: Hook) -> Hook:
    def read(value: Any, kind: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(f"must be a list, not {_shown(value)}")
        return tuple(_all(enumerate(value), item, kind).values())

    return read


def _some(value: Any, kind: Any) -> tuple[Any, ...]:
    if not value or not isinstance(value, list):
        raise ValueError(f"must be a list of at least one table, not {_shown(value)}")
    return tuple(value)


def _table_of(item: Hook, *, named: bool = False) -> Hook:
    """A table whose values are items; ``named`` where its keys are names that expressions can use."""

    def read(value: Any, kind: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"must be a table, not {_shown(value)}")
        if named:
            _all(((key, key) for key in value), _word, kind)
        return _all(value.items(), item, kind)

    return read


def _all(entries: Iterable[tuple[Any, Any]], item: Hook, kind: Any) -> dict[Any, Any]:
    """Every entry through the hook ``item``; the faults of all are raised together, each with its key."""
    read: dict[Any, Any] = {}
    errors: list[Exception] = []
    for key, value in entries:
        try:
            read[key] = item(value, kind)
        except (ValueError, cattrs.BaseValidationError) as error:
            error.add_note(cattrs.IterableValidationNote("", key, kind))
            errors.append(error)
    if errors:
        raise cattrs.IterableValidationError("", errors, dict)
    return read

"""Reads single values of a device file: each rule takes a value as TOML has it, and raises ``ValueError`` for one that is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import cattrs

__all__ = [
    "MOST_ENTRIES",
    "Hook",
    "amount",
    "count",
    "flag",
    "list_of",
    "name",
    "one_of",
    "picojoules",
    "shown",
    "tables",
    "text",
    "whole_number",
]

Hook = Callable[[object, object], object]

MOST_ENTRIES = 64
_LARGEST_FIGURE = 10**24
_LARGEST_COUNT = 1_000_000
_SMALLEST_ENERGY_PJ = 1e-9
_SMALLEST_AMOUNT = 1e-9
_MOST_CHARACTERS = 2000
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def text(value: object, _: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text, not {shown(value)}")
    if len(value) > _MOST_CHARACTERS or not value.isprintable():
        raise ValueError(f"must be one line of at most {_MOST_CHARACTERS} printable characters, not {shown(value)}")
    return value


def name(value: object, _: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"must be lower-case letters, digits, hyphens and dots, not {shown(value)}")
    return value


def flag(value: object, _: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {shown(value)}")
    return value


def _above_zero(value: object, _: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"must be a number, not {shown(value)}")
    if not 0 < value <= _LARGEST_FIGURE:
        raise ValueError(f"must be above 0 and at most 1e24, not {shown(value)}")
    return value


def whole_number(value: object, of: object) -> int:
    number = _above_zero(value, of)
    if number != int(number):
        raise ValueError(f"must be a whole number, not {shown(value)}")
    return int(number)


def count(value: object, of: object) -> int:
    number = whole_number(value, of)
    if number > _LARGEST_COUNT:
        raise ValueError(f"must be at most {_LARGEST_COUNT:,}, not {shown(value)}")
    return number


def picojoules(value: object, of: object) -> float:
    number = _above_zero(value, of)
    if number < _SMALLEST_ENERGY_PJ:
        raise ValueError(f"must be at least {_SMALLEST_ENERGY_PJ} pJ, not {shown(value)}")
    return number


def amount(value: object, of: object) -> int | float:
    number = _above_zero(value, of)
    if number < _SMALLEST_AMOUNT:
        raise ValueError(f"must be at least {_SMALLEST_AMOUNT}, not {shown(value)}")
    return number


def one_of(words: Sequence[str]) -> Callable[[object, object], str]:
    def read(value: object, _: object) -> str:
        if value not in words:
            raise ValueError(f"must be one of {', '.join(words)}, not {shown(value)}")
        return str(value)

    return read


def list_of(item: Callable[[object, object], str], example: str) -> Callable[[object, object], tuple[str, ...]]:
    def read(value: object, of: object) -> tuple[str, ...]:
        found, faults = [], []
        for place, element in enumerate(_list(value, f"a list such as {example}")):
            try:
                found.append(item(element, of))
            except ValueError as fault:
                fault.add_note(cattrs.IterableValidationNote("", place, str))
                faults.append(fault)
        if faults:
            raise cattrs.IterableValidationError("", faults, tuple)
        return tuple(found)

    return read


def _list(value: object, expected: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"must be {expected}, not {shown(value)}")
    if len(value) > MOST_ENTRIES:
        raise ValueError(f"must have at most {MOST_ENTRIES} entries, not {len(value)}")
    return value


def shown(value: object) -> str:
    kinds = ((dict, "a table"), (list, "a list"), (bool, str(value).lower()))
    return next((text for kind, text in kinds if isinstance(value, kind)), f"{value!r:.100}")


def tables(structure: Hook, header: str) -> Hook:
    def read(value: object, of: object) -> object:
        return structure(_list(value, f"a list of tables, {header}"), of)

    return read

"""Damage to saved reports: of their bytes, and of the values that the JSON holds.  The same seed does the same damage."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

from mutations import damage_bytes

__all__ = ["damage_report"]

_WHOLE = (0, 1, 2, 7, 4096, 2**31, 2**53, 2**53 + 1, 2**63, 2**64, 2**70, 10**30, 10**100, 10**309, 10**400, 10**3800)
_FLOATS = (0.0, 1e-320, 1e-30, 0.5, 1.0, 1e30, 1e300, 1e308)
_TEXTS = (
    *(
        "",
        "x",
        "fits",
        "does not fit",
        "unknown",
        "live",
        "compute",
        "memory",
        "float32",
        "\x00\u202e\x1b[31m",
        "\ud800",
    ),
    *(
        "</script><script>alert(1)</script>",
        "'\"&<>",
        "=1+1",
        "a\nb",
        "é" * 10_000,
        "[0]",
        "__proto__",
        "datum.x",
        "a.b[c]",
    ),
)
_ALIKE: dict[type, tuple[Any, ...]] = {
    bool: (True, False),
    int: (*_WHOLE, None),
    float: (*_FLOATS, *_WHOLE, None),
    str: (*_TEXTS, None),
    type(None): (*_WHOLE, *_TEXTS, *_FLOATS, [], {}),
}
"""What a report may have in the place of a value, as far as its type goes."""
_VALUES: tuple[Any, ...] = (
    *(*_WHOLE, *_FLOATS, *_TEXTS, None, True, False, -1, -1.5, 1.5, 10**4200, -(10**400)),
    *(float("nan"), float("inf"), float("-inf")),
    *([], [1], [None], [[]], {}, {"a": 1}, {"": None}),
)
_Parent = dict[str, Any] | list[Any]


@lru_cache(maxsize=64)
def _loaded(content: bytes) -> Any:
    return json.loads(content)


def damage_report(content: bytes, files: Sequence[bytes], random: Random) -> bytes:
    """A report with a few values changed, taken out, doubled or put in the place of others; or with its bytes damaged."""
    if random.random() < 0.05:
        return random.choice((damage_bytes, _double))(content, files, random)
    data = copy.deepcopy(_loaded(content))
    for _ in range(random.choice((1, 1, 1, 1, 2, 3, 8))):
        parent, key = _place(data, random)
        if parent is not None:
            random.choice(_WAYS)(parent, key, _loaded(random.choice(files)), random)
    return json.dumps(data).encode()


def _double(content: bytes, files: Sequence[bytes], random: Random) -> bytes:
    """A key of an object twice."""
    keys = list(re.finditer(rb'"\w+": ', content))
    found = random.choice(keys)
    return (
        content[: found.start()] + found[0] + random.choice((b"1", b"null", b"{}")) + b", " + content[found.start() :]
    )


def _place(data: Any, random: Random) -> tuple[_Parent | None, Any]:
    """A list or an object inside ``data`` and one of its keys.

    What stands at the top is seldom it, and a value that is all of its own seldom what a whole list or object is.
    """
    parent, key, value = None, None, data
    while isinstance(value, (dict, list)) and value:
        parent, key = value, random.choice([*value] if isinstance(value, dict) else range(len(value)))
        value = parent[key]
        if random.random() < (0.03 if parent is data else 0.15):
            break
        if parent is data and not isinstance(value, (dict, list)) and random.random() < 0.9:
            parent, key, value = None, None, data
    return parent, key


def _set(parent: Any, key: Any, other: Any, random: Random) -> None:
    parent[key] = random.choice(_VALUES)


def _bend(parent: Any, key: Any, other: Any, random: Random) -> None:
    """A value that may stand there, or for a list or an object one of another length."""
    alike = _ALIKE.get(type(parent[key]))
    if alike is None:
        _lengthen(parent, key, other, random)
    else:
        parent[key] = random.choice(alike)


def _scale(parent: Any, key: Any, other: Any, random: Random) -> None:
    """A number that is near the one that was there, or far from it, is a better lie than any other value."""
    value = parent[key]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        parent[key] = value * random.choice((0, 1, 2, 10, 1000, 10**12, 10**40)) + random.choice((0, 0, 1))
    else:
        _bend(parent, key, other, random)


def _remove(parent: Any, key: Any, other: Any, random: Random) -> None:
    del parent[key]


def _column(parent: Any, key: Any, other: Any, random: Random) -> None:
    """One value in the place of all of one name in a list of objects: a column of nothing, or of one number."""
    rows = parent[key] if isinstance(parent[key], list) else parent if isinstance(parent, list) else []
    objects = [row for row in rows if isinstance(row, dict) and row]
    if not objects:
        _bend(parent, key, other, random)
        return
    name = random.choice(sorted(objects[0]))
    value = random.choice(_ALIKE.get(type(objects[0][name]), _VALUES))
    for row in objects:
        row[name] = value


def _swap(parent: Any, key: Any, other: Any, random: Random) -> None:
    """What another report, or another place of one, has."""
    elsewhere, place = _place(other, random)
    if elsewhere is not None:
        parent[key] = copy.deepcopy(elsewhere[place])


def _lengthen(parent: Any, key: Any, other: Any, random: Random) -> None:
    """A list becomes longer, shorter or empty; an object gets another key or loses one."""
    value = parent[key]
    if isinstance(value, list):
        parent[key] = random.choice((value[:-1], [], value * 2, value[:1] * 50, [*value, *value[:1]], value[::-1]))
    elif isinstance(value, dict):
        like = next(iter(value.values()), 1)
        value[random.choice(("x", "", "live", "__proto__", "\u202e"))] = copy.deepcopy(like)
        if random.random() < 0.3:
            del value[random.choice([*value])]
    else:
        _set(parent, key, other, random)


_WAYS: tuple[Callable[[Any, Any, Any, Random], None], ...] = (
    *(_bend, _bend, _bend, _bend, _scale, _scale, _scale, _column, _column, _column, _lengthen),
    *(_set, _remove, _swap),
)

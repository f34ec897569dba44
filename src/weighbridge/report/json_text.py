"""JSON text as plain data, more strictly than Python's own reader takes it, and with the path of what is no JSON in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from weighbridge.errors import BadSpec

__all__ = ["parsed"]

_MOST_DIGITS: Final = 4300
"""Of a whole number: Python reads no more, as the time grows with their square."""
_WORDS: Final = ("true", "false", "null", "NaN", "-Infinity")
_ENDS_OF_NUMBERS: Final = (".", "e", "e-", "e+")


class _NoJson(Exception):
    """Text that cannot be read up to its end, and why."""


class _Fault:
    """Stands in the data where the text has what is no JSON."""

    def __init__(self, what: str) -> None:
        self.what = what


def parsed(text: str | bytes, what: str = "saved report") -> object:
    """The value of ``text``: dicts, lists, strings, ints, finite floats unless they overflow, booleans, None.

    No NaN, no infinity and no key twice in an object: which of the two values is meant, other tools decide otherwise.
    Raises ``BadSpec``, which says that ``text`` is no ``what``, with the ``$.path`` of the fault where the text can be read up to its end.
    """
    faults: list[_Fault] = []

    def refused(what: str) -> _Fault:
        faults.append(_Fault(what))
        return faults[-1]

    def of_pairs(pairs: list[tuple[str, object]]) -> object:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        return refused(f"has the key {twice!r} twice")

    def of_digits(digits: str) -> object:
        return int(digits) if len(digits) <= _MOST_DIGITS else refused(f"is a number of {len(digits):,} digits")

    hooks: dict[str, Any] = {
        "parse_constant": lambda name: refused(f"{name} is no JSON number"),
        "object_pairs_hook": of_pairs,
    }
    try:
        data = _read(text, hooks, of_digits)
    except _NoJson as error:
        raise BadSpec(f"this is no {what}: {error}") from None
    if faults:
        path, fault = _first(data)
        raise BadSpec(fault.what, where=path, hint=f"this is no {what}")
    return data


def _read(text: str | bytes, hooks: dict[str, Any], of_digits: Callable[[str], object]) -> object:
    try:
        try:
            return json.loads(text, **hooks)
        except json.JSONDecodeError:
            raise
        except ValueError:
            # There are too many digits somewhere.  A hook for each number takes time, so that only a second try has it.
            return json.loads(text, parse_int=of_digits, **hooks)
    except json.JSONDecodeError as error:
        raise _NoJson(_explained(error)) from None
    except RecursionError:
        raise _NoJson("it is nested too deep") from None
    except (TypeError, ValueError) as error:
        raise _NoJson(str(error)) from None


def _explained(error: json.JSONDecodeError) -> str:
    text = error.doc.rstrip()
    if not text:
        return "it is empty"
    if _breaks_off(error, text[error.pos :]):
        line = text.count("\n") + 1
        return f"it breaks off in line {line:,}, before the JSON is complete"
    return f"no JSON in line {error.lineno:,}, column {error.colno:,}: {error.msg}"


def _breaks_off(error: json.JSONDecodeError, rest: str) -> bool:
    """Whether the text ends in the middle; ``rest`` is what stands from the error on."""
    if not rest or error.msg.startswith("Unterminated string"):
        return True
    if error.msg == "Expecting value":
        return any(word.startswith(rest) for word in _WORDS)
    if error.msg.endswith("delimiter"):
        return rest.lower() in _ENDS_OF_NUMBERS
    return "uXXXX" in error.msg and len(rest) <= len("uXXXX")


def _first(data: Any) -> tuple[str, _Fault]:
    """The first fault in ``data``, in which there is one, and its path."""
    waiting: list[tuple[str, Any]] = [("$", data)]
    while True:
        path, value = waiting.pop()
        if isinstance(value, _Fault):
            return path, value
        if isinstance(value, dict):
            waiting += reversed([(f"{path}.{key}", inner) for key, inner in value.items()])
        elif isinstance(value, list):
            waiting += reversed([(f"{path}[{place}]", inner) for place, inner in enumerate(value)])

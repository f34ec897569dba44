"""JSON of a file that may be damaged or hostile: every step into it is checked, and errors say where they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from weighbridge.errors import BadModel

__all__ = ["Place", "parsed"]

_DAMAGED: Final = "the file is damaged: export it again"


class Place:
    """A value and where it stands (``$.graph_module.graph.nodes[3]``)."""

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: object, parent: Place | None = None, key: str | int = "$") -> None:
        self.value = value
        self._parent = parent
        self._key = key

    @property
    def where(self) -> str:
        """The path from the root of the file."""
        if self._parent is None:
            return str(self._key)
        key = f"[{self._key}]" if isinstance(self._key, int) else f".{self._key}"
        return f"{self._parent.where}{key}"

    def fault(self, what: str, hint: str = "") -> BadModel:
        """An error that stands here."""
        return BadModel(what, where=self.where, hint=hint or _DAMAGED)

    def _expected(self, kind: str) -> BadModel:
        return self.fault(f"there should be {kind}, not {_shown(self.value)}")

    def __getitem__(self, key: str) -> Place:
        """A member.  Raises ``BadModel`` where it is missing."""
        found = self.get(key)
        if found is None:
            raise self.fault(f"there is no {key!r}")
        return found

    def get(self, key: str) -> Place | None:
        """A member; None where it is missing or null."""
        members = self.members()
        value = members.get(key)
        return None if value is None else Place(value, self, key)

    def members(self) -> dict[str, object]:
        """All members of an object."""
        if not isinstance(self.value, dict):
            raise self._expected("an object")
        return self.value

    def places(self) -> Iterator[tuple[str, Place]]:
        """The members of an object with their names."""
        for key, value in self.members().items():
            yield key, Place(value, self, key)

    def items(self) -> Iterator[Place]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self._expected("a list")
        for index, value in enumerate(self.value):
            yield Place(value, self, index)

    def union(self) -> tuple[str, Place]:
        """The one member of an object that stands for one of several kinds."""
        members = self.members()
        if len(members) != 1:
            raise self._expected("an object with one member")
        ((kind, value),) = members.items()
        return kind, Place(value, self, kind)

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self._expected("text")
        return self.value

    def integer(self) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self._expected("a whole number")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self._expected("true or false")
        return self.value

    def number(self) -> int | float:
        """A number; PyTorch writes those that JSON has not as text."""
        if isinstance(self.value, str) and self.value in ("Infinity", "-Infinity", "NaN"):
            return float(self.value)
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self._expected("a number")
        return self.value


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return json.dumps(value)[:60]


def parsed(data: bytes, where: str) -> Place:
    """JSON text.  Raises ``BadModel`` for what is none, or is nested deeper than Python's own parser goes."""
    try:
        return Place(json.loads(data))
    except RecursionError:
        hint = "the file is damaged or made to harm: get it again from its author"
        raise BadModel("the JSON is nested too deeply", where=where, hint=hint) from None
    except ValueError as error:  # also bad UTF-8, and numbers of too many digits
        raise BadModel(f"this is no JSON ({error})", where=where, hint=_DAMAGED) from None

"""The named tuples of the package are those of ``typing`` in everything but what it costs to define them."""

from __future__ import annotations

import pickle
import typing
from pathlib import Path

from weighbridge.named_tuple import NamedTuple

SOURCES = Path(__file__).resolve().parents[2] / "src" / "weighbridge"


class Theirs(typing.NamedTuple):
    """A pair."""

    first: int
    second: str | None = None

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"

    @classmethod
    def of(cls, first: int) -> Theirs:
        return cls(first)


class Ours(NamedTuple):
    """A pair."""

    first: int
    second: str | None = None

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"

    @classmethod
    def of(cls, first: int) -> Ours:
        return cls(first)


def test_a_named_tuple_is_what_typing_makes() -> None:
    ours, theirs = Ours.of(1), Theirs.of(1)
    assert ours == theirs == (1, None)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert ours.both == theirs.both == "1None"
    assert ours._replace(second="x") == theirs._replace(second="x")
    assert (Ours._fields, Ours._field_defaults, Ours.__doc__) == (
        Theirs._fields,
        Theirs._field_defaults,
        Theirs.__doc__,
    )
    assert (Ours.__module__, Ours.__bases__) == (Theirs.__module__, Theirs.__bases__)
    assert (Ours.__name__, Ours.__qualname__) == ("Ours", "Ours")
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert pickle.loads(pickle.dumps(ours)) == ours
    assert type(pickle.loads(pickle.dumps(ours))) is Ours


def test_no_module_takes_the_dear_one() -> None:
    taken = [path.name for path in SOURCES.rglob("*.py") if "NamedTuple" in imports(path.read_text(encoding="utf-8"))]
    assert taken == ["named_tuple.py"]


def imports(text: str) -> str:
    return "".join(line for line in text.splitlines() if "from typing import" in line)

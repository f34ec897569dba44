"""Networks as others published and timed them, with their conditions and sources: to compare with, never counted by us."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.published.record import Conditions, Published

__all__ = ["SCHEME", "Conditions", "Published", "find", "names"]

SCHEME: Final = "published:"
"""Stands before the name of a row where a source of any kind may stand."""
_ROWS: Final = Path(__file__).parent / "rows"


def names() -> tuple[str, ...]:
    """The names of the rows, in alphabetical order."""
    return tuple(sorted(_rows()))


def find(name: str) -> Published:
    """The row of this name.

    Capital letters, spaces and hyphens do not matter.  Raises ``BadSpec`` for an unknown name, with the nearest one.
    """
    rows = _rows()
    plain = name.strip().lower().replace(" ", "_").replace("-", "_")
    if plain in rows:
        return rows[plain]
    from difflib import get_close_matches

    near = get_close_matches(plain, rows, 1, 0.5)
    meant = f"did you mean {SCHEME}{near[0]}? " if near else ""
    raise BadSpec(f"there is no published network {name!r}", hint=f"{meant}there are {', '.join(names())}")


@cache
def _rows() -> Mapping[str, Published]:
    from weighbridge.published.read import read_published

    return {row.name: row for path in sorted(_ROWS.glob("*.toml")) for row in read_published(path)}

"""The first stage of a network row by row, for people: what it takes, and how many rows of each map are there at once."""

from __future__ import annotations

from typing import Final

from weighbridge.errors import printable
from weighbridge.patches.streamed import Ring, Streamed
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.units import exact, significant

__all__ = ["by_rows", "rings"]

_LONG_NAME: Final = 200
_ROWS: Final = 30


def by_rows(found: Streamed, before: int, after: int) -> str:
    """What the stage row by row makes of the peak ``before``."""
    stage = "layer" if len(found.nodes) == 1 else f"{exact(len(found.nodes))} layers"
    if after < before:
        outcome = f"peak {exact(after)} B in place of {exact(before)} B, {significant(before / after)} times less"
    else:
        outcome = f"peak {exact(after)} B, not less than the {exact(before)} B in one piece"
    where = f"the first {stage}, up to {printable(found.last, _LONG_NAME)}, with {_held(found.rings)}"
    return f"row by row: {outcome}, and no MAC done twice: {where}"


def _held(rings: tuple[Ring, ...]) -> str:
    """How many rows are there at once of the maps between."""
    rows = sorted(one.rows for one in rings)
    if not rows:
        return "no map between"
    several = "1 row" if rows[-1] == 1 else f"{exact(rows[-1])} rows"
    some = several if rows[0] == rows[-1] else f"{exact(rows[0])} to {exact(rows[-1])} rows"
    return f"rings of {some}"


def rings(found: Streamed, policy: str, *, all_rows: bool = False) -> Grid:
    """How many rows of each map are there at once."""
    shown = found.rings if all_rows else found.rings[:_ROWS]
    columns = ("map", "rows at once", "of", "bytes")
    more = len(found.rings) - len(shown)
    parts = {
        "in all rings": found.ring_bytes,
        "for the result of the stage": found.buffer_bytes,
        "for the input where it is held": found.input_bytes,
        f"for what runs behind the stage, by the policy {policy}": found.rest_bytes[policy],
    }
    return Grid(
        "row by row: the rows of each map that are still to be read",
        tuple(Column(name, is_number=place > 0) for place, name in enumerate(columns)),
        tuple(
            GridRow((printable(one.name, _LONG_NAME), exact(one.rows), exact(one.all_rows), _size(one.bytes)))
            for one in shown
        ),
        (
            ", ".join(f"{_size(size)} B {what}" for what, size in parts.items()),
            *((f"{exact(more)} more; --all shows them",) if more > 0 else ()),
        ),
    )


def _size(size: int | None) -> str:
    return "?" if size is None else exact(size)

"""Options of StableHLO's operators: rows of numbers, which a file may leave out."""

from __future__ import annotations

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import Foreign
from weighbridge.graph import Shape

__all__ = ["axes", "numbers"]


def numbers(call: Foreign, name: str, default: Shape | None = None, count: int | None = None) -> Shape:
    """The numbers of an option; ``default`` where the file has none.  Raises ``GraphError`` unless there are ``count``."""
    found = call.get(name)
    given = (found,) if isinstance(found, int) else tuple(found or ())
    if not given and default is not None:
        given = default
    if count is not None and len(given) != count:
        raise GraphError(f"{name} has {len(given)} numbers, not {count}", where=call.name)
    return given


def axes(call: Foreign, name: str, rank: int, count: int | None = None) -> Shape:
    """The numbers of an option that are different axes of ``rank`` dimensions.  Raises ``GraphError`` for others."""
    found = numbers(call, name, (), count)
    if len(set(found)) != len(found) or any(not 0 <= axis < rank for axis in found):
        raise GraphError(f"{name} {found} are no axes of {rank} dimensions", where=call.name)
    return found

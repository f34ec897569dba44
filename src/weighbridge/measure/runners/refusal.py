"""What is said of a model that a runtime refuses, or would refuse, in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from weighbridge.errors import MeasureError, printable, said_by

__all__ = ["fixed", "refusal"]

_NO_MEMORY: Final = re.compile(
    r"bad[ _]alloc|out of memory|out_of_memory|can't allocate memory|failed to allocate|not enough memory|cannot allocate memory",
    re.IGNORECASE,
)
_LONGEST: Final = 300


def refusal(runtime: str, error: BaseException, source: str) -> MeasureError:
    """The reason of ``runtime``: that there is no memory for it, where it says so, else its own words."""
    said = " ".join(said_by(error).split())
    if isinstance(error, MemoryError) or _NO_MEMORY.search(said):
        what = f"there is not enough memory for it in {runtime}"
        return MeasureError(
            f"{what}: {printable(said, _LONGEST)}" if said else what, where=source, hint="try a smaller batch"
        )
    return MeasureError(f"{runtime} refuses it: {printable(said or type(error).__name__, _LONGEST)}", where=source)


def fixed(name: str, own: Sequence[int | None], shape: Sequence[int], source: str) -> MeasureError:
    """An input whose sizes the file fixes, but those that are None, of which others were asked for: no runtime has to say so."""
    has, asked_for = ("x".join("?" if size is None else str(size) for size in sizes) for sizes in (own, shape))
    what = f"its input {name} is fixed at {has}, and {asked_for} was asked for"
    return MeasureError(what, where=source, hint="leave the batch and the shapes as they are in the file")

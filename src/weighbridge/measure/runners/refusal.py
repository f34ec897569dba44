"""What is said of a model that a runtime refuses, in one line."""

from __future__ import annotations

import re
from typing import Final

from weighbridge.errors import MeasureError, printable, said_by

__all__ = ["refusal"]

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

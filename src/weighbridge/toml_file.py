"""TOML files by their path, and everything that is wrong with one at once: what all readers of such files have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import BadSpec
from weighbridge.handwritten import MAX_FILE_BYTES, parse_toml

__all__ = ["fault_lines", "faulty", "read_toml"]

_SHOWN_FAULTS: Final = 100


def read_toml(path: Path, what: str, hint: str) -> Mapping[str, Any]:
    """The tables of the file at ``path``, which should be a ``what`` ("device file").

    Raises ``BadSpec``, with ``hint`` where the file cannot be read: not there, no regular file, no text, no TOML, larger than 1 MiB.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # opening a pipe would wait for its writer
            raise BadSpec(f"the {what} is no regular file", where=str(path), hint=hint)
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or error
        raise BadSpec(f"the {what} cannot be read: {reason}", where=str(path), hint=hint) from None
    return parse_toml(content, str(path), f"a {what}")


def fault_lines(error: BaseException, told: Callable[[BaseException], str], root: str = "$") -> list[str]:
    """A line for each fault that cattrs found in detailed validation: its path below ``root``, and what ``told`` makes of it."""
    import cattrs

    lines = []
    for line in cattrs.transform_error(error, path=root, format_exception=lambda fault, _: told(fault)):
        what, _, path = line.rpartition(" @ ")
        lines.append(f"{path}: {what}")
    return lines


def faulty(faults: Sequence[str], where: str, what: str) -> BadSpec:
    """The error for a file at ``where`` with these faults: a line that sums up, and a line for each of the first 100."""
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    hidden = len(faults) - _SHOWN_FAULTS
    shown = [*faults[:_SHOWN_FAULTS], f"and {hidden} more"] if hidden > 0 else faults
    return BadSpec(f"the {what} has {count}", where=where, details=shown)

"""Saved reports as a command line names them: files, or ``-`` for the standard input."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from weighbridge.cli.targets import Input
from weighbridge.errors import BadSpec, WeighbridgeError, printable
from weighbridge.report import Report
from weighbridge.report.json import from_bytes
from weighbridge.report.record import told_apart
from weighbridge.report.view import title

__all__ = ["HOW_TO_SAVE", "STDIN", "check_saved", "read_saved", "saved_inputs"]

STDIN: Final = "-"
_MOST_BYTES: Final = 1 << 28
"""Of a saved report, some hundred times what the largest networks make: a device that never ends is no report."""
_TITLE: Final = 70
HOW_TO_SAVE: Final = "give what `weighbridge weigh SOURCE --json FILE` wrote"
_SAVED: Final = (
    ("measurements", "measurement", "measure it again with `-o page.html`; in Python Measured.from_json reads it"),
    (
        "bandwidths",
        "calibration",
        "`weighbridge calibrate --from RECORDS -o page.html` makes its page from what was recorded",
    ),
    (
        "errors",
        "validation",
        "`weighbridge validate RECORDS --on DEVICE -o page.html` makes its page from what was recorded",
    ),
)
"""What other commands save: a key that it alone has of these, the first that fits, what it is, and what shows it."""
_WEIGHED: Final = ("onnx", "tflite", "pt2", "toml")
"""Formats of networks, by the names that ``sniff`` has for them."""


def saved_inputs(places: Sequence[str]) -> Iterator[Input]:
    """The files of ``places``.  Raises ``BadSpec`` where the standard input would be read twice."""
    if places.count(STDIN) > 1:
        raise BadSpec("the standard input is one report", where=STDIN, hint="name a file for each of the others")
    for place in places:
        yield Input(Path("/dev/stdin" if place == STDIN else place), "the saved report")


def read_saved(places: Sequence[str]) -> Mapping[str, Report]:
    """The reports saved at ``places`` by their titles, each with its file's name behind it where several are alike.

    Raises ``BadSpec`` with the file, the ``$.path`` in it, and what is wrong.
    """
    reports = [_read(place) for place in places]
    titles = [title(report) for report in reports]
    if len(titles) > 1:
        # A chart has no room for a long one, and must not make two of them the same.
        titles = [printable(one, _TITLE) for one in titles]
        count = Counter(titles)
        named = zip(titles, places, strict=True)
        titles = [one if count[one] == 1 else printable(f"{one} ({Path(place).name})", _TITLE) for one, place in named]
    return dict(zip(told_apart(titles), reports, strict=True))


def check_saved(places: Sequence[str], reports: Mapping[str, Report], check: Callable[[Report], None]) -> None:
    """Call ``check`` on each of ``reports``; what it raises gets the file in front."""
    for place, report in zip(places, reports.values(), strict=True):
        try:
            check(report)
        except WeighbridgeError as error:
            raise error.at(_named(place)) from None


def _named(place: str) -> str:
    return "the standard input" if place == STDIN else place


def _read(place: str) -> Report:
    content = b""
    try:
        content = _content(place)
        return from_bytes(content)
    except WeighbridgeError as error:
        other = _of_another_command(content, place) if error.where == "$" else None
        other = other or (None if error.where else _of_another_kind(place))
        where = ": ".join(filter(None, (_named(place), error.where)))
        raise other or BadSpec(error.what, where=where, hint=error.hint or HOW_TO_SAVE) from None


def _content(place: str) -> bytes:
    """The bytes; errors have no place yet.  A pipe is as good as a file."""
    try:
        if place == STDIN:
            if sys.stdin is None:
                raise BadSpec("the standard input is closed")
            content = _bounded(sys.stdin.buffer)
        else:
            with Path(place).open("rb") as file:
                content = _bounded(file)
    except FileNotFoundError:
        raise _not_there(place) from None
    except IsADirectoryError:
        raise BadSpec("this is a folder", hint="name the saved report in it") from None
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        reason = error.strerror if isinstance(error, OSError) else None
        raise BadSpec(
            f"the file cannot be read ({reason or error})", hint="check the path and its permissions"
        ) from None
    return content


def _bounded(stream: IO[bytes]) -> bytes:
    content = bytearray()
    while chunk := stream.read(1 << 20):
        content += chunk
        if len(content) > _MOST_BYTES:
            raise BadSpec(f"this is no saved report: it is larger than {_MOST_BYTES:,} B")
    return bytes(content)


def _not_there(place: str) -> BadSpec:
    """The error for a file that is not there, which may be the name of a network that has not been weighed."""
    from weighbridge.sources import is_named_model, no_such_file
    from weighbridge.textbook import names

    if place.partition(":")[0] in names() or is_named_model(place):
        return BadSpec("this is a network, not a saved report", hint=_weigh_first(place))
    found = no_such_file(place)
    return BadSpec(found.what, hint=found.hint)


def _of_another_command(content: bytes, place: str) -> BadSpec | None:
    """The error for what ``measure``, ``calibrate`` or ``validate`` saved; None for all else.  It is JSON, as it was read."""
    found = json.loads(content.decode("utf-8-sig"))
    keys = found.keys() if isinstance(found, dict) else ()
    for key, kind, hint in _SAVED:
        if key in keys and "schema" in keys:
            return BadSpec(f"this is a saved {kind}, not a saved report", where=_named(place), hint=hint)
    return None


def _of_another_kind(place: str) -> BadSpec | None:
    """The error for a model or another file that is known by its content; None for what may be a damaged report."""
    path = Path(place)
    if place == STDIN or not _has_content(path):
        return None
    from weighbridge.frontends.sniff import FORMATS, identify

    try:
        found = identify(path)
    except WeighbridgeError as error:
        return BadSpec(error.what, where=place, hint=error.hint)
    if path.suffix == ".py":
        return BadSpec("this is a Python file, not a saved report", where=place, hint=_weigh_first(f"{place}:NAME"))
    if found in ("json", "text", "unknown"):
        return None
    hint = _weigh_first(place) if found in _WEIGHED else HOW_TO_SAVE
    return BadSpec(f"this is {FORMATS[found]}, not a saved report", where=place, hint=hint)


def _has_content(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except (OSError, ValueError):
        return False


def _weigh_first(source: str) -> str:
    return f"weigh it first: weighbridge weigh {source} --json FILE"

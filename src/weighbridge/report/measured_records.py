"""Records of measurements: a line each in a file that only grows, or a file each in a folder; what is there is never written over.

A record is whole on the disk before the next measurement begins, so that an end half-way loses nothing that was recorded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from weighbridge.errors import BadSpec, WeighbridgeError, printable
from weighbridge.measure.record import Measurement
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.measured_json import from_line, to_line

__all__ = ["Fault", "Recorded", "append", "check_place", "read"]

SUFFIX: Final = ".jsonl"
_NAME_ONE: Final = f"name a file that ends in {SUFFIX}, or a folder, which ends in /"
_LONGEST: Final = 64_000_000
"""Bytes of a record: some 200 times what ten thousand samples take."""
_MOST: Final = 1_000
"""Files of one name and time; so many digits stand in the name that they sort as they were made."""


class Fault(NamedTuple):
    """A record that is not read: where it stands, and why."""

    where: str
    what: str


class Recorded(NamedTuple):
    """The measurements of a place in the order of their time, and what there is no measurement."""

    measurements: tuple[Measurement, ...]
    faults: tuple[Fault, ...]


def check_place(place: str | os.PathLike[str]) -> None:
    """Raises ``BadSpec`` for a place that no record can go to, before anything is measured."""
    path = Path(place)
    if not os.fspath(place):
        raise BadSpec("records have no place", where="record", hint=_NAME_ONE)
    try:
        path.resolve()  # a name that no file can have
        if _is_folder(place):
            if not path.exists() and not path.parent.is_dir():
                raise BadSpec(f"there is no folder {str(path.parent)!r}", where=str(place), hint="make it first")
            _check_folder(path if path.exists() else path.parent, place)
            return
        if path.suffix != SUFFIX:
            raise BadSpec("records go to a file of their own", where=str(place), hint=_NAME_ONE)
        if not path.parent.is_dir():
            raise BadSpec(f"there is no folder {str(path.parent)!r}", where=str(place), hint="make it first")
        if not path.exists():
            _check_folder(path.parent, place)
        elif not os.access(path, os.W_OK):
            raise BadSpec("this file cannot be written to", where=str(place), hint="name another one")
        if path.is_file() and _is_of_others(path):
            raise BadSpec("this file has other lines than measurements", where=str(place), hint="name another one")
    except (OSError, ValueError) as error:
        raise BadSpec(f"cannot be written: {error}", where=str(place), hint="name another place") from None


def _check_folder(folder: Path, place: str | os.PathLike[str]) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadSpec(f"the folder {str(folder)!r} cannot be written to", where=str(place), hint="name another one")


def append(place: str | os.PathLike[str], measurements: Sequence[Measurement]) -> None:
    """Add ``measurements`` to the file or the folder at ``place``, and come back when they are on the disk.

    Raises ``BadSpec`` where that cannot be.
    """
    check_place(place)
    try:
        for one in measurements:
            content = f"{to_line(one)}\n".encode("ascii")
            if _is_folder(place):
                _add_file(Path(place), one, content)
            else:
                _add_line(Path(place), content)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise BadSpec(what, where=str(error.filename or place), hint="name another place") from None


def read(place: str | os.PathLike[str]) -> Recorded:
    """Everything that is recorded at ``place``.  Raises ``BadSpec`` where there is nothing to be read."""
    path = Path(place)
    try:
        if path.is_dir():
            files = sorted(one for one in path.iterdir() if one.suffix == ".json")
            found = [part for one in files for part in _records(one, one.name)]
        elif path.exists():
            found = list(_records(path, ""))
        else:
            raise BadSpec(
                "there is no such file or folder", where=str(place), hint="`weighbridge measure --record` makes it"
            )
    except (OSError, ValueError) as error:
        raise BadSpec(f"cannot be read: {error}", where=str(place), hint="check the path") from None
    measurements = [one for one in found if isinstance(one, Measurement)]
    return Recorded(
        tuple(sorted(measurements, key=lambda one: one.taken_at)), tuple(one for one in found if isinstance(one, Fault))
    )


def _is_of_others(path: Path) -> bool:
    """Whether the first line is whole and no record."""
    with path.open("rb") as file:
        line = file.readline(_LONGEST)
    return line.endswith(b"\n") and bool(line.strip()) and b'"samples_s"' not in line


def _is_folder(place: str | os.PathLike[str]) -> bool:
    return os.fspath(place).endswith(("/", os.sep)) or Path(place).is_dir()


def _add_line(path: Path, content: bytes) -> None:
    """Behind what is there; a last line that broke off is ended first, so that it spoils no other."""
    is_new = not path.exists()
    with path.open("ab+", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                content = b"\n" + content
        _written(file, content)
    if is_new:
        _keep_name(path.parent)


def _add_file(folder: Path, one: Measurement, content: bytes) -> None:
    """Under another name until it is whole."""
    folder.mkdir(exist_ok=True)
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{Path(one.name).name[:60]}-{one.taken_at}").lstrip(".")
    begun = folder / f".{stem}.{os.getpid()}"
    try:
        with begun.open("wb", buffering=0) as file:
            _written(file, content)
        for number in range(_MOST):
            with suppress(FileExistsError):
                os.link(begun, folder / f"{stem}-{number:03}.json")
                break
        else:
            raise BadSpec(f"there are {_MOST:,} records of that name and time", where=str(folder))
    finally:
        begun.unlink(missing_ok=True)
    _keep_name(folder)


def _written(file: IO[bytes], content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]
    os.fsync(file.fileno())


def _keep_name(folder: Path) -> None:
    """That of a new file, too, is on the disk then; not every system can be asked for that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _records(path: Path, name: str) -> Iterator[Measurement | Fault]:
    """Of a file line by line; what is damaged is told, and the rest read all the same."""
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file), 1):
            where = f"{printable(name, 80)} line {number:,}".strip()
            if not line.strip():
                continue
            if len(line) > _LONGEST:
                yield Fault(where, "it is too long for a measurement")
                continue
            try:
                yield from_line(line)
            except WeighbridgeError as error:
                place = f"{error.where} " if error.where not in ("", "$") else ""
                yield Fault(where, f"{place}{error.what}")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines of which no more is kept than a record may have and a byte."""
    while line := file.readline(_LONGEST + 1):
        yield line
        while len(line) > _LONGEST and not line.endswith(b"\n"):
            line = file.readline(_LONGEST + 1)
            if not line:
                return

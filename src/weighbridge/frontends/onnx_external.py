"""Which files an ONNX model keeps its weights in, asked without parsing it."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

__all__ = ["data_files", "names_as_data"]

_LOCATION: Final = b"\x0a\x08location\x12"
"""How an entry of ``external_data`` begins: the key, and the tag of the value (StringStringEntryProto in onnx.proto)."""

_LONGEST_NAME: Final = 4096
_MOST_NAMES: Final = 100_000
"""No model has its weights in so many files; one that was made to say so would take all memory."""
_LONGEST_LENGTH: Final = 3
"""Bytes that such a length takes."""


def names_as_data(model: Path, file: Path) -> bool:
    """Whether the file at ``model`` names ``file``, which lies in its folder or below, as one that holds its weights."""
    folder, target = model.parent.resolve(), file.resolve()
    if not model.is_file() or not model.stat().st_size or not target.is_relative_to(folder):
        return False
    name = target.relative_to(folder).as_posix()
    with model.open("rb") as content, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(data.find(_entry(location)) >= 0 for location in (name, f"./{name}"))


def data_files(model: Path) -> tuple[str, ...]:
    """The names, relative to its folder, of the files that the file at ``model`` may keep weights in; none that lead out of the folder.

    What is no ONNX model has none, but for bytes that look so by chance.
    """
    if not model.stat().st_size:
        return ()
    with model.open("rb") as content, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
        names = dict.fromkeys(islice(_values(data), _MOST_NAMES))
    return tuple(
        name for name in names if "\0" not in name and not {"", "..", "."} & set(name.removeprefix("./").split("/"))
    )


def _values(data: mmap.mmap) -> Iterator[str]:
    """The values of all entries with this key."""
    place = data.find(_LOCATION)
    while place >= 0:
        start = place + len(_LOCATION)
        length = shift = 0
        for byte in data[start : start + _LONGEST_LENGTH]:
            length |= (byte & 127) << shift
            shift += 7
            start += 1
            if byte < 128:
                break
        if length <= _LONGEST_NAME:
            yield data[start : start + length].decode(errors="surrogateescape")
        place = data.find(_LOCATION, place + 1)


def _entry(location: str) -> bytes:
    """The bytes of an entry with this value: its length in groups of 7 bits, the lowest first, and the value itself."""
    value = location.encode(errors="surrogateescape")
    size, length = len(value), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return _LOCATION + length + bytes([size]) + value

"""Which files an ONNX model keeps its weights in, asked without parsing it."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Final

__all__ = ["names_as_data"]

_LOCATION: Final = b"\x0a\x08location\x12"
"""How an entry of ``external_data`` begins: the key, and the tag of the value (StringStringEntryProto in onnx.proto)."""


def names_as_data(model: Path, file: Path) -> bool:
    """Whether the file at ``model`` names ``file``, which lies in its folder or below, as one that holds its weights."""
    folder, target = model.parent.resolve(), file.resolve()
    if not model.is_file() or not model.stat().st_size or not target.is_relative_to(folder):
        return False
    name = target.relative_to(folder).as_posix()
    with model.open("rb") as content, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(data.find(_entry(location)) >= 0 for location in (name, f"./{name}"))


def _entry(location: str) -> bytes:
    """The bytes of an entry with this value: its length in groups of 7 bits, the lowest first, and the value itself."""
    value = location.encode(errors="surrogateescape")
    size, length = len(value), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return _LOCATION + length + bytes([size]) + value

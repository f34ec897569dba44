"""Reads the options of custom operators: a FlexBuffer whose root is a map of numbers (google/flatbuffers, flexbuffers.h)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from weighbridge.errors import BadModel

__all__ = ["read_map"]

_INT, _UINT, _FLOAT, _MAP, _BOOL = 1, 2, 3, 9, 26
_INDIRECT: Final = {6: _INT, 7: _UINT, 8: _FLOAT}
_CODES: Final = {
    _INT: {1: "b", 2: "h", 4: "i", 8: "q"},
    _UINT: {1: "B", 2: "H", 4: "I", 8: "Q"},
    _BOOL: {1: "B", 2: "H", 4: "I", 8: "Q"},
    _FLOAT: {2: "e", 4: "f", 8: "d"},
}
_MOST_ENTRIES: Final = 10_000


def read_map(data: memoryview | bytes) -> Mapping[str, int | float | bool]:
    """The numbers of the map that ``data`` holds, by key, in their order in it; other values are left out.

    Raises ``BadModel`` where something lies outside of ``data``.
    """
    try:
        return _read(memoryview(data))
    except (IndexError, KeyError, ValueError, struct.error):
        raise BadModel(
            "the options of a custom operator are damaged", hint="download or convert the file again"
        ) from None


def _read(data: memoryview) -> Mapping[str, int | float | bool]:
    root_width, packed = data[-1], data[-2]
    if packed >> 2 != _MAP:
        return {}
    width = 1 << (packed & 3)
    start = _target(data, len(data) - 2 - root_width, root_width)
    size = _number(data, start - width, width, _UINT)
    if size > _MOST_ENTRIES:
        raise ValueError(size)
    keys = _target(data, start - 3 * width, width)
    keys_width = _number(data, start - 2 * width, width, _UINT)
    found: dict[str, int | float | bool] = {}
    for place in range(int(size)):
        kind = data[start + int(size) * width + place]
        value = _value(data, start + place * width, width, kind)
        if value is not None:
            found[_key(data, _target(data, keys + place * int(keys_width), int(keys_width)))] = value
    return found


def _value(data: memoryview, place: int, width: int, packed: int) -> int | float | bool | None:
    kind = packed >> 2
    if kind in _INDIRECT:
        return _number(data, _target(data, place, width), 1 << (packed & 3), _INDIRECT[kind])
    if kind not in _CODES:
        return None
    value = _number(data, place, width, kind)
    return bool(value) if kind == _BOOL else value


def _number(data: memoryview, place: int, width: int, kind: int) -> int | float:
    if place < 0:
        raise IndexError(place)
    value: int | float = struct.unpack_from("<" + _CODES[kind][width], data, place)[0]
    return value


def _target(data: memoryview, place: int, width: int) -> int:
    """What the offset at ``place`` points to; offsets point backwards."""
    target = place - int(_number(data, place, width, _UINT))
    if target < 0:
        raise IndexError(target)
    return target


def _key(data: memoryview, start: int) -> str:
    return bytes(data[start : start + 256]).partition(b"\0")[0].decode("utf8", "replace")

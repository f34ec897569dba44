"""A reader of flatbuffers that trusts no offset.

The format, as flatbuffers.dev's "Internals" describes it: everything is little-endian; the file begins with the offset of
the root table; a table begins with the signed distance back to its vtable, which has its own size, that of the table, and
for each field the distance from the start of the table, 0 where the field is absent; vectors and strings are behind an
unsigned offset and begin with their length.  A union is a type number and the offset of a table.

Parts may be shared, so that a small file could describe a huge tree: what is read all together is bounded by the size of
the file, and by what the structure of the largest networks takes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from weighbridge.errors import BadModel

__all__ = ["Buffer", "Table"]

_DAMAGED: Final = "the file is damaged: download or convert it again"
_HOSTILE: Final = "no known network needs that: check where the file comes from"
_FORMATS: Final[Mapping[str, struct.Struct]] = {kind: struct.Struct(f"<{kind}") for kind in "?bBhHiIqQfd"}
_I32, _U32, _U16 = _FORMATS["i"], _FORMATS["I"], _FORMATS["H"]
_SHARING: Final = 2
"""So many times its own size a file may be read; writers share little more than virtual tables, which count nothing."""
_SMALLEST: Final = 1 << 16
_LARGEST: Final = 1 << 27
_MAX_TABLES: Final = 1 << 20
"""A language model with twenty signatures has some 500,000; each takes Python a hundred times the bytes that it has in a file."""
_MAX_TEXT: Final = 1 << 16
_MAX_FIELDS: Final = 32
"""Of a table; the schemas that are read have at most 20."""
_MAX_LAYOUTS: Final = 1 << 12
"""That are remembered; writers share them, so that a file has some hundred."""


def _most(size: int) -> int:
    """So many bytes of a file may be read as structure."""
    return min(_SHARING * size + _SMALLEST, _LARGEST)


class Buffer:
    """The bytes of a file, and how much more of them may be read."""

    __slots__ = ("data", "layouts", "left", "size", "tables_left")

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.size = len(data)
        self.left = _most(self.size)
        self.tables_left = _MAX_TABLES
        self.layouts: dict[int, tuple[int, tuple[int, ...]]] = {}

    def root(self) -> Table:
        """The root table.  Raises ``BadModel`` where there is none."""
        return Table(self, self.offset(0))

    def spend(self, count: int) -> None:
        """Note that so many bytes were read."""
        self.left -= count
        if self.left < 0:
            what = f"its structure takes more than {_most(self.size):,} bytes, as if parts referred to the same ones over and over"
            raise BadModel(what, hint=_HOSTILE)

    def enter(self) -> None:
        """Note that a table was entered."""
        self.spend(4)
        self.tables_left -= 1
        if self.tables_left < 0:
            raise BadModel(f"it has more than {_MAX_TABLES:,} parts", hint=_HOSTILE)

    def number(self, form: struct.Struct, position: int) -> Any:
        """A number at a position of the file."""
        if not 0 <= position <= self.size - form.size:
            self.leave(position)
        return form.unpack_from(self.data, position)[0]

    def offset(self, position: int) -> int:
        """Where the offset at a position leads: forwards, inside the file."""
        target: int = position + self.number(_U32, position)
        if not position < target <= self.size - 4:
            self.leave(target)
        return target

    def layout(self, vtable: int) -> tuple[int, tuple[int, ...]]:
        """The size of the tables that share a list of fields, and where in them their fields are, 0 for an absent one."""
        found = self.layouts.get(vtable)
        if found is None:
            length, size = self.number(_U16, vtable), self.number(_U16, vtable + 2)
            if length < 4 or vtable + length > self.size:
                raise BadModel(f"the list of fields at byte {vtable:,} is none", hint=_DAMAGED)
            count = min((length - 4) // 2, _MAX_FIELDS)
            if len(self.layouts) > _MAX_LAYOUTS:
                self.layouts.clear()
            found = self.layouts[vtable] = size, struct.unpack_from(f"<{count}H", self.data, vtable + 4)
        return found

    def leave(self, position: int) -> NoReturn:
        raise BadModel(f"an offset leads to byte {position:,} of a file of {self.size:,}", hint=_DAMAGED)


class Table:
    """A table.  A field is read by its number in the schema, from 0; one that is absent has its default."""

    __slots__ = ("buffer", "fields", "position", "size")

    def __init__(self, buffer: Buffer, position: int) -> None:
        buffer.enter()
        self.buffer = buffer
        self.position = position
        self.size, self.fields = buffer.layout(position - buffer.number(_I32, position))
        if self.size < 4 or position + self.size > buffer.size:
            raise BadModel(f"the table at byte {position:,} is cut off", hint=_DAMAGED)

    def _at(self, field: int, width: int) -> int:
        """Where a field lies in the file; 0 where it is absent."""
        at = self.fields[field] if field < len(self.fields) else 0
        if not at:
            return 0
        if not 4 <= at <= self.size - width:
            raise BadModel(f"a field of the table at byte {self.position:,} lies outside of it", hint=_DAMAGED)
        return self.position + at

    def number(self, field: int, kind: str, default: Any = 0) -> Any:
        """A number; ``kind`` is a letter of the module ``struct``."""
        form = _FORMATS[kind]
        at = self._at(field, form.size)
        return form.unpack_from(self.buffer.data, at)[0] if at else default

    def table(self, field: int) -> Table | None:
        """A table, or that of a union whose number is in the field before."""
        at = self._at(field, 4)
        return Table(self.buffer, self.buffer.offset(at)) if at else None

    def span(self, field: int, width: int = 1) -> tuple[int, int] | None:
        """(position of the first element, number of elements) of a vector with elements of ``width`` bytes."""
        at = self._at(field, 4)
        if not at:
            return None
        start = self.buffer.offset(at)
        count: int = self.buffer.number(_U32, start)
        if start + 4 + count * width > self.buffer.size:
            raise BadModel(f"a list of {count:,} elements at byte {start:,} goes beyond the file", hint=_DAMAGED)
        return start + 4, count

    def numbers(self, field: int, kind: str) -> tuple[Any, ...] | bytes | None:
        """A vector of numbers, as ``bytes`` where they are unsigned bytes; None where it is absent."""
        width = _FORMATS[kind].size
        found = self.span(field, width)
        if found is None:
            return None
        start, count = found
        self.buffer.spend(count * width)
        if kind == "B":
            return bytes(self.buffer.data[start : start + count])
        return struct.unpack_from(f"<{count}{kind}", self.buffer.data, start)

    def text(self, field: int) -> str:
        """A string, "" where it is absent; what is not UTF-8 is replaced, and what is long is cut, as names decide nothing."""
        found = self.span(field)
        if found is None:
            return ""
        start, count = found[0], min(found[1], _MAX_TEXT)
        self.buffer.spend(count)
        return bytes(self.buffer.data[start : start + count]).decode("utf-8", "replace")

    def tables(self, field: int) -> Iterator[Table]:
        """The tables of a vector, one after the other; none where it is absent."""
        found = self.span(field, 4)
        start, count = found or (0, 0)
        self.buffer.spend(4 * count)
        for index in range(count):
            yield Table(self.buffer, self.buffer.offset(start + 4 * index))

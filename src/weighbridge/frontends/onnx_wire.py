"""Reads the structure of an ONNX file and leaves its weight bytes where they are.

A scan of the protobuf wire format walks the messages of a file through a small window, and writes the same model again
without the payload of its large tensors.  Nothing is mapped into memory (mapped pages count as memory) and no weight is
read, so the cost follows the structure of a network, not its size.

What stays: payloads of integers and bools up to ``KEPT_INTEGER_BYTES`` and of anything else up to ``KEPT_BYTES``, because
shapes are computed from them.  A payload that is left out leaves its length behind (``payload_note``).  ``training_info``
is dropped, and so are strings over ``KEPT_INTEGER_BYTES`` (documentation, compiled blobs): no shape depends on them.

Source of the wire format: the Protocol Buffers encoding guide; of the field numbers: onnx-ml.proto.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from weighbridge.errors import BadModel

__all__ = ["KEPT_BYTES", "KEPT_INTEGER_BYTES", "MAX_DEPTH", "MAX_KEPT_BYTES", "Note", "payload_note", "strip"]

KEPT_BYTES = 1 << 10
KEPT_INTEGER_BYTES = 64 << 10
MAX_DEPTH = 100
"""Messages inside messages; protobuf's own parsers stop there too.  33 subgraphs fit."""
MAX_KEPT_BYTES = 128 << 20
MAX_FIELDS = 32_000_000
MAX_MESSAGES = 4_000_000
"""A parsed message takes some 100 to 250 bytes however short it was in the file, so they are counted, not only weighed."""
UNWALKED_BYTES = 8 << 20
"""Messages of up to ``KEPT_BYTES`` hold nothing to strip and are copied unseen, until they add up to this."""
WINDOW_BYTES = 32 << 10

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TENSOR_DTYPE, _TENSOR_SEGMENT = 2, 3
_PAYLOADS = frozenset({4, 5, 6, 7, 9, 10, 11})
"""float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data."""
_INTEGERS = frozenset({2, 3, 4, 5, 6, 7, 9, 12, 13, 21, 22, 25, 26})
"""The values of TensorProto.DataType that are integers or bool."""


class _Message:
    """What the scan knows of a message type: its message fields, the fields it drops, and its text."""

    __slots__ = ("dropped", "inner", "texts")

    def __init__(self, dropped: frozenset[int] = frozenset(), texts: frozenset[int] = frozenset()) -> None:
        self.inner: dict[int, _Message] = {}
        self.dropped = dropped
        self.texts = texts


_ENTRY, _DIMENSION, _SHAPE, _TYPED, _ELEMENT, _MAP = (
    _Message(),
    _Message(),
    _Message(),
    _Message(),
    _Message(),
    _Message(),
)
_TYPE, _VALUE, _TENSOR, _SPARSE = _Message(), _Message(), _Message(), _Message()
_ATTRIBUTE = _Message(texts=frozenset({4, 9, 13}))
_NODE = _Message(texts=frozenset({6}))
_GRAPH = _Message(texts=frozenset({10}))
_FUNCTION = _Message(texts=frozenset({8}))
_MODEL = _Message(dropped=frozenset({20}), texts=frozenset({6}))
_SHAPE.inner = {1: _DIMENSION}
_TYPED.inner = {2: _SHAPE}
_ELEMENT.inner = {1: _TYPE}
_MAP.inner = {2: _TYPE}
_TYPE.inner = {1: _TYPED, 4: _ELEMENT, 5: _MAP, 8: _TYPED, 9: _ELEMENT}
_VALUE.inner = {2: _TYPE, 4: _ENTRY}
_TENSOR.inner = {13: _ENTRY, 16: _ENTRY}
_SPARSE.inner = {1: _TENSOR, 2: _TENSOR}
_ATTRIBUTE.inner = {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 14: _TYPE, 15: _TYPE, 22: _SPARSE, 23: _SPARSE}
_NODE.inner = {5: _ATTRIBUTE, 9: _ENTRY}
_GRAPH.inner = {1: _NODE, 5: _TENSOR, 11: _VALUE, 12: _VALUE, 13: _VALUE, 15: _SPARSE, 16: _ENTRY}
_FUNCTION.inner = {7: _NODE, 9: _ENTRY, 11: _ATTRIBUTE, 12: _VALUE, 14: _ENTRY}
_MODEL.inner = {7: _GRAPH, 8: _ENTRY, 14: _ENTRY, 25: _FUNCTION}


class Note(NamedTuple):
    """What a stripped tensor stored: the number of the TensorProto field (0 if several) and the bytes in it."""

    field: int
    bytes: int


class _Field(NamedTuple):
    number: int
    wire: int
    start: int
    body: int
    stop: int


_Piece = bytes | tuple[int, int]
"""Bytes to write, or a range of the file to copy."""


def payload_note(tensor: Any) -> Note | None:
    """What ``strip`` left out of this TensorProto; None where the payload is in it, or outside the file.

    The note travels in ``segment``, a field that ONNX reserved for tensors in several pieces and that no runtime accepts:
    ``begin`` is minus the field number less one, ``end`` the length in bytes.
    """
    if not tensor.HasField("segment") or tensor.segment.begin >= 0:
        return None
    return Note(-1 - tensor.segment.begin, max(tensor.segment.end, 0))


def strip(path: Path) -> bytes:
    """The ModelProto in the file at ``path``, serialised again without the payload of large tensors.

    Raises ``BadModel``, with the byte where the file stops making sense, and ``OSError`` where it cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        scan = _Scan(file, os.fstat(file.fileno()).st_size)
        try:
            return scan.model()
        except BadModel as error:
            raise error.at(path.name) from None


class _Scan:
    """One pass over a file; ``read`` positions are absolute, so messages are walked by their offsets alone."""

    def __init__(self, file: Any, size: int) -> None:
        self.file = file
        self.size = size
        self.base = 0
        self.buffer = b""
        self.fields = 0
        self.messages = 0
        self.unwalked = 0
        self.kept = 0

    def model(self) -> bytes:
        pieces = self._message(_MODEL, 0, self.size, 0)
        if pieces is None:
            pieces = [(0, self.size)]
        self._budget(sum(_length(piece) for piece in pieces) - self.kept)
        return b"".join(piece if isinstance(piece, bytes) else self._range(*piece) for piece in pieces)

    def _message(self, kind: _Message, start: int, end: int, depth: int) -> list[_Piece] | None:
        """The pieces of a message once its tensors are stripped; None where it stays as it is."""
        if depth > MAX_DEPTH:
            hint = "no real network is built like this: check where the file comes from"
            raise BadModel(f"messages are nested more than {MAX_DEPTH} deep at byte {start:,}", hint=hint)
        pieces: list[_Piece] = []
        copied = start
        for field in self._fields(start, end):
            if field.wire != _BYTES:
                continue
            new = self._field(kind, field, depth)
            if new is None:
                continue
            if copied < field.start:
                pieces.append((copied, field.start))
            pieces.extend(new)
            copied = field.stop
        if copied == start:
            return None
        if copied < end:
            pieces.append((copied, end))
        return pieces

    def _field(self, kind: _Message, field: _Field, depth: int) -> list[_Piece] | None:
        """What replaces a length-delimited field; None where it stays as it is."""
        inner = kind.inner.get(field.number)
        length = field.stop - field.body
        if inner is None:
            oversized = field.number in kind.texts and length > KEPT_INTEGER_BYTES
            return [] if oversized or field.number in kind.dropped else None
        self.messages += 1
        if self.messages > MAX_MESSAGES:
            raise _too_large(f"more than {MAX_MESSAGES:,} nodes, attributes and tensors")
        if length <= KEPT_BYTES and self.unwalked + length <= UNWALKED_BYTES:
            self.unwalked += length
            return None
        start, stop = field.body, field.stop
        new = self._tensor(start, stop) if inner is _TENSOR else self._message(inner, start, stop, depth + 1)
        if new is None:
            return None
        size = sum(_length(piece) for piece in new)
        return [_encode(field.number << 3 | _BYTES) + _encode(size), *new]

    def _tensor(self, start: int, end: int) -> list[_Piece] | None:
        """A TensorProto without its payload, its length noted in ``segment``; None where the payload is kept."""
        pieces: list[_Piece] = []
        copied, stored, dtype = start, 0, 0
        payloads: set[int] = set()
        for field in self._fields(start, end):
            if field.number in _PAYLOADS:
                payloads.add(field.number)
                stored += field.stop - field.body
            elif field.number == _TENSOR_DTYPE and field.wire == _VARINT:
                dtype = self._varint(field.body, end)[0] & 0xFFFFFFFF
                continue
            elif field.number != _TENSOR_SEGMENT:
                self.messages += field.number in _TENSOR.inner
                continue
            if copied < field.start:
                pieces.append((copied, field.start))
            copied = field.stop
        if stored <= (KEPT_INTEGER_BYTES if dtype in _INTEGERS else KEPT_BYTES):
            self._budget(stored)
            return None
        if copied < end:
            pieces.append((copied, end))
        note = Note(payloads.pop() if len(payloads) == 1 else 0, stored)
        pieces.append(_segment(note))
        return pieces

    def _fields(self, start: int, end: int) -> Iterator[_Field]:
        """The fields between two positions of the file, each checked to lie inside them."""
        position = start
        while position < end:
            self.fields += 1
            tag, body = self._varint(position, end)
            wire = tag & 7
            if tag < 8 or tag > 0xFFFFFFFF:
                raise BadModel(f"there is no protobuf field at byte {position:,}", hint=_DAMAGED)
            if wire == _BYTES:
                length, body = self._varint(body, end)
                stop = body + length
            elif wire == _VARINT:
                stop = self._varint(body, end)[1]
            elif wire == _FIXED32:
                stop = body + 4
            elif wire == _FIXED64:
                stop = body + 8
            else:
                raise BadModel(
                    f"byte {position:,} starts a field of wire type {wire}, which ONNX does not use", hint=_DAMAGED
                )
            if stop > end:
                raise self._overrun(tag >> 3, position, stop, end)
            yield _Field(tag >> 3, wire, position, body, stop)
            position = stop
        if self.fields > MAX_FIELDS:
            raise _too_large(f"more than {MAX_FIELDS:,} fields")

    def _overrun(self, number: int, position: int, stop: int, end: int) -> BadModel:
        if end == self.size:
            what = f"field {number} at byte {position:,} runs to byte {stop:,}, but the file ends at byte {end:,}"
            return BadModel(f"truncated: {what}", hint="download or export the file again")
        return BadModel(f"field {number} at byte {position:,} is longer than the message around it", hint=_DAMAGED)

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        """The varint at ``position`` and the position behind it; it ends before ``end`` and takes at most 10 bytes."""
        index = position - self.base
        if index < 0 or index + 10 > len(self.buffer):
            self.buffer = self._range(position, min(position + WINDOW_BYTES, self.size))
            self.base, index = position, 0
        buffer = self.buffer
        if position < end and (byte := buffer[index]) < 0x80:
            return byte, position + 1
        value = shift = 0
        for byte in buffer[index : index + min(10, end - position)]:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, position + shift // 7
        if end - position >= 10:
            raise BadModel(f"the number at byte {position:,} takes more than 10 bytes", hint=_DAMAGED)
        if end == self.size:
            raise BadModel(
                f"truncated: the file ends at byte {end:,}, inside a number", hint="download or export the file again"
            )
        raise BadModel(f"the number at byte {position:,} runs out of the message around it", hint=_DAMAGED)

    def _range(self, start: int, stop: int) -> bytes:
        """The bytes of the file between two positions."""
        self.file.seek(start)
        parts: list[bytes] = []
        missing = stop - start
        while missing > 0:
            part = self.file.read(missing)
            if not part:
                raise BadModel(
                    f"the file ended at byte {stop - missing:,} while it was read", hint="was it being written?"
                )
            parts.append(part)
            missing -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _budget(self, size: int) -> None:
        """Counts bytes that stay in memory."""
        self.kept += size
        if self.kept > MAX_KEPT_BYTES:
            raise _too_large(f"more than {MAX_KEPT_BYTES >> 20} MiB of structure beside the weights")


_DAMAGED = "the file is damaged, or it is no ONNX model"


def _too_large(what: str) -> BadModel:
    return BadModel(f"the model has {what}", hint="no known network needs that: check where the file comes from")


def _length(piece: _Piece) -> int:
    return len(piece) if isinstance(piece, bytes) else piece[1] - piece[0]


def _encode(value: int) -> bytes:
    """``value`` as a varint; negative numbers as 64 bits in two's complement, as protobuf does."""
    value &= 0xFFFFFFFFFFFFFFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _segment(note: Note) -> bytes:
    """``note`` as the field ``segment`` of a TensorProto."""
    body = b"\x08" + _encode(-1 - note.field) + b"\x10" + _encode(note.bytes)
    return _encode(_TENSOR_SEGMENT << 3 | _BYTES) + _encode(len(body)) + body

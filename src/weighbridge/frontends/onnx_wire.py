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
from typing import Any

from weighbridge.errors import BadModel
from weighbridge.named_tuple import NamedTuple

__all__ = [
    "KEPT_BYTES",
    "KEPT_INTEGER_BYTES",
    "MAX_DEPTH",
    "MAX_KEPT_BYTES",
    "Note",
    "node_spans",
    "payload_note",
    "stored_payload",
    "strip",
]

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

_VARINT, _BYTES = 0, 2
_FIELD_BITS = 4
_FIELD = (1 << _FIELD_BITS) - 1
"""The numbers of fields with payloads are at most 11."""
_FIXED = {1: 8, 5: 4}
"""Wire types; the fixed ones with their size.  3 and 4 are groups, which no version of ONNX has; 6 and 7 do not exist."""
_GRAPH_FIELD, _NODE_FIELD = 7, 1
"""Of a ModelProto and of its GraphProto."""
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


_Field = tuple[int, int, int, int, int]
"""Number and wire type of a field, and where in the file it starts, where its content starts, and where it stops."""

_Piece = bytes | tuple[int, int]
"""Bytes to write, or a range of the file to copy."""


def payload_note(tensor: Any) -> Note | None:
    """What ``strip`` left out of this TensorProto; None where the payload is in it, or outside the file.

    The note travels in ``segment``, a field that ONNX reserved for tensors in several pieces and that no runtime accepts:
    ``begin`` is minus the field number less one, and less 16 times the place of the tensor in the file; ``end`` is the length in
    bytes.
    """
    if not tensor.HasField("segment") or tensor.segment.begin >= 0:
        return None
    return Note(-1 - tensor.segment.begin & _FIELD, max(tensor.segment.end, 0))


def stored_payload(path: Path, tensor: Any) -> Iterator[tuple[int, int, bytes]]:
    """What ``strip`` left out of this TensorProto, of which there is a ``payload_note``, from the file again.

    Number, wire type and content of each field.  Raises ``BadModel`` where the file has changed, and ``OSError``.
    """
    missing = tensor.segment.end
    with path.open("rb", buffering=0) as file:
        scan = _Scan(file, os.fstat(file.fileno()).st_size)
        for number, wire, _, body, stop in scan.fields_between(-1 - tensor.segment.begin >> _FIELD_BITS, scan.size):
            if number in _PAYLOADS:
                missing -= stop - body
                yield number, wire, scan.range(body, stop)
            if missing <= 0:
                return
    raise BadModel("the file has changed while it was read", hint="was it being written?")


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


def node_spans(path: Path) -> tuple[tuple[int, int], ...]:
    """Where the nodes of the graph start and stop in the file at ``path``, in their order.

    Raises what ``strip`` does, and ``BadModel`` where the graph stands in the file in several pieces, as protobuf allows.
    """
    with path.open("rb", buffering=0) as file:
        scan = _Scan(file, os.fstat(file.fileno()).st_size)
        graphs = [one[3:] for one in scan.fields_between(0, scan.size) if one[:2] == (_GRAPH_FIELD, _BYTES)]
        if len(graphs) != 1:
            raise BadModel(f"its graph stands in {len(graphs)} pieces", hint="load it with onnx and save it again")
        return tuple([one[2::2] for one in scan.fields_between(*graphs[0]) if one[:2] == (_NODE_FIELD, _BYTES)])


class _Scan:
    """One pass over a file; ``read`` positions are absolute, so messages are walked by their offsets alone."""

    def __init__(self, file: Any, size: int) -> None:
        self.file = file
        self.size = size
        self.window = b""
        self.base, self.last = 0, -1
        self.fields = 0
        self.messages = 0
        self.unwalked = 0
        self.kept = 0

    def model(self) -> bytes:
        pieces = self._message(_MODEL, 0, self.size, 0)
        if pieces is None:
            pieces = [(0, self.size)]
        self._budget(sum(_length(piece) for piece in pieces) - self.kept)
        return b"".join(piece if isinstance(piece, bytes) else self.range(*piece) for piece in pieces)

    def _message(self, kind: _Message, start: int, end: int, depth: int) -> list[_Piece] | None:
        """The pieces of a message once its tensors are stripped; None where it stays as it is."""
        if depth > MAX_DEPTH:
            hint = "no real network is built like this: check where the file comes from"
            raise BadModel(f"messages are nested more than {MAX_DEPTH} deep at byte {start:,}", hint=hint)
        pieces: list[_Piece] = []
        copied = start
        for number, wire, position, body, stop in self.fields_between(start, end):
            if wire != _BYTES:
                continue
            inner = kind.inner.get(number)
            if inner is not None and stop - body <= KEPT_BYTES and self.unwalked < UNWALKED_BYTES:
                self.unwalked += stop - position
                continue
            new = self._field(kind, number, body, stop, depth)
            if new is None:
                continue
            self._copy(pieces, copied, position)
            pieces.extend(new)
            copied = stop
        if copied == start:
            return None
        self._copy(pieces, copied, end)
        return pieces

    def _copy(self, pieces: list[_Piece], start: int, end: int) -> None:
        """Adds a range of the file: its bytes where the window has them, or else the promise to read them."""
        index = start - self.base
        if index >= 0 and end - self.base <= len(self.window):
            pieces.append(self.window[index : end - self.base])
        else:
            pieces.append((start, end))

    def _field(self, kind: _Message, number: int, body: int, stop: int, depth: int) -> list[_Piece] | None:
        """What replaces a length-delimited field; None where it stays as it is."""
        inner = kind.inner.get(number)
        length = stop - body
        if inner is None:
            oversized = length > KEPT_INTEGER_BYTES and number in kind.texts
            return [] if oversized or number in kind.dropped else None
        self.messages += 1
        if self.messages > MAX_MESSAGES:
            raise _too_large(f"more than {MAX_MESSAGES:,} nodes, attributes and tensors")
        new = self._tensor(body, stop) if inner is _TENSOR else self._message(inner, body, stop, depth + 1)
        if new is None:
            return None
        size = sum(map(_length, new))
        return [_encode(number << 3 | _BYTES) + _encode(size), *new]

    def _tensor(self, start: int, end: int) -> list[_Piece] | None:
        """A TensorProto without its payload, its length noted in ``segment``; None where the payload is kept."""
        pieces: list[_Piece] = []
        copied, stored, dtype = start, 0, 0
        payloads: set[int] = set()
        for number, wire, position, body, stop in self.fields_between(start, end):
            if number in _PAYLOADS:
                payloads.add(number)
                stored += stop - body
            elif number == _TENSOR_DTYPE and wire == _VARINT:
                dtype = self._varint(body, end)[0] & 0xFFFFFFFF
                continue
            elif number != _TENSOR_SEGMENT:
                self.messages += number in _TENSOR.inner
                continue
            self._copy(pieces, copied, position)
            copied = stop
        if stored <= (KEPT_INTEGER_BYTES if dtype in _INTEGERS else KEPT_BYTES):
            self._budget(stored)
            return None
        self._copy(pieces, copied, end)
        note = Note(payloads.pop() if len(payloads) == 1 else 0, stored)
        pieces.append(_segment(note, start))
        return pieces

    def fields_between(self, start: int, end: int) -> Iterator[_Field]:
        """The fields between two positions of the file, each checked to lie inside them."""
        position = start
        while position < end:
            self.fields += 1
            index = position - self.base
            if index < 0 or index > self.last:
                self._move(position)
                index = 0
            tag, length, high = self.window[index : index + 3]
            wire = tag & 7
            if wire == _VARINT and tag < 0x80 > length and position + 1 < end:
                body = position + 1
                stop = position + 2
            elif wire != _BYTES or tag > 0x7F or high > 0x7F < length:
                tag, body = self._varint(position, end)
                wire = tag & 7
                body, stop = self._extent(wire, position, body, end)
            elif length < 0x80:
                body = position + 2
                stop = body + length
            else:
                body = position + 3
                stop = body + (length & 0x7F | high << 7)
            if stop > end:
                raise self._overrun(f"field {tag >> 3}", position, stop, end)
            if not 8 <= tag <= 0xFFFFFFFF:
                raise BadModel(f"there is no protobuf field at byte {position:,}", hint=_DAMAGED)
            yield tag >> 3, wire, position, body, stop
            position = stop
        if self.fields > MAX_FIELDS:
            raise _too_large(f"more than {MAX_FIELDS:,} fields")

    def _extent(self, wire: int, position: int, body: int, end: int) -> tuple[int, int]:
        """Where the content of a field starts and stops, the length in front of it apart."""
        if wire == _BYTES:
            length, body = self._varint(body, end)
            return body, body + length
        if wire == _VARINT:
            return body, self._varint(body, end)[1]
        if wire in _FIXED:
            return body, body + _FIXED[wire]
        raise BadModel(f"byte {position:,} starts a field of wire type {wire}, which ONNX does not use", hint=_DAMAGED)

    def _overrun(self, what: str, position: int, stop: int, end: int) -> BadModel:
        if end == self.size:
            extent = f"{what} at byte {position:,} runs to byte {stop:,}, but the file ends at byte {end:,}"
            return BadModel(f"truncated: {extent}", hint="download or export the file again")
        return BadModel(f"{what} at byte {position:,} is longer than the message around it", hint=_DAMAGED)

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        """The varint at ``position`` and the position behind it, which is not behind ``end``."""
        index = position - self.base
        if index < 0 or index > self.last:
            self._move(position)
            index = 0
        value, stop = self.window[index], position + 1
        if value > 0x7F:
            byte = self.window[index + 1]
            value, stop = value & 0x7F | byte << 7, position + 2
            if byte > 0x7F:
                value, stop = self._long_varint(index, position)
        if stop > end:
            raise self._overrun("a number", position, stop, end)
        return value, stop

    def _long_varint(self, index: int, position: int) -> tuple[int, int]:
        value = 0
        for count, byte in enumerate(self.window[index : index + 10]):
            value |= (byte & 0x7F) << 7 * count
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, position + count + 1
        raise BadModel(f"the number at byte {position:,} takes more than 10 bytes", hint=_DAMAGED)

    def _move(self, position: int) -> None:
        """Reads on at ``position``; ten zeros behind the end of the file let a varint be read without looking for it."""
        stop = min(position + WINDOW_BYTES, self.size)
        self.window = self.range(position, stop)
        self.base, self.last = position, stop - position - 10
        if stop == self.size:
            self.window += bytes(10)
            self.last += 10

    def range(self, start: int, stop: int) -> bytes:
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
    if 0 <= value < 0x80:
        return bytes((value,))
    value &= 0xFFFFFFFFFFFFFFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _segment(note: Note, place: int) -> bytes:
    """``note`` as the field ``segment`` of a TensorProto that stands at ``place`` in the file."""
    body = b"\x08" + _encode(-1 - note.field - (place << _FIELD_BITS)) + b"\x10" + _encode(note.bytes)
    return _encode(_TENSOR_SEGMENT << 3 | _BYTES) + _encode(len(body)) + body

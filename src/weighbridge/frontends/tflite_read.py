"""Reads the structure of a TensorFlow Lite model: tables and small lists, never a weight."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadModel
from weighbridge.frontends import sniff
from weighbridge.frontends.flatbuffer import Buffer, Table
from weighbridge.frontends.tflite_model import (
    Operator,
    Quantisation,
    Signature,
    Subgraph,
    TfliteModel,
    TfliteTensor,
)
from weighbridge.frontends.tflite_schema import BUILTIN_OPERATORS, ELEMENT_TYPES, options_of
from weighbridge.graph import MAX_RANK, Shape
from weighbridge.named_tuple import NamedTuple

__all__ = ["read_model"]

_DAMAGED: Final = "the file is damaged: download or convert it again"
_VERSION: Final = 3
_CUSTOM: Final = 32
_MULTI_AXIS: Final = 3
_BLOCKWISE: Final = (2, _MULTI_AXIS)
"""Unions of quantisation whose scales stand in a tensor of their own."""
_MAX_BYTES: Final = (1 << 63) - 1
_NEWER: Final = "the file is damaged, or newer than this release of weighbridge"
_IN_FILE: Final = 1
"""Offsets up to this one say that a buffer's data are not behind the flatbuffer."""

_Data = tuple[tuple[int, int] | None, ...]


class _Stores(NamedTuple):
    """Where values stand: (position, bytes) in the file by the number of a buffer, bytes in other files by their own number."""

    buffers: _Data
    external: Mapping[int, int]


def read_model(path: Path | str) -> TfliteModel:
    """The model in the file at ``path``.

    Raises ``UnsupportedFormat`` for a file of another format or of another version of the schema, ``BadModel`` for one that is
    damaged or that cannot be read, and ``OSError``.
    """
    path = Path(path)
    sniff.expect(path, "tflite")
    with path.open("rb") as file:
        data = memoryview(_content(file))
    try:
        return _model(path, data)
    except BadModel as error:
        raise error.at(path.name) from None


def _content(file: BinaryIO) -> mmap.mmap | bytes:
    """The bytes of a file, of which those alone are fetched that are looked at, unless its file system does not do that."""
    try:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError, OverflowError):
        return file.read()


def _model(path: Path, data: memoryview) -> TfliteModel:
    if bytes(data[4:8]) != b"TFL3":
        raise BadModel("this is no TensorFlow Lite model", hint=_DAMAGED)
    root = Buffer(data).root()
    version = root.number(0, "I")
    if version != _VERSION:
        raise BadModel(f"version {version} of the schema is not known, only {_VERSION}", hint="convert it again")
    stores = _Stores(tuple([_buffer(one) for one in root.tables(4)]), _external(root))
    codes = [_code(one) for one in root.tables(1)]
    subgraphs = tuple(
        [_located(f"subgraph {index}", _subgraph, one, codes, stores) for index, one in enumerate(root.tables(2))]
    )
    if not subgraphs:
        raise BadModel("there is no graph in it", hint=_DAMAGED)
    return TfliteModel(
        path=path,
        data=data,
        version=version,
        description=root.text(3),
        subgraphs=subgraphs,
        metadata=_metadata(root, stores.buffers),
        signatures=tuple(
            [_located(f"signature {index}", _signature, one, subgraphs) for index, one in enumerate(root.tables(7))]
        ),
        behind=frozenset(index for index, one in enumerate(root.tables(4)) if one.number(1, "Q") > _IN_FILE),
    )


def _located(where: str, read: Any, *args: Any) -> Any:
    try:
        return read(*args)
    except BadModel as error:
        raise error.at(where) from None


def _index(number: int, things: Sequence[Any], what: str) -> int:
    if not 0 <= number < len(things):
        raise BadModel(f"there is no {what} {number}, only {len(things)}", hint=_DAMAGED)
    return number


def _buffer(table: Table) -> tuple[int, int] | None:
    """(position, bytes) of the data of a buffer, which may be behind the flatbuffer; None where it has none."""
    offset, size = table.number(1, "Q"), table.number(2, "Q")
    if offset > _IN_FILE:
        if offset + size > table.buffer.size:
            what = f"a buffer of {size:,} bytes at byte {offset:,} goes beyond the file of {table.buffer.size:,}"
            raise BadModel(what, hint="the file was cut: download or convert it again")
        return (offset, size) if size else None
    found = table.span(0)
    return found if found is not None and found[1] else None


def _external(root: Table) -> dict[int, int]:
    """The bytes of buffers in other files, by the numbers that tensors call them by, from 1."""
    return {one.number(0, "I"): one.number(3, "Q") for one in root.tables(9)}


def _signature(table: Table, subgraphs: Sequence[Subgraph]) -> Signature:
    number = _index(table.number(4, "I"), subgraphs, "subgraph")
    inputs, outputs = (
        {one.text(0): _index(one.number(1, "I"), subgraphs[number].tensors, "tensor") for one in table.tables(field)}
        for field in (0, 1)
    )
    return Signature(table.text(2), number, inputs, outputs)


def _metadata(root: Table, buffers: _Data) -> dict[str, tuple[int, int]]:
    found = {}
    for one in root.tables(6):
        data = buffers[_index(one.number(1, "I"), buffers, "buffer")]
        if data is not None:
            found[one.text(0)] = data
    return found


def _code(table: Table) -> tuple[str, str, int]:
    """(operator, name of a custom one, version).  Codes beyond 127 did not fit the old field."""
    code = max(table.number(0, "b"), table.number(3, "i"))
    name = BUILTIN_OPERATORS[code] if 0 <= code < len(BUILTIN_OPERATORS) else f"BUILTIN_{code}"
    return name, table.text(1) if code == _CUSTOM else "", table.number(2, "i", 1)


def _subgraph(table: Table, codes: Sequence[tuple[str, str, int]], stores: _Stores) -> Subgraph:
    tensors = tuple(
        [_located(f"tensor {index}", _tensor, index, one, stores) for index, one in enumerate(table.tables(0))]
    )
    _check_scales(tensors)
    operators = tuple(
        [
            _located(f"operator {index}", _operator, index, one, codes, tensors)
            for index, one in enumerate(table.tables(3))
        ]
    )
    return Subgraph(
        name=table.text(4),
        tensors=tensors,
        operators=operators,
        inputs=_tensors(table.numbers(1, "i"), tensors),
        outputs=_tensors(table.numbers(2, "i"), tensors),
    )


def _check_scales(tensors: Sequence[TfliteTensor]) -> None:
    blockwise = {
        one.number: one.quantisation for one in tensors if one.quantisation and one.quantisation.kind == "blockwise"
    }
    for number, one in blockwise.items():
        for scales in _tensors((one.scales, one.zero_points), tensors, optional=True):
            if scales in blockwise:
                raise BadModel(f"the scales of tensor {number} have scales themselves", hint=_DAMAGED)


def _tensors(numbers: Sequence[int] | None, tensors: Sequence[Any], *, optional: bool = False) -> tuple[int, ...]:
    for one in numbers or ():
        if one != -1 or not optional:
            _index(one, tensors, "tensor")
    return tuple(numbers or ())


def _tensor(index: int, table: Table, stores: _Stores) -> TfliteTensor:
    number = table.number(1, "b")
    if not 0 <= number < len(ELEMENT_TYPES):
        raise BadModel(f"the element type {number} is not known", hint=_NEWER)
    dtype = DTYPES[ELEMENT_TYPES[number]]
    buffer = _index(table.number(2, "I"), stores.buffers, "buffer") if stores.buffers else 0
    external = table.number(10, "I")
    if external and external not in stores.external:
        raise BadModel(f"there is no external buffer {external}", hint=_DAMAGED)
    return TfliteTensor(
        number=index,
        name=table.text(3),
        shape=_shape(table.numbers(0, "i"), dtype),
        signature=_shape(table.numbers(7, "i"), dtype),
        dtype=dtype,
        buffer=-external or buffer,
        is_variable=table.number(5, "?", default=False),
        quantisation=_quantisation(table.table(4)),
        data=None if external or not stores.buffers else stores.buffers[buffer],
        external_bytes=stores.external.get(external, 0),
        sparse_values=_sparse_values(table.table(6)),
        has_rank=table.number(8, "?", default=False),
    )


def _shape(sizes: Sequence[int] | None, dtype: DType) -> Shape | None:
    """A shape, with -1 for what is open.  Raises ``BadModel`` for one that no machine can have a tensor of."""
    if sizes is None:
        return None
    if len(sizes) > MAX_RANK:
        raise BadModel(f"it has {len(sizes):,} dimensions, more than {MAX_RANK}", hint=_DAMAGED)
    if any(size < -1 for size in sizes):
        raise BadModel(f"it has the shape {_written(sizes)}", hint=_DAMAGED)
    elements = prod(map(abs, sizes))
    if (dtype.bytes_of(elements) or elements) > _MAX_BYTES:
        raise BadModel(f"its shape {_written(sizes)} has more bytes than 64 bits can count", hint=_DAMAGED)
    return tuple(sizes)


def _written(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def _quantisation(table: Table | None) -> Quantisation | None:
    """None where there are neither scales nor details: converters write empty tables."""
    if table is None:
        return None
    kind, details, axis = table.number(4, "B"), table.table(5), table.number(6, "i")
    if kind in _BLOCKWISE and details is not None:
        block = details.number(2, "i")
        if kind == _MULTI_AXIS:
            axis = (details.numbers(3, "i") or (axis,))[-1]
        return Quantisation("blockwise", details.number(0, "i"), details.number(1, "i"), axis, block)
    if kind:
        return Quantisation("custom", axis=axis)
    scales, zero_points = table.span(2, 4), table.span(3, 8)
    if scales is None or not scales[1]:
        return None
    values = _bytes(table, scales, 4) + (_bytes(table, zero_points, 8) if zero_points else b"")
    return Quantisation("affine", scales[1], zero_points[1] if zero_points else 0, axis, values=values)


def _bytes(table: Table, span: tuple[int, int], width: int) -> bytes:
    """The elements of a vector as the file has them."""
    start, count = span
    table.buffer.spend(count * width)
    return bytes(table.buffer.data[start : start + count * width])


_INDEX_WIDTHS: Final = {1: 4, 2: 2, 3: 1}
"""Bytes of an index of a sparse dimension, by the number of its union."""


def _sparse_values(table: Table | None) -> int | None:
    """How many values a sparse tensor stores: those of its last sparse dimension, times the dense ones behind it."""
    if table is None:
        return None
    count = 1
    for dimension in table.tables(2):
        if not dimension.number(0, "b"):
            count *= max(dimension.number(1, "i"), 0)
            if count > _MAX_BYTES:
                raise BadModel("it stores more values than 64 bits can count", hint=_DAMAGED)
            continue
        number, indices = dimension.number(4, "B"), dimension.table(5)
        found = indices.span(0, _INDEX_WIDTHS[number]) if indices and number in _INDEX_WIDTHS else None
        if found is None:
            return None
        count = found[1]
    return count


def _operator(
    index: int, table: Table, codes: Sequence[tuple[str, str, int]], tensors: Sequence[TfliteTensor]
) -> Operator:
    op, custom, version = codes[_index(table.number(0, "I"), codes, "operator code")]
    first = table.number(3, "B"), table.table(4)
    second = table.number(11, "B"), table.table(12)
    return Operator(
        number=index,
        op=op,
        custom=custom,
        version=version,
        inputs=_tensors(table.numbers(1, "i"), tensors, optional=True),
        outputs=_tensors(table.numbers(2, "i"), tensors),
        intermediates=_tensors(table.numbers(8, "i"), tensors),
        options=options_of(first, second),
        custom_options=_custom_options(table),
    )


def _custom_options(table: Table) -> tuple[int, int] | None:
    """(position, bytes) of the options of a custom operator; large ones are behind the flatbuffer."""
    offset, size = table.number(9, "Q"), table.number(10, "Q")
    if offset > _IN_FILE:
        if offset + size > table.buffer.size:
            raise BadModel(f"its options at byte {offset:,} go beyond the file", hint=_DAMAGED)
        return offset, size
    return table.span(5)

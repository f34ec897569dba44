"""An ONNX file as a parsed ModelProto without weights: what the front end translates.

Only structure is read.  External data stays where it is; its paths are checked to lie inside the model's folder, and a
small integer tensor can be fetched from there when a shape is computed from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

from weighbridge.errors import BadModel
from weighbridge.frontends import onnx_proto, onnx_wire, sniff
from weighbridge.frontends.onnx_names import plain_domain
from weighbridge.frontends.onnx_tensors import Value, decode, dims_of, dtype_of, is_external, unpack
from weighbridge.graph import Shape

__all__ = ["OnnxModel", "read"]

_DAMAGED = "the file is damaged, or it is no ONNX model"
_PLAIN = frozenset({1, 2, 3, 6, 7, 8})
"""Attribute types that hold no graph and no tensor: floats, integers, strings."""
_RARE = frozenset({9, 10, 11, 12})
"""Those that hold several tensors or graphs, or a sparse tensor."""


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A ModelProto whose large payloads are left out (``onnx_wire.payload_note`` says what they were).

    ``opsets`` maps a domain to the version imported; the default domain is the empty string.
    """

    path: Path
    proto: Any
    ir_version: int
    opsets: Mapping[str, int]

    def integers(self, tensor: Any) -> tuple[Shape, tuple[Value, ...]] | None:
        """Shape and values of a small TensorProto, wherever they are; None where they are not to be had.

        Raises ``BadModel`` where an integer tensor of up to 64 KiB says that it is in another file and is not.
        """
        return self.external_integers(tensor) if is_external(tensor) else decode(tensor)

    def external_integers(self, tensor: Any) -> tuple[Shape, tuple[Value, ...]] | None:
        """Shape and values of an integer or bool TensorProto that is stored in another file.

        None where it is not integer or takes more than 64 KiB.  Raises ``BadModel`` where the file is missing or short.
        """
        shape, dtype = dims_of(tensor), dtype_of(tensor.data_type)
        size = dtype.bytes_of(prod(shape))
        if dtype.kind not in ("int", "uint", "bool") or size is None or size > onnx_wire.KEPT_INTEGER_BYTES:
            return None
        data = self.external_bytes(tensor, size, "a shape is computed from this tensor")
        values = unpack(data, dtype, prod(shape))
        return None if values is None else (shape, values)

    def external_bytes(self, tensor: Any, size: int, need: str) -> bytes:
        """The ``size`` bytes of a TensorProto that is stored in another file; ``need`` says what for.

        Raises ``BadModel`` where the file is missing, short or outside the model's folder.
        """
        place = {entry.key: entry.value for entry in tensor.external_data}
        target = _inside(self.path, tensor)
        offset = _number(place.get("offset", "0"), tensor)
        if _number(place.get("length", str(size)), tensor) != size:
            raise BadModel(f"the external data has {place['length']} bytes where {size} are needed", where=tensor.name)
        try:
            if target.exists() and not (
                target.is_file() or target.is_dir()
            ):  # opening a pipe would wait for its writer
                raise ValueError("it is no regular file")
            with target.open("rb", buffering=0) as file:
                file.seek(offset)
                data = _read(file, min(size, max(os.fstat(file.fileno()).st_size - offset, 0)))
        except (OSError, ValueError, OverflowError) as error:
            what = f"{need}, but its data file {place['location']!r} cannot be read"
            hint = "put the data file where the model says, relative to its own folder"
            raise BadModel(f"{what} ({_reason(error)})", where=tensor.name, hint=hint) from None
        if len(data) != size:
            what = f"its data file {target.name!r} ends before byte {offset + size:,}"
            raise BadModel(what, where=tensor.name, hint="the data file is damaged or is another model's")
        return data


def read(path: Path | str) -> OnnxModel:
    """The ONNX model in the file at ``path``.

    A model without any opset import is taken at opset 1, as ONNX defines for IR versions before 3; without a graph, or
    with names that are not UTF-8, or with external data outside its folder, it raises ``BadModel``.  A file of another
    format raises ``UnsupportedFormat`` with that format's name.
    """
    path = Path(path)
    sniff.expect(path, "onnx")
    data = onnx_wire.strip(path)
    try:
        proto = onnx_proto.parse(data)
        _check_top(proto)
        opsets = _opsets(proto)
        for tensor in _look_through(proto):
            if is_external(tensor):
                _inside(path, tensor)
    except BadModel as error:
        raise error.at(path.name) from None
    return OnnxModel(path=path, proto=proto, ir_version=proto.ir_version, opsets=opsets)


def _check_top(proto: Any) -> None:
    if not proto.HasField("graph"):
        raise BadModel("there is no graph in it", hint=_DAMAGED)


def _opsets(proto: Any) -> dict[str, int]:
    """Versions by domain: the highest of several, and versions below 1 say nothing."""
    opsets: dict[str, int] = {}
    for entry in proto.opset_import:
        domain = entry.domain if plain_domain(_text(entry.domain)) else ""
        if entry.version > opsets.get(domain, 0):
            opsets[domain] = entry.version
    if not opsets:
        if proto.ir_version >= 3:
            hint = "export it again with an opset version"
            raise BadModel("it does not say which operator set it uses (opset_import)", hint=hint)
        opsets[""] = 1
    return opsets


def _look_through(proto: Any) -> Iterator[Any]:
    """Every TensorProto of the graph, of every function, and of all graphs inside them.

    On the way it raises ``BadModel`` for names that are not UTF-8: protobuf hands those over as bytes.
    """
    pending = [proto.graph]
    for function in proto.functions:
        names = [function.name, function.domain, *function.input, *function.output, *function.attribute]
        yield from _look_at(names, function.node, pending)
        _check_names([entry.domain for entry in function.opset_import])
    while pending:
        graph = pending.pop()
        values = (*graph.input, *graph.output)
        names = [graph.name, *(_dimension_names(values)), *(value.name for value in (*values, *graph.value_info))]
        for tensor in (*graph.initializer, *_parts(graph.sparse_initializer)):
            names.append(tensor.name)
            yield tensor
        yield from _look_at(names, graph.node, pending)


def _dimension_names(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        for dimension in value.type.tensor_type.shape.dim:
            yield dimension.dim_param


def _look_at(names: list[str], nodes: Iterable[Any], graphs: list[Any]) -> Iterator[Any]:
    """The tensors in the attributes of ``nodes``; the graphs there are added to ``graphs``, the names to ``names``."""
    for node in nodes:
        names += node.input
        names += node.output
        names += (node.name, node.op_type, node.domain)
        for entry in node.metadata_props:
            names += (entry.key, entry.value)
        for attribute in node.attribute:
            names += (attribute.name, attribute.ref_attr_name)
            if attribute.type in _PLAIN:
                continue
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("g"):
                graphs.append(attribute.g)
            if attribute.type in _RARE:
                yield from attribute.tensors
                yield from _parts((attribute.sparse_tensor, *attribute.sparse_tensors))
                graphs += attribute.graphs
    _check_names(names)


def _check_names(names: list[str]) -> None:
    try:
        "".join(names)
    except TypeError:
        for name in names:
            _text(name)


def _parts(sparse: Iterable[Any]) -> Iterator[Any]:
    for tensor in sparse:
        yield from (tensor.values, tensor.indices)


def _text(name: str | bytes) -> str:
    if isinstance(name, bytes):
        raise BadModel(f"the name {name[:40]!r} is not UTF-8 text", hint=_DAMAGED)
    return name


def _inside(path: Path, tensor: Any) -> Path:
    """The data file of an external tensor, which lies in the model's folder or below.

    Raises ``BadModel`` for a location that is absolute, leaves the folder (also through a symbolic link), or is missing.
    """
    location = next((_text(entry.value) for entry in tensor.external_data if entry.key == "location"), "")
    parts = PurePosixPath(location).parts
    if not parts or "\\" in location or "\0" in location or ":" in parts[0] or parts[0] == "/" or ".." in parts:
        what = f"its data is said to be in {location!r}, which is no path inside the model's folder"
        raise BadModel(
            what, where=_text(tensor.name), hint="the weights of a model belong beside it: do not trust this file"
        )
    folder = path.parent.resolve()
    try:
        target = (folder / location).resolve()
    except (OSError, RuntimeError):  # a ring of links; Python before 3.13 calls that a RuntimeError
        hint = "put the data file itself beside the model"
        raise BadModel(
            f"its data file {location!r} is a link without an end", where=_text(tensor.name), hint=hint
        ) from None
    if not target.is_relative_to(folder):
        what = f"its data file {location!r} is a link out of the model's folder"
        raise BadModel(what, where=_text(tensor.name), hint="copy the data file itself beside the model")
    return target


def _number(text: str | bytes, tensor: Any) -> int:
    """A byte count of the external data."""
    digits = text if isinstance(text, str) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise BadModel(
            f"the external data has an offset or length of {text!r}", where=_text(tensor.name), hint=_DAMAGED
        )
    return int(digits)


def _read(file: Any, size: int) -> bytes:
    """So many bytes of an open file; fewer where it ends.  One call of the system gives 2 GiB at most."""
    parts: list[bytes] = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _reason(error: Exception) -> str:
    return (error.strerror or "unreadable") if isinstance(error, OSError) else str(error)

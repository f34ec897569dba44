"""Stored tensors that hold small integers packed into bytes, as what they hold.

The rules of packed weights read them through ``unpack``.  A stored tensor that is read in no other way,
directly or reshaped, is the weight itself: it gets the shape and the type of the integers, so that its parameters are
counted as the model holds them, and the bytes that it takes in the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from weighbridge.builder import Builder
from weighbridge.dtypes import DType
from weighbridge.graph import Node, Tensor
from weighbridge.named_tuple import NamedTuple

__all__ = ["read_as_integers"]


class _Read(NamedTuple):
    """How a packed tensor is read: the views in front of what it holds, and the tensors that are what it holds."""

    views: list[str]
    unpacked: list[str]


def read_as_integers(builder: Builder, outputs: Iterable[str]) -> None:
    """Put what they hold in the place of packed stored tensors, and drop what unpacked them."""
    views = {node.outputs[0]: node for node in builder.nodes if node.operator in ("unpack", "reshape")}
    if not any(node.operator == "unpack" for node in views.values()):
        return
    read_otherwise = {*outputs, *(tensor for node in builder.nodes for tensor in _read_as_bytes(node))}
    reads: dict[str, _Read] = {}
    for tensor, node in views.items():
        root = node.operands[0][1]
        above = []
        while root in views and views[root].operator == "reshape":
            above.append(root)
            root = views[root].operands[0][1]
        found = reads.setdefault(root, _Read([], []))
        found.views.extend(above)
        (found.unpacked if node.operator == "unpack" else found.views).append(tensor)
    names: dict[str, str] = {}
    for root, read in reads.items():
        held = builder.tensors[root]
        if held.role.is_stored and _is_one(builder, read) and read_otherwise.isdisjoint((root, *read.views)):
            builder.tensors[root] = _unpacked(held, builder.tensors[read.unpacked[0]])
            names.update(dict.fromkeys((*read.views, *read.unpacked), root))
    if names:
        _drop(builder, names)


def _read_as_bytes(node: Node) -> list[str]:
    """The tensors that a node reads as they are, in its bodies, too."""
    inside = [tensor for body in node.bodies for tensor in body.graph.tensors]
    data = node.inputs if node.operator not in ("unpack", "reshape") else node.inputs[1:]
    return [*data, *inside]


def _is_one(builder: Builder, read: _Read) -> bool:
    """Whether everything that reads the tensor takes the same integers, in the same shape."""
    types = {(one.shape, one.dtype.name) for one in map(builder.tensors.__getitem__, read.unpacked)}
    return len(types) == 1


def _unpacked(held: Tensor, integers: Tensor) -> Tensor:
    """The integers under the name of what holds them.  Rows that end with unused bits have a type that says so."""
    assert integers.shape is not None
    assert held.bytes is not None
    dtype, rows = integers.dtype, integers.shape[0]
    if dtype.bytes_of(integers.elements or 0) != held.bytes and rows and not held.bytes % rows:
        values, bits = (integers.elements or 0) // rows, held.bytes // rows * 8
        dtype = DType(f"{dtype.name} in rows of {values} ({bits} bits)", dtype.kind, bits, values)
    return replace(held, shape=integers.shape, dtype=dtype)


def _drop(builder: Builder, names: dict[str, str]) -> None:
    kept = []
    for node in builder.nodes:
        if node.outputs and node.outputs[0] in names:
            del builder.tensors[node.outputs[0]]
        elif any(tensor in names for tensor in node.inputs):
            kept.append(replace(node, operands=tuple((name, names.get(one, one)) for name, one in node.operands)))
        else:
            kept.append(node)
    builder.nodes[:] = kept

"""Models with one number changed in place, found through the ``tflite`` package: what a converter never writes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import flatbuffers
import tflite

from tests.tflite.build import Subgraph, Tensor, graph, model, op, tensor
from tests.tflite.writer import Writer as ModelWriter

__all__ = ["Damaged", "external", "plain", "renamed", "sharing"]


def plain() -> bytes:
    """A model of two layers with a weight, a bias and names for its inputs."""
    tensors = [
        tensor("x", (1, 4)),
        tensor("w", (3, 4), data=True),
        tensor("b", (3,), data=True),
        tensor("h", (1, 3)),
        tensor("y", (1, 3)),
    ]
    made = [op("FULLY_CONNECTED", "x w b", "h", {}), op("RELU", "h", "y")]
    return model(graph(tensors, made, "x", "y"), signatures={"serve": 0}, metadata={"note": b"text"})


class Damaged:
    """A model whose bytes are changed field by field."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        self.model = tflite.Model.GetRootAs(self.data, 0)
        self.graph = self.model.Subgraphs(0)

    def place(self, table: Any, field: int) -> int:
        """Where a field of a table stands in the file."""
        at = table._tab.Offset(4 + 2 * field)
        assert at, "the field is not written"
        return int(table._tab.Pos + at)

    def set(self, table: Any, field: int, kind: str, value: int) -> Damaged:
        """Change a number."""
        struct.pack_into(f"<{kind}", self.data, self.place(table, field), value)
        return self

    def element(self, table: Any, field: int, index: int, kind: str, value: int) -> Damaged:
        """Change a number of a vector; -1 is its length."""
        start = table._tab.Vector(table._tab.Offset(4 + 2 * field))
        at = start + index * struct.calcsize(f"<{kind}") if index >= 0 else start - 4
        struct.pack_into(f"<{kind}", self.data, at, value)
        return self

    def raw(self, position: int, kind: str, value: int) -> Damaged:
        """Change a number anywhere in the file."""
        struct.pack_into(f"<{kind}", self.data, position, value)
        return self

    def root(self) -> int:
        return int(flatbuffers.encode.Get(flatbuffers.packer.uoffset, self.data, 0))

    def __bytes__(self) -> bytes:
        return bytes(self.data)


def renamed(whole: Subgraph, name: Callable[[str], str]) -> bytes:
    """A model whose tensors have other names than those that the subgraph calls them by."""

    class Writer(ModelWriter):
        def tensor(self, given: Tensor, numbers: Any) -> int:
            return super().tensor(given._replace(name=name(given.name)), numbers)

    return Writer((whole,), {}, {}).finish()


def sharing(whole: Subgraph, count: int, part: str) -> bytes:
    """A model that names one ``subgraph``, or the first ``operator`` or ``tensor`` of it, ``count`` times over."""

    class Writer(ModelWriter):
        def offsets(self, offsets: Sequence[int]) -> int:
            return super().offsets([*offsets[:1]] * count if offsets and offsets[0] == self.shared else offsets)

        def note(self, offset: int, kind: str) -> int:
            self.shared = offset if kind == part and not self.shared else self.shared
            return offset

        def subgraph(self, given: Any) -> int:
            return self.note(super().subgraph(given), "subgraph")

        def operator(self, given: Any, numbers: Any) -> int:
            return self.note(super().operator(given, numbers), "operator")

        def tensor(self, given: Any, numbers: Any) -> int:
            return self.note(super().tensor(given, numbers), "tensor")

        shared = 0

    return Writer((whole,), {}, {}).finish()


def external(size: int, number: int = 7) -> bytes:
    """A model whose weight is buffer 7 of another file; the one of this number there has so many bytes."""

    weights: set[int] = set()

    class Writer(ModelWriter):
        def table(self, name: str, fields: Any) -> int:
            if name == "Model":
                return self.root(fields)
            if name == "Tensor" and fields["name"] in weights:
                return self.weight(fields)
            return super().table(name, fields)

        def text(self, text: str) -> int:
            offset = super().text(text)
            if text == "w":
                weights.add(offset)
            return offset

        def weight(self, fields: Any) -> int:
            self.builder.StartObject(11)
            self.builder.PrependUOffsetTRelativeSlot(0, fields["shape"], 0)
            self.builder.PrependUOffsetTRelativeSlot(3, fields["name"], 0)
            self.builder.PrependUint32Slot(10, 7, 0)
            return self.builder.EndObject()

        def root(self, fields: Any) -> int:
            self.builder.StartObject(5)
            self.builder.PrependUint32Slot(0, number, 0)
            self.builder.PrependUint64Slot(3, size, 0)
            one = self.offsets([self.builder.EndObject()])
            places = {"operator_codes": 1, "subgraphs": 2, "buffers": 4}
            self.builder.StartObject(10)
            self.builder.PrependUint32Slot(0, 3, 0)
            for field, place in places.items():
                self.builder.PrependUOffsetTRelativeSlot(place, fields[field], 0)
            self.builder.PrependUOffsetTRelativeSlot(9, one, 0)
            return self.builder.EndObject()

    tensors = [tensor("x", (1, 4)), tensor("w", (3, 4)), tensor("y", (1, 3))]
    return Writer((graph(tensors, [op("FULLY_CONNECTED", "x w -", "y", {})], "x", "y"),), {}, {}).finish()

"""Types as an ONNX file declares them, with their open dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadModel
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import MAX_DIMENSION, Shape, TensorType

__all__ = ["OPAQUE", "Declared", "declared_type"]

OPAQUE = DTYPES["opaque"]


class Declared(NamedTuple):
    """A type as the file states it: a dimension is a size, a symbol, or None; no dimensions at all where none are stated.

    ``is_tensor`` is false for sequences, maps and sparse tensors, which the graph carries without a shape; ``dtype`` is
    that of the values of a map, and opaque for the others.
    """

    dtype: DType
    dimensions: tuple[int | str | None, ...] | None
    is_tensor: bool = True

    def shape(self, symbols: Mapping[str, int]) -> Shape | None:
        """The shape, if every dimension is a size or a symbol with one."""
        if self.dimensions is None:
            return None
        sizes = tuple(symbols.get(size) if isinstance(size, str) else size for size in self.dimensions)
        return None if None in sizes else tuple(size for size in sizes if size is not None)

    def type(self, symbols: Mapping[str, int]) -> TensorType | None:
        """The type, where the shape is known."""
        shape = self.shape(symbols)
        return None if shape is None or not self.is_tensor else TensorType(shape, self.dtype)

    def contradicts(self, shape: Shape) -> bool:
        """Whether the rank, or a dimension that is stated as a size, differs from ``shape``."""
        if self.dimensions is None:
            return False
        return len(shape) != len(self.dimensions) or any(
            isinstance(stated, int) and stated != size for stated, size in zip(self.dimensions, shape, strict=True)
        )

    def text(self) -> str:
        """The dimensions for a person: ``N x 3 x ?``."""
        if self.dimensions is None:
            return "of unknown rank"
        return " x ".join("?" if size is None else str(size) for size in self.dimensions) or "a scalar"


def declared_type(proto: Any, where: str) -> Declared:
    """A TypeProto.  An optional tensor is declared as the tensor that it may hold."""
    kind = proto.WhichOneof("value")
    while kind == "optional_type":
        proto = proto.optional_type.elem_type
        kind = proto.WhichOneof("value")
    if kind == "map_type":
        return Declared(declared_type(proto.map_type.value_type, where).dtype, None, False)
    if kind != "tensor_type":
        return Declared(OPAQUE, None, False)
    tensor = proto.tensor_type
    dtype = dtype_of(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Declared(dtype, None)
    return Declared(dtype, tuple(_dimension(size, where) for size in tensor.shape.dim))


def _dimension(proto: Any, where: str) -> int | str | None:
    """A size, a symbol, or None: many exporters write an open dimension as -1."""
    size = proto.dim_value
    if size > 0:
        if size > MAX_DIMENSION:
            raise BadModel(f"a dimension of {size}", where=where, hint="the file is damaged")
        return int(size)
    if size < -1:
        raise BadModel(f"a dimension of {size}", where=where, hint="the file is damaged")
    if proto.dim_param:
        return str(proto.dim_param)
    return 0 if size == 0 and proto.HasField("dim_value") else None

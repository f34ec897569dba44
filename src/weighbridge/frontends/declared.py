"""Types as a file states them, with their open dimensions."""

from __future__ import annotations

from collections.abc import Mapping

from weighbridge.dtypes import DType
from weighbridge.graph import Shape, TensorType
from weighbridge.named_tuple import NamedTuple

__all__ = ["Declared"]


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

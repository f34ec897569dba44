"""Element types and their exact sizes.

A type knows how many bits a *block* of elements takes: one element for ordinary types, 32 for formats such as q8_0
that store a scale beside every 32 values.  Sizes are exact; a tensor's bytes are rounded up once, as files and allocators do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["DTYPES", "DType", "integer_of"]


@dataclass(frozen=True, slots=True)
class DType:
    """``block_bits`` bits for every ``block_length`` elements; ``block_bits`` is None where a size cannot be known (strings)."""

    name: str
    kind: str
    block_bits: int | None
    block_length: int = 1

    @property
    def bits(self) -> Fraction | None:
        """Bits an element, or None."""
        from fractions import Fraction

        return None if self.block_bits is None else Fraction(self.block_bits, self.block_length)

    @property
    def is_learnable(self) -> bool:
        """Whether a learned tensor can have this type as it is: floating point, complex, or a block format."""
        return self.kind in ("float", "complex", "block")

    def bytes_of(self, elements: int) -> int | None:
        """Bytes that ``elements`` values take: whole blocks, rounded up to whole bytes."""
        if self.block_bits is None:
            return None
        blocks = -(-elements // self.block_length)
        return -(-blocks * self.block_bits // 8)


def integer_of(bits: int) -> DType:
    """A signed integer of ``bits`` bits, for quantisation to widths that no file format names (3, 5, 6 ...)."""
    return DTYPES.get(f"int{bits}") or DType(f"int{bits}", "int", bits)


# Block formats: the sizes of the ggml block structures and of the OCP Microscaling specification v1.0 (32 values and a shared 8-bit scale).
DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        DType("float64", "float", 64),
        DType("float32", "float", 32),
        DType("float16", "float", 16),
        DType("bfloat16", "float", 16),
        DType("float8_e4m3fn", "float", 8),
        DType("float8_e4m3fnuz", "float", 8),
        DType("float8_e5m2", "float", 8),
        DType("float8_e5m2fnuz", "float", 8),
        DType("float8_e8m0", "float", 8),
        DType("float6_e2m3", "float", 6),
        DType("float6_e3m2", "float", 6),
        DType("float4_e2m1", "float", 4),
        DType("int64", "int", 64),
        DType("int32", "int", 32),
        DType("int16", "int", 16),
        DType("int8", "int", 8),
        DType("int4", "int", 4),
        DType("int2", "int", 2),
        DType("int1", "int", 1),
        DType("uint64", "uint", 64),
        DType("uint32", "uint", 32),
        DType("uint16", "uint", 16),
        DType("uint8", "uint", 8),
        DType("uint4", "uint", 4),
        DType("uint2", "uint", 2),
        DType("uint1", "uint", 1),
        DType("bool", "bool", 8),
        DType("complex64", "complex", 64),
        DType("complex128", "complex", 128),
        DType("string", "string", None),
        DType("opaque", "opaque", None),
        DType("q4_0", "block", 144, 32),
        DType("q4_1", "block", 160, 32),
        DType("q5_0", "block", 176, 32),
        DType("q5_1", "block", 192, 32),
        DType("q8_0", "block", 272, 32),
        DType("mxfp8", "block", 264, 32),
        DType("mxfp6", "block", 200, 32),
        DType("mxfp4", "block", 136, 32),
    )
}

"""How wide values are while a network is trained: under mixed precision at 16 bits what is floating point of 32.

Micikevicius et al., "Mixed Precision Training", ICLR 2018: weights, gradients and activations at 16 bits, and a 32-bit master copy
of every weight, which the optimiser changes.
"""

from __future__ import annotations

from weighbridge.dtypes import DTYPES, DType
from weighbridge.graph import Tensor

__all__ = ["bytes_in_training", "has_master", "type_in_training"]


def type_in_training(dtype: DType, *, mixed: bool) -> DType:
    """The type that values of ``dtype`` are computed in."""
    return DTYPES["float16"] if mixed and dtype.name == "float32" else dtype


def bytes_in_training(tensor: Tensor, *, mixed: bool) -> int | None:
    """Bytes of a tensor while the network is trained; None where they are not known."""
    return None if tensor.elements is None else type_in_training(tensor.dtype, mixed=mixed).bytes_of(tensor.elements)


def has_master(dtype: DType, *, mixed: bool) -> bool:
    """Whether a weight of ``dtype`` has a master copy: under mixed precision what is computed with in 16-bit floating point."""
    computed = type_in_training(dtype, mixed=mixed)
    return mixed and computed.kind == "float" and computed.bits == 16

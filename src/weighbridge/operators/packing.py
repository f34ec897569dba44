"""Integers packed into bytes, and sequences of a batch without their padding: what lies in the file or runs otherwise than it reads."""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import REQUIRED, Call, Kind, Op, nothing
from .rules import dtype_of, known, selects, sizes_of
from .shapes import asked_outputs

__all__ = ["PACKING_OPERATORS"]

_INT32: Final = DTYPES["int32"]


def _unpack(call: Call) -> tuple[TensorType, ...]:
    """Rows may end with bits that hold nothing, so x can be larger than what is unpacked."""
    found = TensorType(sizes_of(call, "shape"), dtype_of(call))
    held, needed = call.x.bytes, found.bytes
    if held is None or needed is None or held < needed:
        raise GraphError(f"{call.x.shape} of {call.x.dtype.name} do not hold {found.shape} of {found.dtype.name}")
    return (found,)


def _remove_padding(call: Call) -> tuple[TensorType | DType, ...]:
    """x: batch, positions, features; ``tokens`` are those that are no padding, of all sequences together."""
    if len(call.x.shape) != 3 or call.counts.shape != call.x.shape[:1]:
        raise GraphError(f"counts of shape {call.counts.shape} for sequences of shape {call.x.shape}")
    batch, positions, features = call.x.shape
    y: TensorType | DType = call.x.dtype
    if known(call, "tokens"):
        tokens = sizes_of(call, "tokens")
        if len(tokens) != 1 or tokens[0] > batch * positions:
            raise GraphError(f"{call['tokens']!r} tokens in {batch} sequences of {positions}")
        y = TensorType((*tokens, features), call.x.dtype)
    return asked_outputs(
        call,
        {
            "y": y,
            "offsets": TensorType((batch, positions), _INT32),
            "ends": TensorType((batch + 1,), _INT32),
            "longest": TensorType((1,), _INT32),
        },
    )


def _restore_padding(call: Call) -> tuple[TensorType, ...]:
    """x: tokens, features; offsets: batch, positions."""
    if len(call.x.shape) != 2 or len(call.offsets.shape) != 2 or call.x.shape[0] > call.offsets.elements:
        raise GraphError(f"{call.x.shape} does not fill sequences of shape {call.offsets.shape}")
    return (TensorType((*call.offsets.shape, call.x.shape[1]), call.x.dtype),)


PACKING_OPERATORS: Final = (
    Op(
        "unpack",
        Kind.MOVE,
        "x",
        _unpack,
        nothing,
        attributes={"shape": REQUIRED, "dtype": REQUIRED},
        summary="the small integers that bytes hold side by side",
    ),
    Op(
        "remove_padding",
        Kind.MOVE,
        "x counts:control",
        _remove_padding,
        nothing,
        traffic=selects("x"),
        attributes={"tokens": REQUIRED, "outputs": ("y",)},
        summary="the real positions of padded sequences on one axis, and where each came from",
    ),
    Op(
        "restore_padding",
        Kind.MOVE,
        "x offsets:control",
        _restore_padding,
        nothing,
        summary="padded sequences again, zeros in the padding",
    ),
)

"""Embedding lookup."""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import Call, Kind, Op, Traffic, nothing
from .rules import dtype_of

__all__ = ["EMBEDDING_OPERATORS"]


def _infer(call: Call) -> tuple[TensorType, ...]:
    if len(call.w.shape) < 1:
        raise GraphError("a table of embeddings has at least one dimension")
    dtype = dtype_of(call, call.w.dtype, "output_dtype")
    return (TensorType((*call.indices.shape, *call.w.shape[1:]), dtype),)


def _traffic(call: Call) -> Traffic:
    """The rows that are looked up, no more than the table has, and the indices."""
    rows = min(call.indices.elements, call.w.shape[0])
    read, indices = call.w.dtype.bytes_of(rows * prod(call.w.shape[1:])), call.indices.bytes
    return Traffic(None if read is None or indices is None else read + indices, call.outputs[0].bytes)


EMBEDDING_OPERATORS: Final = (
    Op(
        "embedding",
        Kind.MOVE,
        "w:weight indices:control",
        _infer,
        nothing,
        traffic=_traffic,
        attributes={"output_dtype": ""},
        summary="looks up rows of a table of weights; no MACs, and only the rows looked up are read",
    ),
)

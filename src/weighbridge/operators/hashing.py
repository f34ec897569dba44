"""Tables of keys and values, kept from one inference to the next.

Finding a key is no arithmetic on values, as a lookup by index is none; how a table is searched no file says.
"""

from __future__ import annotations

from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import Call, Kind, Op, nothing
from .rules import INT64
from .time_class import TimeClass

__all__ = ["HASHING_OPERATORS"]


def _find(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.keys.shape, call.default.dtype),)


def _import(call: Call) -> tuple[TensorType, ...]:
    if call.keys.elements != call.values.elements:
        raise GraphError(f"{call.keys.elements} keys for {call.values.elements} values")
    return ()


def _size(call: Call) -> tuple[TensorType, ...]:
    return (TensorType((1,), INT64),)


HASHING_OPERATORS: Final = (
    Op(
        "hash_table_find",
        Kind.INDEX,
        "keys:control default",
        _find,
        nothing,
        summary="the values of keys in a table, and another value for a key that is not in it",
        time=TimeClass.LOOKUP,
    ),
    Op(
        "hash_table_import",
        Kind.INDEX,
        "keys:control values",
        _import,
        nothing,
        summary="a table that takes keys and values; no result",
    ),
    Op("hash_table_size", Kind.INDEX, "", _size, nothing, summary="how many keys a table has"),
)

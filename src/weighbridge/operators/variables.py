"""Variables, which keep their values from one inference to the next.

A variable that is read is copied, so that what reads it is not changed by a later assignment.
"""

from __future__ import annotations

from typing import Final

from weighbridge.graph import TensorType

from .record import Call, Kind, Op, Traffic, nothing

__all__ = ["VARIABLE_OPERATORS"]


def _value(call: Call) -> tuple[TensorType, ...]:
    return (call.state,)


def _no_result(call: Call) -> tuple[TensorType, ...]:
    return ()


def _written(call: Call) -> Traffic:
    """The value is read, the variable is written."""
    return Traffic(call.x.bytes, call.state.bytes)


VARIABLE_OPERATORS: Final = (
    Op("read_variable", Kind.MOVE, "state", _value, nothing, summary="a copy of a variable"),
    Op(
        "assign_variable",
        Kind.MOVE,
        "state x",
        _no_result,
        nothing,
        traffic=_written,
        summary="a variable that takes another value; no result",
    ),
)

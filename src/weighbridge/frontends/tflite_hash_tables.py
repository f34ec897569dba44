"""Hash tables of TensorFlow Lite: their handles, which are no tensors of ours, and what fills them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from weighbridge.errors import BadModel
from weighbridge.frontends.tflite_calls import DAMAGED, scope_of
from weighbridge.frontends.tflite_model import Operator

if TYPE_CHECKING:
    from weighbridge.frontends.tflite_capture import Capture
    from weighbridge.frontends.tflite_frame import Frame

__all__ = ["HASH_TABLES"]


def _table(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``HASHTABLE``: a handle."""
    capture.handles.update(capture.outputs(frame, operator, name))


def _import(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``HASHTABLE_IMPORT``: the table takes keys and values, and nothing comes out."""
    if len(operator.inputs) != 3 or operator.outputs:
        raise BadModel("a table takes keys and values", where=name, hint=DAMAGED)
    _, keys, values = capture.inputs(frame, operator, name)
    operands = [("keys", keys), ("values", values)]
    if not all(tensor in frame.builder.tensors for _, tensor in operands):
        raise BadModel("a table takes keys and values", where=name, hint=DAMAGED)
    frame.builder.opaque("hash_table_import", operands, (), name=name, scope=scope_of(frame, name), origin=operator.op)


HASH_TABLES: Final[Mapping[str, Callable[[Capture, Frame, Operator, str], None]]] = {
    "HASHTABLE": _table,
    "HASHTABLE_IMPORT": _import,
}
"""What is no call of an operator of ours."""

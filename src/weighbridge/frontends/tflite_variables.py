"""Variables of TensorFlow Lite: the operators that name, read and assign them.

A handle is no tensor of ours: it is the variable that it stands for, wherever it is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from weighbridge.errors import BadModel
from weighbridge.frontends.fresh_names import MAX_NAME
from weighbridge.frontends.tflite_calls import DAMAGED, in_words, scope_of
from weighbridge.frontends.tflite_model import Operator
from weighbridge.graph import Shape

if TYPE_CHECKING:
    from weighbridge.dtypes import DType
    from weighbridge.frontends.tflite_capture import Capture
    from weighbridge.frontends.tflite_frame import Frame

__all__ = ["VARIABLES"]


def _handle(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``VAR_HANDLE``: a variable, known by its two names; its type shows where it is read or assigned."""
    if len(operator.outputs) != 1:
        raise BadModel(f"a handle is one result, and there are {len(operator.outputs)}", where=name, hint=DAMAGED)
    options = operator.options
    key = str(options.get("container", "")), str(options.get("shared_name", ""))
    variable = _variable(capture, key, key[1] or name)
    capture.handles.add(variable)
    capture.bind(frame, operator.outputs[0], variable, name)


def _variable(capture: Capture, key: tuple[str, ...], wanted: str) -> str:
    """The id of the variable that is known by a key."""
    known = capture.variables.get(key)
    if known is None:
        known = capture.variables[key] = capture.names.fresh(wanted[:MAX_NAME])
    return known


def _read(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``READ_VARIABLE``: a copy of a variable, of the type that the file states where nothing was assigned before."""
    if len(operator.inputs) != 1 or len(operator.outputs) != 1:
        raise BadModel("a variable is read as one result", where=name, hint=DAMAGED)
    (stated,) = capture.stated(frame, operator)
    is_known = capture.trusts_shapes and -1 not in stated.shape
    state = _state(capture, frame, operator, name, stated.shape if is_known else None, stated.dtype)
    made = frame.builder.add(
        "read_variable",
        [("state", state)],
        name=name,
        outputs=capture.outputs(frame, operator, name),
        scope=scope_of(frame, name),
        origin=operator.op,
    )
    capture.check(frame, operator, made)


def _assign(capture: Capture, frame: Frame, operator: Operator, name: str) -> None:
    """``ASSIGN_VARIABLE``: a variable takes a value, and from then on has its type."""
    value = capture.find(frame, operator.inputs[1], name) if len(operator.inputs) == 2 else ""
    if not value or value in capture.handles:
        raise BadModel("a variable is assigned one value", where=name, hint=DAMAGED)
    tensor = frame.builder.tensors[value]
    state = _state(capture, frame, operator, name, tensor.shape, tensor.dtype)
    known = frame.builder.tensors[state]
    if None not in (tensor.shape, known.shape) and tensor.shape != known.shape:
        shapes = f"{in_words(known.shape or ())} and is assigned {in_words(tensor.shape or ())}"
        capture.contradictions.append(f"the variable {state} is {shapes}")
    # Not through its rule, which would make up a result where a shape is unknown.
    operands = [("state", state), ("x", value)]
    frame.builder.opaque("assign_variable", operands, (), name=name, scope=scope_of(frame, name), origin=operator.op)


def _state(capture: Capture, frame: Frame, operator: Operator, name: str, shape: Shape | None, dtype: DType) -> str:
    """The variable that an operator is about, which has this type unless it is known to have another."""
    handle = capture.find(frame, operator.inputs[0], name)
    if not handle:
        raise BadModel("it names no variable", where=name, hint=DAMAGED)
    if handle not in capture.handles:
        handle = _variable(capture, (handle,), f"{handle}/value")  # a handle that comes from outside the file
    return capture.state(frame, handle, shape, dtype)


VARIABLES: Final[Mapping[str, Callable[[Capture, Frame, Operator, str], None]]] = {
    "VAR_HANDLE": _handle,
    "READ_VARIABLE": _read,
    "ASSIGN_VARIABLE": _assign,
}

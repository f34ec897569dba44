"""What a call of a TensorFlow Lite operator is called, what it applies to its result, and what the file states of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.dtypes import DType
from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign, Rule, Step, translate
from weighbridge.frontends.fresh_names import MAX_NAME
from weighbridge.frontends.tflite_model import Operator
from weighbridge.frontends.tflite_table import ACTIVATIONS, OWN_ACTIVATION
from weighbridge.graph import Attribute, Shape, TensorType

if TYPE_CHECKING:
    from weighbridge.frontends.tflite_capture import Frame

__all__ = ["activated", "called", "every_operand", "in_words", "origin_of", "scope_of", "stated_types"]

_DAMAGED: Final = "the file is damaged: convert the model again"


def stated_types(call: Foreign, *, trusts: bool) -> list[TensorType | DType]:
    """The stated types of the results; their element types alone where shapes cannot be trusted, or have open sizes (-1)."""
    return [one if trusts and -1 not in one.shape else one.dtype for one in call.stated]


def activated(call: Foreign, rule: Rule) -> tuple[Sequence[Step], str]:
    """The steps of a call, the last of which is the function that it applies to its first result; and the id of what that
    is applied to, "" without one.
    """
    number = 0 if call.op in OWN_ACTIVATION else call.get("fused_activation_function", 0)
    if not number or not call.outputs:
        return translate(call, rule), ""
    if number not in ACTIVATIONS:
        raise BadModel(f"the activation function {number} is not known", where=call.name, hint=_DAMAGED)
    function, attributes = ACTIVATIONS[number]
    results, before = call.outputs, call.inner("before")
    call.outputs = (before, *results[1:])
    steps = translate(call, rule)
    call.outputs = results
    given: dict[str, Attribute] = dict(attributes)
    return [*steps, Step(function, [("x", before)], given, results[:1])], before


def origin_of(operator: Operator) -> str:
    """What the file calls the operator."""
    return (f"CUSTOM.{operator.custom}" if operator.op == "CUSTOM" else operator.op)[:MAX_NAME]


def called(operator: Operator) -> str:
    return operator.custom or operator.op


def scope_of(frame: Frame, name: str) -> str:
    """The module path in a name: TensorFlow's names have it in front, with slashes."""
    inner = name[len(frame.path) :].rpartition("/")[0].replace(".", "_").replace("/", ".")
    return ".".join(part for part in (frame.scope, inner) if part)


def every_operand(call: Foreign) -> list[tuple[str, str]]:
    return [("inputs", tensor) for tensor in call.inputs if tensor]


def in_words(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "a scalar"

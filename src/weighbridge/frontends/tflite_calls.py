"""What a call of a TensorFlow Lite operator is called, what it applies to its result, and what the file states of it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any, Final

from weighbridge.dtypes import DType
from weighbridge.errors import BadModel, GraphError
from weighbridge.frontends.foreign import Foreign, Rule, Step, translate
from weighbridge.frontends.fresh_names import MAX_NAME
from weighbridge.frontends.tflite_model import Operator, TfliteTensor
from weighbridge.frontends.tflite_table import ACTIVATIONS, OWN_ACTIVATION
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.operators.rules import reads_nothing

if TYPE_CHECKING:
    from weighbridge.builder import Builder
    from weighbridge.frontends.tflite_capture import Capture
    from weighbridge.frontends.tflite_frame import Frame

__all__ = [
    "DAMAGED",
    "Asker",
    "activated",
    "agrees",
    "called",
    "every_operand",
    "handed_over",
    "in_words",
    "is_static",
    "opaque_types",
    "origin_of",
    "scope_of",
    "stated_type",
    "stated_types",
]

DAMAGED: Final = "the file is damaged: convert the model again"
"""The hint of a file that no converter writes."""


def stated_type(tensor: TfliteTensor) -> TensorType:
    """The type that the file states of a tensor, with -1 for sizes that it leaves open.

    Where the signature of the shape has -1, the size in the shape only fills the place; no shape at all is one open size.
    """
    shape = (-1,) if tensor.shape is None else tensor.shape
    if tensor.signature is not None and len(tensor.signature) == len(shape):
        shape = tuple(
            -1 if may_change == -1 else size for size, may_change in zip(shape, tensor.signature, strict=True)
        )
    return TensorType(shape, tensor.dtype)


def agrees(tensor: TfliteTensor, ours: Shape) -> bool:
    """Whether a shape is what the file says, but for what that leaves open.

    Without axes and ``has_rank`` it may say nothing: old converters wrote no shapes of results.
    """
    stated = stated_type(tensor).shape
    return not (tensor.shape or tensor.has_rank) or (
        len(stated) == len(ours) and all(a in (-1, b) for a, b in zip(stated, ours, strict=True))
    )


def opaque_types(capture: Capture, frame: Frame, operator: Operator) -> list[TensorType | DType]:
    """The types of results that no rule knows: as stated, or their element types alone.

    A file that lets the number of its inputs change leaves the first size of every tensor open.  Where that is all, and one of
    the operands has it open, too, and is weighed at what is stored, so are the results.
    """
    types, changing = list[TensorType | DType](), _changing_sizes(frame, operator)
    for number in operator.outputs:
        tensor = frame.graph.tensors[number]
        kind, shape = stated_type(tensor), tensor.shape or ()
        is_batch = bool(shape) and -1 not in (*kind.shape[1:], *shape) and shape[0] in changing
        known = TensorType(shape, kind.dtype) if is_batch and capture.trusts_shapes else _trusted(capture, tensor)
        types.append(known or kind.dtype)
    return types


def _changing_sizes(frame: Frame, operator: Operator) -> frozenset[int]:
    """The first sizes of the operands that the file lets change there, as they are here."""
    found = set[int]()
    for number in dict.fromkeys(operator.inputs):
        if number >= 0 and stated_type(frame.graph.tensors[number]).shape[:1] == (-1,):
            kind = frame.builder.type_of(frame.ids.get(number, ""))
            found.update(() if kind is None else kind.shape[:1])
    return frozenset(found)


def is_static(
    builder: Builder, operator: str, operands: Sequence[tuple[str, str]], made: Sequence[str], static: Set[str]
) -> bool:
    """Whether results depend on no input: on static operands alone, or on nothing but shapes that are known."""
    op, names = builder.operators[operator], [tensor for _, tensor in operands]
    if op.random:
        return False
    is_shape = op.traffic is reads_nothing and all(builder.type_of(one) is not None for one in (*names, *made))
    return is_shape or all(one in static for one in names)


def stated_types(capture: Capture, frame: Frame, operator: Operator) -> list[TensorType | DType]:
    """The stated types of results; their element types alone where shapes cannot be trusted, have open sizes, or are perhaps none."""
    tensors = [frame.graph.tensors[number] for number in operator.outputs]
    return [_trusted(capture, tensor) or tensor.dtype for tensor in tensors]


def _trusted(capture: Capture, tensor: TfliteTensor) -> TensorType | None:
    kind = stated_type(tensor)
    is_said = capture.trusts_shapes and -1 not in kind.shape and (kind.shape != () or tensor.has_rank)
    return kind if is_said else None


def activated(call: Foreign, rule: Rule) -> tuple[Sequence[Step], str]:
    """The steps of a call, the last of which is the function that it applies to its first result; and the id of what that
    is applied to, "" without one.  Raises ``GraphError`` for a call without results, which no rule expects.
    """
    if not call.outputs:
        raise GraphError(f"{call.op} has no results", where=call.name)
    number = 0 if call.op in OWN_ACTIVATION else call.get("fused_activation_function", 0)
    if not number:
        return translate(call, rule), ""
    if number not in ACTIVATIONS:
        raise BadModel(f"the activation function {number} is not known", where=call.name, hint=DAMAGED)
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


def handed_over(frame: Frame, operator: Operator) -> list[int]:
    """The tensors that a custom operator reads and nothing makes: working memory that the runtime hands over as it is.

    Vela writes its operators for an Ethos-U so.
    """
    if operator.op != "CUSTOM":
        return []
    unmade = [
        number for number in operator.inputs if number >= 0 and number not in frame.ids and number not in frame.made
    ]
    tensors = frame.graph.tensors
    return [
        number for number in dict.fromkeys(unmade) if not (tensors[number].is_stored or tensors[number].is_variable)
    ]


def called(operator: Operator) -> str:
    return operator.custom or operator.op


def scope_of(frame: Frame, name: str) -> str:
    """The module path in a name: TensorFlow's names have it in front, with slashes."""
    inner = name[len(frame.path) :].rpartition("/")[0].replace(".", "_").replace("/", ".")
    return ".".join(part for part in (frame.scope, inner) if part)


def every_operand(call: Foreign) -> list[tuple[str, str]]:
    return [("inputs", tensor) for tensor in call.inputs if tensor]


def in_words(shape: Shape) -> str:
    """The sizes, ``?`` for one that is open (-1)."""
    return "x".join("?" if size == -1 else str(size) for size in shape) or "a scalar"


class Asker:
    """Answers a rule's questions about the tensors of a frame."""

    __slots__ = ("capture", "frame")

    def __init__(self, capture: Capture, frame: Frame) -> None:
        self.capture = capture
        self.frame = frame

    def type_of(self, tensor: str) -> TensorType | None:
        return self.frame.builder.type_of(tensor)

    def dtype_name(self, tensor: str) -> str:
        return self.frame.builder.tensors[tensor].dtype.name

    def values_of(self, tensor: str) -> tuple[Any, ...] | None:
        return self.capture.value_of(tensor)

    def is_static(self, tensor: str) -> bool:
        return tensor in self.capture.static

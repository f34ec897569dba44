"""SequenceMap of ONNX: a body that runs once for every tensor of a sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_control import Shaped, build_body, finish, formals_of, graph_of, shaped
from weighbridge.frontends.onnx_scope import Record, Scope
from weighbridge.frontends.onnx_types import declared_type
from weighbridge.graph import SCAN

if TYPE_CHECKING:
    from weighbridge.frontends.onnx_capture import Capture

__all__ = ["SPECIAL"]


def _construct(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """A sequence of known length: what is in it is remembered."""
    capture.translate(scope, call, record)
    if call.has_output(0):
        capture.sequences[call.outputs[0]] = tuple([shaped(scope, tensor) for tensor in call.inputs])


def _map(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """The body takes an element of every sequence, and every tensor whole; each of its results is a sequence.

    An element has the shape that all elements have where these are known, else the one that the body states.
    """
    inputs = formals_of(graph_of(call, "body"))
    if not call.inputs or len(inputs) != len(call.inputs):
        raise BadModel(f"its body takes {len(inputs)} tensors and is given {len(call.inputs)}", where=call.name)
    types, operands, trips = [], [], None
    for index, (formal, tensor) in enumerate(zip(inputs, call.inputs, strict=True)):
        whole, elements = shaped(scope, tensor), capture.sequences.get(tensor)
        is_sequence = index == 0 or elements is not None or whole.shape is None
        operands.append(("scanned" if is_sequence else "carried", tensor))
        types.append(_element(capture, formal, elements) if is_sequence else whole)
        trips = len(elements) if index == 0 and elements is not None else trips
    capture.reserve_outputs(scope, call, record)
    built = build_body(capture, scope, call, "body", types)
    results = [Shaped(None, built.tensor(index).dtype) for index in range(len(built.outputs))]
    finish(capture, scope, call, record, SCAN, operands, [built], results, trips)


def _element(capture: Capture, formal: Any, elements: tuple[Shaped, ...] | None) -> Shaped:
    """The type of one tensor of a sequence."""
    known = set(elements or ())
    if len(known) == 1:
        return known.pop()
    stated = declared_type(formal.type, formal.name)
    return Shaped(stated.shape(capture.symbols) if capture.trusts_shapes and not known else None, stated.dtype)


SPECIAL: Final = {"SequenceConstruct": _construct, "SequenceMap": _map}
"""By the name of the operator."""

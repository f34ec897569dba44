"""Sequences and optional values, text, and what else computes no numbers.

A sequence has an element type and no shape: its length and the shapes in it are the program's business.  A front end that
knows what comes out of one declares it.  Carrying values in and out of a sequence computes nothing; text is no arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType

from .record import Call, Kind, Op, nothing
from .rules import INT64, dtype_of
from .shapes import broadcast

__all__ = ["SEQUENCE_OPERATORS"]

_BOOL, _STRING = DTYPES["bool"], DTYPES["string"]


def _elements_of(name: str) -> Callable[[Call], tuple[DType, ...]]:
    """Something of the element type of an operand, whose shape the program decides."""

    def infer(call: Call) -> tuple[DType, ...]:
        return (call.operands[name][0].dtype,)

    return infer


def _constructed(call: Call) -> tuple[DType, ...]:
    xs = call.all("xs")
    if not xs:
        raise GraphError("at least one operand is needed")
    return (xs[0].dtype,)


def _empty(call: Call) -> tuple[DType, ...]:
    return (dtype_of(call),)


def _length(call: Call) -> tuple[TensorType, ...]:
    return (TensorType((), INT64),)


def _present(call: Call) -> tuple[TensorType, ...]:
    return (TensorType((), _BOOL),)


def _optional(call: Call) -> tuple[DType, ...]:
    return (call.x.dtype if call.has("x") else dtype_of(call),)


def _joined_text(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(broadcast(call.a.shape, call.b.shape), _STRING),)


def _split_text(call: Call) -> tuple[TensorType | DType, ...]:
    """The pieces, of which nobody knows how many there are, and how many each text has."""
    return _STRING, TensorType(call.x.shape, INT64)


def _matched_text(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, _BOOL),)


_FLOAT: Final[dict[str, Attribute]] = {"dtype": "float32"}


def _carried(name: str, operands: str, infer: Callable[[Call], tuple[TensorType | DType, ...]], summary: str) -> Op:
    return Op(name, Kind.SEQUENCE, operands, infer, nothing, summary=summary)


SEQUENCE_OPERATORS: Final = (
    _carried("sequence_construct", "*xs", _constructed, "a sequence of tensors"),
    Op("sequence_empty", Kind.SEQUENCE, "", _empty, nothing, attributes=_FLOAT, summary="a sequence of nothing"),
    _carried("sequence_at", "sequence position:control", _elements_of("sequence"), "one tensor of a sequence"),
    _carried("sequence_insert", "sequence x position:control?", _elements_of("sequence"), "a sequence with one more"),
    _carried("sequence_erase", "sequence position:control?", _elements_of("sequence"), "a sequence with one less"),
    _carried("sequence_length", "sequence", _length, "how many tensors a sequence has"),
    _carried("split_to_sequence", "x sizes:control?", _elements_of("x"), "parts of a tensor, as a sequence"),
    _carried("concat_from_sequence", "sequence", _elements_of("sequence"), "a sequence joined to one tensor"),
    Op("optional", Kind.SEQUENCE, "x?", _optional, nothing, attributes=_FLOAT, summary="something, or nothing"),
    _carried("optional_get_element", "x", _elements_of("x"), "what an optional value holds"),
    _carried("optional_has_element", "x?", _present, "whether an optional value holds something"),
    _carried("string_normalizer", "x", _elements_of("x"), "text in one case, without stop words"),
    _carried("string_concat", "a b", _joined_text, "texts joined"),
    _carried("string_split", "x", _split_text, "texts in pieces, and how many"),
    _carried("regex_full_match", "x", _matched_text, "whether a text matches a pattern"),
)

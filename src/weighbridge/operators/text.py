"""Text: changed, compared, taken apart and put together.  Text is no arithmetic, so all of it computes nothing.

How long texts are, into how many pieces they fall and how many tokens they have only the values say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType

from .record import REQUIRED, Call, Kind, Op, nothing
from .rules import INT64, known
from .shapes import axis_of, broadcast

__all__ = ["TEXT_OPERATORS"]

_BOOL, _STRING = DTYPES["bool"], DTYPES["string"]


def _each(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, _STRING),)


def _number(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, INT64),)


def _compared(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(broadcast(call.a.shape, call.b.shape), _BOOL),)


def _of_vectors(call: Call) -> tuple[TensorType | DType, ...]:
    """``size`` numbers of the last axis stand for a text; a single one need not lie on an axis of its own."""
    if not known(call, "size"):
        return (_STRING,)
    size, shape = call.integer("size"), call.x.shape
    if size == 1 and len(shape) < 2:
        return (TensorType(shape, _STRING),)
    if shape[-1:] != (size,):
        raise GraphError(f"{size} numbers stand for a text, and the last axis of {shape} has others")
    return (TensorType(shape[:-1], _STRING),)


def _joined(call: Call) -> tuple[TensorType | DType, ...]:
    """All along ``axis`` become one text; of a row of texts one is left, in a row."""
    if not known(call, "axis"):
        return (_STRING,)
    shape = call.x.shape
    axis = axis_of(call.integer("axis"), len(shape)) if shape else 0
    return (TensorType((shape[:axis] + shape[axis + 1 :]) or (1,), _STRING),)


def _pieces(call: Call) -> tuple[TensorType | DType, ...]:
    """The pieces, where each begins and ends, and with which of them each text begins."""
    return _STRING, INT64, INT64, TensorType((call.x.elements + 1,), INT64)


def _split(call: Call) -> tuple[TensorType | DType, ...]:
    """The text and place of every piece, the pieces, and how many rows and columns hold them all."""
    if len(call.x.shape) != 1:
        raise GraphError(f"texts that are split lie in a row, not in a tensor of shape {call.x.shape}")
    return INT64, _STRING, TensorType((2,), INT64)


def _runs(call: Call) -> tuple[DType, ...]:
    return (_STRING,)


def _tokens(call: Call) -> tuple[DType, ...]:
    names = call["dtypes"] if isinstance(call["dtypes"], tuple) else (call["dtypes"],)
    if not names or any(name not in DTYPES for name in names):
        raise GraphError(f"dtypes {names!r} are no element types")
    return tuple(DTYPES[str(name)] for name in names)


def _text(
    name: str,
    operands: str,
    infer: Callable[[Call], tuple[TensorType | DType, ...]],
    summary: str,
    attributes: dict[str, Attribute] | None = None,
) -> Op:
    return Op(name, Kind.SEQUENCE, operands, infer, nothing, attributes=attributes or {}, summary=summary)


TEXT_OPERATORS: Final = (
    _text("text_change", "x *others:control", _each, "another text for each one, by a pattern, a table or its case"),
    _text("text_number", "x *others:control", _number, "a whole number for each text: its length, its hash"),
    _text("text_equal", "a b", _compared, "whether two texts are the same"),
    _text("text_join", "x *others:control", _joined, "texts along an axis in one", {"axis": REQUIRED}),
    _text("text_pieces", "x *others:control", _pieces, "texts in pieces by a pattern, and where each piece lies"),
    _text("text_split", "x *others:control", _split, "texts in pieces by a separator, as a sparse matrix"),
    _text("text_runs", "x", _runs, "runs of the words of a text, words between them left out"),
    _text(
        "vector_text",
        "x *others:control",
        _of_vectors,
        "the text that a table has for some numbers",
        {"size": REQUIRED},
    ),
    _text(
        "tokens",
        "*xs *others:control",
        _tokens,
        "texts as numbers of a vocabulary, or such numbers as texts",
        {"dtypes": REQUIRED},
    ),
)

"""Features as learners that are no neural networks take them: scaled, filled in, encoded, put together.

Offsets, scales and the values put in place of missing ones are statistics of the data, and nobody's parameters.  A table of
categories is searched by halving: a number takes as many compares as the table's length has bits, and a text none, since text is
no arithmetic.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType

from .halo import no_halo
from .record import REQUIRED, Call, Keeps, Kind, Op, Work, nothing
from .rules import each, in_its_place, same, sizes_of
from .time_class import TimeClass

__all__ = ["FEATURE_OPERATORS"]

_FLOAT = DTYPES["float32"]


def _fits_features(call: Call, *names: str) -> None:
    """Raises ``GraphError`` unless these operands have one value, or one for each feature: the last axis of x."""
    for name in names:
        size = call.operands[name][0].elements
        if size != 1 and call.x.shape[-1:] != (size,):
            raise GraphError(f"{name} has {size} values for features of shape {call.x.shape}")


def _standardise(call: Call) -> tuple[TensorType, ...]:
    _fits_features(call, "offset", "scale")
    return (TensorType(call.x.shape, _FLOAT),)


def _impute(call: Call) -> tuple[TensorType, ...]:
    _fits_features(call, "values")
    return (call.x,)


def _table(call: Call) -> TensorType:
    """The table of categories, which is a list."""
    if len(call.keys.shape) != 1:
        raise GraphError(f"a table of categories has 1 dimension, not {len(call.keys.shape)}")
    return call.keys


def _lookup(call: Call) -> tuple[TensorType, ...]:
    if _table(call).shape != call.values.shape:
        raise GraphError(f"{call.keys.elements} keys of {call.values.elements} values")
    return (TensorType(call.x.shape, call.values.dtype),)


def _one_hot(call: Call) -> tuple[TensorType, ...]:
    return (TensorType((*call.x.shape, _table(call).elements), _FLOAT),)


def _search_work(call: Call) -> Work:
    """As many compares an element as the number of categories has bits; none where they are text."""
    if call.x.dtype.kind == "string":
        return Work()
    return Work(compare=call.x.elements * call.keys.elements.bit_length())


def _feature_vector(call: Call) -> tuple[TensorType, ...]:
    """``sizes`` has how many features of each operand are taken, cut or filled up with 0; a vector is one row."""
    xs, sizes = call.all("xs"), sizes_of(call, "sizes")
    if not xs or len(xs) != len(sizes):
        raise GraphError(f"{len(sizes)} numbers of features for {len(xs)} operands")
    rows = {x.shape[0] if len(x.shape) > 1 else 1 for x in xs}
    if len(rows) != 1:
        raise GraphError(f"the operands have {' and '.join(map(str, sorted(rows)))} rows")
    return (TensorType((rows.pop(), sum(sizes)), _FLOAT),)


def _value_dtype(call: Call) -> tuple[DType, ...]:
    """A map carries the element type of its values."""
    return (call.x.dtype,)


def _cast_values(call: Call) -> tuple[DType, ...]:
    name = call.text("dtype")
    if name not in DTYPES:
        raise GraphError(f"dtype {name!r} is no element type")
    return (DTYPES[name],)


_KEYS: Final = "x keys:control"
_DTYPE: Final[dict[str, Attribute]] = {"dtype": "float32"}

FEATURE_OPERATORS: Final = (
    Op(
        "standardise",
        Kind.NORMALISATION,
        "x offset:statistic scale:statistic",
        _standardise,
        each(add=1, mul=1),
        summary="(x - offset) scale, by stored statistics of every feature",
    ),
    Op(
        "impute",
        Kind.ELEMENTWISE,
        "x values:statistic",
        _impute,
        each(compare=1),
        summary="x with stored values where it is missing",
        may_overwrite=in_its_place,
        halo=no_halo,
    ),
    Op(
        "binarise",
        Kind.UNARY,
        "x",
        same,
        each(compare=1),
        summary="one of two values, by whether x is above a threshold",
        may_overwrite=in_its_place,
        keeps=Keeps.NOTHING,
    ),
    Op(
        "lookup",
        Kind.INDEX,
        f"{_KEYS} values:control",
        _lookup,
        _search_work,
        summary="the value that a table has for a category, or another one where it has none",
        time=TimeClass.LOOKUP,
    ),
    Op(
        "one_hot_categories",
        Kind.INDEX,
        _KEYS,
        _one_hot,
        _search_work,
        summary="1 at the position of a category in a table, else 0, along a new last axis",
    ),
    Op(
        "feature_vector",
        Kind.MOVE,
        "*xs",
        _feature_vector,
        nothing,
        attributes={"sizes": REQUIRED},
        summary="features of several tensors behind one another, as real numbers",
    ),
    Op(
        "dictionary_vector",
        Kind.SEQUENCE,
        "x keys:control",
        _value_dtype,
        nothing,
        summary="the values that a map has for the keys of a vocabulary, 0 for those it lacks",
    ),
    Op(
        "map_values",
        Kind.SEQUENCE,
        "x",
        _cast_values,
        nothing,
        attributes=_DTYPE,
        summary="the values of a map as a tensor",
    ),
)

"""The types of the tensors in an exported program, once every symbol in their sizes has a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.frontends.aten_archive_formulas import FormulaError, Number, UnknownSymbolError, formula
from weighbridge.frontends.aten_archive_json import Place
from weighbridge.graph import MAX_DIMENSION, MAX_RANK, Shape, TensorType

__all__ = ["Symbols", "dtype_at", "text_of_size"]

_DTYPES: Final[Mapping[int, str]] = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    33: "float8_e8m0",
    34: "uint32",
    35: "uint64",
}
"""The numbers of torch/_export/serde/schema.py's ``ScalarType``."""


def dtype_at(place: Place) -> DType:
    """The element type that a number of the file stands for."""
    found = DTYPES.get(_DTYPES.get(place.integer(), ""))
    if found is None:
        raise place.fault(f"{place.value} is no element type that is known", "it may be newer than this reader")
    return found


def text_of_size(place: Place) -> int | str:
    """A size: a number, or the text of its formula."""
    kind, value = place.union()
    if kind == "as_int":
        return _size(value, value.integer())
    if kind != "as_expr":
        raise place.fault(f"a size cannot be {kind!r}")
    try:
        found = formula(value["expr_str"].text())
        return found.text() if found.symbols else _size(value, found.value({}))
    except FormulaError as error:
        raise value.fault(f"a size that is no formula: {error}") from None


def _size(place: Place, size: Number) -> int:
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MAX_DIMENSION:
        raise place.fault(f"a size of {size}")
    return size


class Symbols:
    """Sizes of all symbols, and what follows from them.  A formula is worked out once, however many tensors have it."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self.known = known
        self._values: dict[str, Number] = {}

    def value(self, text: str) -> Number:
        """The value of a formula.  Raises ``FormulaError``."""
        if text not in self._values:
            self._values[text] = formula(text).value(self.known)
        return self._values[text]

    def type(self, meta: Place) -> TensorType:
        """The type that a tensor's description states.  Raises ``UnknownSymbolError`` for a symbol without a size."""
        sizes = meta["sizes"]
        shape: Shape = tuple([self._dimension(size) for size in sizes.items()])
        if len(shape) > MAX_RANK:
            raise sizes.fault(f"{len(shape)} dimensions")
        return TensorType(shape, dtype_at(meta["dtype"]))

    def _dimension(self, place: Place) -> int:
        kind, value = place.union()
        if kind == "as_int":
            return _size(value, value.integer())
        if kind != "as_expr":
            raise place.fault(f"a size cannot be {kind!r}")
        text = value["expr_str"]
        try:
            return _size(value, self.value(text.text()))
        except UnknownSymbolError:
            raise
        except FormulaError as error:
            raise text.fault(f"a size that cannot be computed: {error}") from None

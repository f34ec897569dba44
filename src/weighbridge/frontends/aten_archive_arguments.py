"""The arguments and results of a node in an exported program, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from weighbridge.errors import NeedsShape
from weighbridge.frontends.aten_archive_formulas import FormulaError, Number
from weighbridge.frontends.aten_archive_json import Place
from weighbridge.frontends.aten_archive_values import Symbols, dtype_at
from weighbridge.frontends.aten_call import Argument, Ref
from weighbridge.named_tuple import NamedTuple

__all__ = ["MAX_NESTED", "NOT_READ", "NUMBERS", "Frame", "argument", "given_tensors", "open_size", "result_tensors"]

MAX_NESTED: Final = 16
"""Graphs inside nodes, and arguments inside arguments."""
NOT_READ: Final = frozenset({"as_memory_format", "as_layout", "as_device", "as_custom_obj", "as_graph"})
"""Kinds of arguments that say nothing about work or sizes."""


class Frame(NamedTuple):
    """A graph while its nodes are read: ids of its tensors by their names in the file, and what the file says of them."""

    symbols: Symbols
    ids: dict[str, str]
    metas: Place
    sizes: tuple[Place, ...]
    depth: int
    scope: str = ""

    @classmethod
    def of(cls, symbols: Symbols, graph: Place, depth: int = 0, scope: str = "") -> Frame:
        """The frame of a graph, nothing in it yet."""
        kinds = ("sym_int_values", "sym_bool_values", "sym_float_values")
        found = [graph.get(kind) for kind in kinds]
        sizes = tuple(place for place in found if place is not None)
        return cls(symbols, {}, graph["tensor_values"], sizes, depth, scope)

    def tensor(self, name: Place) -> str:
        """The id of a tensor that has been made.  Raises ``BadModel`` where there is none."""
        found = self.ids.get(name.text())
        if found is None:
            raise name.fault(f"nothing makes the tensor {name.text()!r} before it is read here")
        return found


def open_size(name: str, where: str) -> NeedsShape:
    """The question for a size that neither the file nor the user gives."""
    depends = "depends on the data" if name.startswith("u") else "is open"
    return NeedsShape(f"the size {name} {where} {depends}", hint=f"give it: --dim {name}=128")


def argument(frame: Frame, kind: str, value: Place, depth: int = 0) -> Argument:
    """An argument of the kind that the file says it is.  What no rule reads is None."""
    if depth > MAX_NESTED:
        raise value.fault("arguments are nested too deeply")
    if kind in NOT_READ or kind == "as_complex":
        return None
    if kind == "as_string_to_argument":
        members = [place.union() for _, place in value.places()]
        return tuple([argument(frame, inner, place, depth + 1) for inner, place in members])
    if kind in _KINDS:
        return _KINDS[kind](frame, value)
    element = _LISTS.get(kind)
    if element is None:
        raise value.fault(f"an argument of the kind {kind!r}", "the format is newer than this reader")
    return tuple([element(frame, one) for one in value.items()])


def given_tensors(value: Place) -> Iterator[Place]:
    """The names of the tensors among what a graph is given."""
    kind, inner = value.union()
    if kind == "as_tensor":
        yield inner["name"]
    elif kind == "as_tensors":
        for one in inner.items():
            yield one["name"]


def result_tensors(value: Place) -> Iterator[Place | None]:
    """The names of the tensors in a result, None for one that was not made; numbers are left out."""
    kind, inner = value.union()
    if kind == "as_none":
        yield None
    elif kind == "as_optional_tensor":
        kind, inner = inner.union()
        yield inner["name"] if kind == "as_tensor" else None
    elif kind == "as_optional_tensors":
        for one in inner.items():
            kind, element = one.union()
            yield element["name"] if kind == "as_tensor" else None
    else:
        yield from given_tensors(value)


_Read = Callable[[Frame, Place], Argument]


def _plain(number: Number) -> bool | int | float:
    return number if isinstance(number, bool | int | float) else float(number)


def _reference(frame: Frame, value: Place) -> Argument:
    return Ref(frame.tensor(value["name"]))


def _optional(frame: Frame, value: Place) -> Argument:
    kind, inner = value.union()
    return None if kind == "as_none" else _reference(frame, inner)


def _symbolic(frame: Frame, value: Place) -> int | float | str:
    """A number that follows from sizes; its name as text where it depends on data."""
    kind, inner = value.union()
    if kind != "as_name":
        return inner.flag() if kind == "as_bool" else inner.number()
    name = inner.text()
    found = next((place for table in frame.sizes if (place := table.get(name)) is not None), None)
    if found is None:
        raise inner.fault(f"nothing is said about the number {name!r}")
    kind, stated = found.union()
    if kind != "as_expr":
        return stated.flag() if kind == "as_bool" else stated.number()
    text = stated["expr_str"]
    try:
        return _plain(frame.symbols.value(text.text()))
    except FormulaError:
        return name


def _integer(frame: Frame, value: Place) -> int:
    return value.integer()


def _number(frame: Frame, value: Place) -> int | float:
    return value.number()


def _flag(frame: Frame, value: Place) -> bool:
    return value.flag()


def _string(frame: Frame, value: Place) -> Argument:
    return value.text()


def _dtype(frame: Frame, value: Place) -> Argument:
    return dtype_at(value).name


def _listed(element: _Read) -> _Read:
    return lambda frame, value: tuple([element(frame, one) for one in value.items()])


NUMBERS: Final[Mapping[str, Callable[[Frame, Place], int | float | str]]] = {
    "as_int": _integer,
    "as_float": _number,
    "as_bool": _flag,
    "as_sym_int": _symbolic,
    "as_sym_float": _symbolic,
    "as_sym_bool": _symbolic,
}
_KINDS: Final[Mapping[str, _Read]] = {
    **NUMBERS,
    "as_none": lambda frame, value: None,
    "as_string": _string,
    "as_operator": _string,
    "as_scalar_type": _dtype,
    "as_tensor": _reference,
    "as_optional_tensor": _optional,
}
_LISTS: Final[Mapping[str, _Read]] = {
    "as_ints": _integer,
    "as_floats": _number,
    "as_bools": _flag,
    "as_strings": _string,
    "as_int_lists": _listed(_integer),
    "as_float_lists": _listed(_number),
    "as_sym_ints": _symbolic,
    "as_sym_floats": _symbolic,
    "as_sym_bools": _symbolic,
    "as_tensors": _reference,
    "as_optional_tensors": _optional,
    "as_nested_tensors": _listed(_reference),
}

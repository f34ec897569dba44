"""The sizes that an exported program leaves open: what the user gives, and what is still a question.

Inputs are settled by the rules of ONNX's.  A program has its fixed sizes in the arguments of its operators, so they cannot
be replaced.  A size that depends on data (PyTorch calls it ``u0``) is asked for, too, where a tensor has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.frontends.aten_archive_arguments import open_size
from weighbridge.frontends.aten_archive_formulas import Formula, FormulaError, formula
from weighbridge.frontends.aten_archive_json import Place
from weighbridge.frontends.aten_archive_values import Symbols, dtype_at, text_of_size
from weighbridge.frontends.declared import Declared
from weighbridge.frontends.input_sizes import settle
from weighbridge.graph import MAX_DIMENSION
from weighbridge.named_tuple import NamedTuple

__all__ = ["Sizes", "settled"]

_LEAST_CHECKED: Final = 2
"""PyTorch itself lets a size be 0 or 1 where the range begins at 2: torch/_export/utils.py."""


class Sizes(NamedTuple):
    """A size for every symbol that inputs have, and what a report should say of them."""

    symbols: Symbols
    notes: tuple[str, ...]


def settled(
    program: Place,
    batch: int | None,
    sequence: int | None,
    dims: Mapping[str, int],
    inputs: Mapping[str, tuple[int, ...]],
) -> Sizes:
    """Sizes for all symbols.  Raises ``NeedsShape`` for one of an input that nobody gave, ``BadSpec`` for what does not fit."""
    module = program["graph_module"]
    declared = dict(_inputs(module))
    formulas = {
        size: formula(size) for one in declared.values() for size in one.dimensions or () if isinstance(size, str)
    }
    of_inputs = {symbol for one in formulas.values() for symbol in one.symbols}
    others = _other_symbols(module, of_inputs) if dims.keys() - of_inputs else frozenset()
    given = {name: _checked(name, size) for name, size in dims.items() if name in others}
    rest = {name: size for name, size in dims.items() if name not in others}
    sizes = settle(declared, batch, rest, inputs, sequence)
    if sizes.is_overridden:
        shapes = ", ".join(f"{name}: {one.text()}" for name, one in declared.items())
        hint = "export it with inputs of that size, or with dynamic_shapes"
        raise BadSpec(f"the program was exported for fixed sizes ({shapes})", hint=hint)
    known = {name: size for name, size in sizes.symbols.items() if name in of_inputs} | given
    for text, one in formulas.items():
        if text in sizes.symbols:
            _solve(one, sizes.symbols[text], known)
    _check(formulas, sizes.symbols, known)
    _check_ranges(program, known)
    notes = [f"the size {name} depends on the data; it is {size} as given" for name, size in given.items()]
    return Sizes(Symbols(known), tuple(notes))


def _inputs(module: Place) -> Iterator[tuple[str, Declared]]:
    """The tensors that a user feeds, with a formula for every open size."""
    metas = module["graph"]["tensor_values"]
    for spec in module["signature"]["input_specs"].items():
        kind, value = spec.union()
        given, tensor = value["arg"].union() if kind == "user_input" else ("", value)
        if given == "as_tensor":
            name = tensor["name"].text()
            meta = metas[name]
            dimensions = tuple(text_of_size(size) for size in meta["sizes"].items())
            yield name, Declared(dtype_at(meta["dtype"]), dimensions)


def _other_symbols(module: Place, of_inputs: set[str]) -> frozenset[str]:
    """The symbols of tensors that are no inputs, and of numbers."""
    graph = module["graph"]
    sizes = [size for _, meta in graph["tensor_values"].places() for size in meta["sizes"].items()]
    numbers = graph.get("sym_int_values")
    if numbers is not None:
        sizes += [place for _, place in numbers.places()]
    texts = {value["expr_str"].text() for kind, value in map(Place.union, sizes) if kind == "as_expr"}
    found: set[str] = set()
    for text in texts:
        try:
            found.update(formula(text).symbols)
        except FormulaError:
            continue
    return frozenset(found - of_inputs)


def _checked(name: str, size: int) -> int:
    if not 0 <= size <= MAX_DIMENSION:
        raise BadSpec(f"a size of {size} for {name}", hint="a size is a whole number from 0 on")
    return size


def _solve(one: Formula, size: int, known: dict[str, int]) -> None:
    """The one unknown symbol of a formula of the first degree (``2*s0 + 1``) whose value is known."""
    unknown = [symbol for symbol in one.symbols if symbol not in known]
    if len(unknown) != 1:
        return
    try:
        first, second = (one.value({**known, unknown[0]: probe}) for probe in (1, 2))
        step = second - first
        if step and (size - first) % step == 0:
            found = 1 + (size - first) // step
            if one.value({**known, unknown[0]: int(found)}) == size:
                known[unknown[0]] = int(found)
    except FormulaError:
        return


def _check(formulas: Mapping[str, Formula], stated: Mapping[str, int], known: Mapping[str, int]) -> None:
    """Every formula has the size that an input was given for it."""
    for text, one in formulas.items():
        missing = next((symbol for symbol in one.symbols if symbol not in known), None)
        if missing is not None:
            raise open_size(missing, f"(of a dimension {text})")
        try:
            size = one.value(known)
        except FormulaError as error:
            raise BadSpec(f"a dimension of an input is {text}, and {error}", hint="give other sizes") from None
        if text in stated and stated[text] != size:
            what = f"a dimension of an input is {text}, which is {size} and not {stated[text]}"
            raise BadSpec(what, hint="give sizes that go together")


def _check_ranges(program: Place, known: Mapping[str, int]) -> None:
    """Sizes within the bounds that the exporter was given or found."""
    ranges = program.get("range_constraints")
    for name, bounds in ranges.places() if ranges is not None else ():
        try:
            size = formula(name).value(known)
        except FormulaError:
            continue  # it speaks of a size that is computed from data
        least, most = (bounds.members().get(key) for key in ("min_val", "max_val"))
        is_low = isinstance(least, int) and least > _LEAST_CHECKED and size < least
        if is_low or (isinstance(most, int) and size > most):
            most_text = most if isinstance(most, int) else "any"
            what = f"{name} = {size} is outside the range that the program was exported for ({least} to {most_text})"
            raise BadSpec(what, hint="give a size in that range, or export it again with a wider one")

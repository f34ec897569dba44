"""The sizes of a model's inputs: what the file fixes, what the user gives, and what is still open.

A dimension that nobody gave is a question to the user, never a silent 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from weighbridge.errors import BadSpec, NeedsShape
from weighbridge.frontends.declared import Declared
from weighbridge.graph import MAX_DIMENSION, Shape
from weighbridge.named_tuple import NamedTuple

__all__ = ["Sizes", "settle"]


class Sizes(NamedTuple):
    """Shapes of the inputs (None for what is no tensor), sizes of the symbols, and whether a fixed size was overridden."""

    shapes: Mapping[str, Shape | None]
    symbols: Mapping[str, int]
    is_overridden: bool


def settle(
    declared: Mapping[str, Declared],
    batch: int | None,
    dims: Mapping[str, int],
    inputs: Mapping[str, tuple[int, ...]],
    sequence: int | None = None,
) -> Sizes:
    """A size for every dimension of every input.

    ``inputs`` gives whole shapes, ``dims`` sizes of named dimensions, ``batch`` that of dimension 0 wherever it is open;
    where none is, ``batch`` replaces the fixed dimension 0 of the first input and of every other that has the same.
    ``sequence`` is the size of every dimension named like a sequence (a word of its name begins with "seq", none is "past"
    or "total") that ``dims`` does not name.
    Raises ``BadSpec`` for names that do not exist and sizes that contradict each other, ``NeedsShape`` for an open dimension.
    """
    _check_names(declared, dims, inputs)
    settling = _Settling(declared, {**_sequence_dims(declared, sequence), **dims})
    for name, shape in inputs.items():
        settling.give(name, shape)
    if batch is not None:
        settling.set_batch(_checked("batch", batch))
    return settling.finish()


def _check_names(
    declared: Mapping[str, Declared], dims: Mapping[str, int], inputs: Mapping[str, tuple[int, ...]]
) -> None:
    symbols = {size: None for one in declared.values() for size in one.dimensions or () if isinstance(size, str)}
    if not symbols.keys() >= dims.keys():
        symbols |= dict.fromkeys(part for symbol in tuple(symbols) for part in sorted(_parts(symbol) or ()))
    for name, size in dims.items():
        if name not in symbols:
            raise BadSpec(f"no input has a dimension called {name!r}", hint=_existing("named dimensions", symbols))
        _checked(name, size)
    for name in inputs:
        if name not in declared:
            raise BadSpec(f"the model has no input {name!r}", hint=_existing("inputs", declared))


def _sequence_dims(declared: Mapping[str, Declared], sequence: int | None) -> dict[str, int]:
    if sequence is None:
        return {}
    symbols = {size: None for one in declared.values() for size in one.dimensions or () if isinstance(size, str)}
    named = {symbol: _checked("sequence", sequence) for symbol in symbols if _is_sequence(symbol)}
    if not named:
        raise BadSpec("no input has a dimension named like a sequence", hint=_existing("named dimensions", symbols))
    return named


def _is_sequence(symbol: str) -> bool:
    words = symbol.lower().replace("-", "_").split("_")
    return any(word.startswith("seq") for word in words) and not {"past", "total"}.intersection(words)


def _existing(what: str, names: Mapping[str, object]) -> str:
    shown = ", ".join(list(names)[:12]) + (", …" if len(names) > 12 else "")
    return f"its {what} are {shown}" if names else f"it has no {what}"


def _checked(name: str, size: int) -> int:
    if not 1 <= size <= MAX_DIMENSION:
        raise BadSpec(f"a size of {size} for {name}", hint="a size is a whole number from 1 on")
    return size


_BATCH: Final = "--batch 4"
_EXPRESSION: Final = re.compile(r"[-+*/%]")
"""Exporters write dimensions such as ``past_sequence_length + 1``; names have none of these."""


def _computed(symbol: str, known: Mapping[str, int]) -> int | None:
    """The size of a dimension that is a formula of known ones; None where it is none."""
    from weighbridge.frontends.toml_expression import ExpressionError, parse

    if not _EXPRESSION.search(symbol):
        return None
    try:
        size = parse(symbol).value(known)
    except ExpressionError:
        return None
    return size if isinstance(size, int) and 0 <= size <= MAX_DIMENSION else None


def _parts(symbol: str) -> frozenset[str] | None:
    """The names that a dimension is a formula of; None where it is none."""
    if not _EXPRESSION.search(symbol):
        return None
    from weighbridge.frontends.toml_expression import ExpressionError, parse

    try:
        return frozenset(parse(symbol).names)
    except ExpressionError:
        return None


def _follows(symbol: str, known: set[str]) -> bool:
    """Whether a dimension is a formula of other ones."""
    parts = _parts(symbol)
    return parts is not None and parts <= known


def _is_list_of_numbers(one: Declared) -> bool:
    return one.dtype.kind == "int" and len(one.dimensions or ()) == 1


class _Settling:
    """The dimensions of all inputs while they are filled in."""

    def __init__(self, declared: Mapping[str, Declared], symbols: dict[str, int]) -> None:
        self.declared = declared
        self.symbols = symbols
        self.given: dict[str, Shape] = {}
        self.batches: dict[str, int] = {}
        self.is_overridden = False

    def give(self, name: str, shape: Shape) -> None:
        """Take the whole shape of one input from the user."""
        stated = self.declared[name].dimensions
        if not self.declared[name].is_tensor:
            raise BadSpec(f"the input {name!r} is no tensor and has no shape")
        for size in shape:
            _checked(f"the input {name!r}", size)
        if stated is not None and len(stated) != len(shape):
            raise BadSpec(f"{len(shape)} dimensions for the input {name!r}", hint=f"it is {self.declared[name].text()}")
        for size, was in zip(shape, stated or (), strict=False):
            if isinstance(was, str) and self.symbols.setdefault(was, size) != size:
                raise BadSpec(f"the dimension {was!r} of the input {name!r} is both {self.symbols[was]} and {size}")
            if isinstance(was, int) and was != size:
                self.is_overridden = True
        self.given[name] = shape

    def set_batch(self, batch: int) -> None:
        firsts = {
            name: one.dimensions[0]
            for name, one in self.declared.items()
            if name not in self.given and one.is_tensor and one.dimensions
        }
        opened = [name for name, first in firsts.items() if not isinstance(first, int) and first not in self.symbols]
        for name in opened:
            first = firsts[name]
            self.batches[name] = batch
            if isinstance(first, str):
                self.symbols[first] = batch
        if not firsts and not self.given:
            raise BadSpec("no input has a dimension that could be the batch")
        if opened or not firsts:
            return
        fixed = self._leading(firsts)
        for name, first in firsts.items():
            if first == fixed != batch:
                self.batches[name] = batch
                self.is_overridden = True

    def _leading(self, firsts: Mapping[str, int | str | None]) -> int | None:
        """The fixed dimension 0 that a batch replaces: that of the first input.

        A list of whole numbers leads only where there is nothing else: it is a shape or a set of axes as often as a batch.
        """
        fixed = {name: first for name, first in firsts.items() if isinstance(first, int)}
        others = [first for name, first in fixed.items() if not _is_list_of_numbers(self.declared[name])]
        return next(iter((*others, *fixed.values())), None)

    def finish(self) -> Sizes:
        shapes: dict[str, Shape | None] = {}
        missing: list[tuple[str, int]] = []
        for name, one in self.declared.items():
            if name in self.given or not one.is_tensor:
                shapes[name] = self.given.get(name)
                continue
            if one.dimensions is None:
                missing.append((name, -1))
                continue
            sizes = [self._size(name, axis, size) for axis, size in enumerate(one.dimensions)]
            missing += [(name, axis) for axis, size in enumerate(sizes) if size is None]
            shapes[name] = tuple(size for size in sizes if size is not None)
        if missing:
            raise self._question(missing)
        return Sizes(shapes, self.symbols, self.is_overridden)

    def _size(self, name: str, axis: int, stated: int | str | None) -> int | None:
        if axis == 0 and name in self.batches:
            return self.batches[name]
        if not isinstance(stated, str) or stated in self.symbols:
            return self.symbols[stated] if isinstance(stated, str) else stated
        size = _computed(stated, self.symbols)
        if size is not None:
            self.symbols[stated] = size
        return size

    def _question(self, missing: list[tuple[str, int]]) -> NeedsShape:
        """The error that names the first open dimension and shows options that close all of them."""
        name, axis = missing[0]
        one = self.declared[name]
        if axis < 0:
            return NeedsShape(f"the input {name!r} has no shape", hint=f"give it: --input {name}=1x3x224x224")
        symbol = self._symbol(name, axis)
        called = f" ({symbol})" if symbol else ""
        asked = [(other, at) for other, at in missing if not _follows(self._symbol(other, at), self._symbols(missing))]
        by_batch = {self._symbol(other, at) for other, at in missing if self._option(other, at) == _BATCH} - {""}
        options = dict.fromkeys(
            _BATCH if self._symbol(other, at) in by_batch else self._option(other, at) for other, at in asked or missing
        )
        shown = " ".join(list(options)[:4]) + (" …" if len(options) > 4 else "")
        return NeedsShape(
            f"dimension {axis}{called} of the input {name!r} ({one.text()}) is open", hint=f"give it: {shown}"
        )

    def _symbol(self, name: str, axis: int) -> str:
        """What the file calls a dimension; "" where it has no name."""
        dimensions = self.declared[name].dimensions or ()
        symbol = dimensions[axis] if 0 <= axis < len(dimensions) else None
        return symbol if isinstance(symbol, str) else ""

    def _symbols(self, missing: list[tuple[str, int]]) -> set[str]:
        return {*self.symbols, *(self._symbol(name, axis) for name, axis in missing)}

    def _option(self, name: str, axis: int) -> str:
        dimensions = self.declared[name].dimensions or ()
        symbol = self._symbol(name, axis)
        # The only dimension of an input is a batch if its name says so, or no more than a letter.
        if axis == 0 and (len(dimensions) > 1 or len(symbol) < 2 or "batch" in symbol.lower()):
            return _BATCH
        if symbol:
            parts = sorted((_parts(symbol) or frozenset()) - self.symbols.keys())
            return " ".join(f"--dim {part}=128" for part in parts or [symbol])
        example = "x".join(
            str(size) if isinstance(size, int) else "4" if at == 0 else "128" for at, size in enumerate(dimensions)
        )
        return f"--input {name}={example or '1x3x224x224'}"

"""A network file as a specification: every table structured, every name known, every argument one that its layer takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from weighbridge.graph import Attribute
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import REQUIRED
from weighbridge.operators.table import OPERATORS

from .toml_expression import Expression
from .toml_recipes import takes
from .toml_schema import Block, Computed, Fault, Header, Input, Layer, Parameter, Term, listed, refuse, structure

__all__ = ["Line", "Piece", "Specification", "nearest", "read", "stands_for_itself"]

_MAX_NESTING: Final = 16
_COMPARED: Final = 512  # a hint takes time for every word that might have been meant

T = TypeVar("T")


class Line(NamedTuple):
    """A layer and where it stands in the file."""

    path: str
    layer: Layer


class Piece(NamedTuple):
    """A block with its layers."""

    path: str
    block: Block
    lines: tuple[Line, ...]


class Specification(NamedTuple):
    """A network file without faults."""

    header: Header
    parameters: Mapping[str, Parameter]
    let: Mapping[str, Term]
    inputs: tuple[Input, ...]
    lines: tuple[Line, ...]
    blocks: Mapping[str, Piece]


def read(document: Mapping[str, Any], where: str) -> Specification:
    """The specification in ``document``, a parsed TOML file.

    Raises ``BadSpec`` with all faults of the file: of form, and of names, arguments and references.
    """
    faults: list[Fault] = []
    header = structure(document, Header, "$", faults)
    # Where the top level has a fault, its tables are still looked at, as far as they are tables.
    loose = _Loose(document)
    parameters = _structured(loose.table("parameters"), Parameter, "$.parameters", faults)
    let = {name: value.value for name, value in _structured(loose.table("let"), Computed, "$.let", faults).items()}
    inputs = _structured(loose.list("inputs"), Input, "$.inputs", faults)
    lines = _lines(loose.list("layers"), "$.layers", faults)
    pieces = {}
    for name, block in _structured(loose.table("blocks"), Block, "$.blocks", faults).items():
        path = f"$.blocks.{name}"
        pieces[name] = Piece(path, block, _lines(enumerate(block.layers), f"{path}.layers", faults))
    check = _Check(loose, pieces)
    check.network(inputs.values(), let, lines, header.outputs if header else ())
    check.blocks()
    faults += check.found
    faults += [fault for name, parameter in parameters.items() for fault in _default_faults(name, parameter)]
    refuse(sorted(dict.fromkeys(faults), key=lambda fault: _place(fault.path)), where)
    if header is None:
        raise AssertionError("a file without faults has a header")
    return Specification(header, parameters, let, tuple(inputs.values()), lines, pieces)


class _Loose(NamedTuple):
    """A document whose tables may be anything."""

    document: Mapping[str, Any]

    def table(self, key: str) -> Iterable[tuple[str, Any]]:
        found = self.document.get(key)
        return found.items() if isinstance(found, dict) else ()

    def list(self, key: str) -> Iterable[tuple[int, Any]]:
        found = self.document.get(key)
        return enumerate(found) if isinstance(found, list) else ()

    def names(self, key: str) -> set[str]:
        return {name for name, _ in self.table(key)}


def _place(path: str) -> list[tuple[int, str]]:
    """Sorts paths as a person reads a file: the tenth layer behind the ninth."""
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in re.split(r"(\d+)", path)]


def _structured(entries: Iterable[tuple[Any, Any]], of: type[T], path: str, faults: list[Fault]) -> dict[Any, T]:
    kept = {}
    for key, value in entries:
        found = structure(value, of, f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}", faults)
        if found is not None:
            kept[key] = found
    return kept


def _lines(entries: Iterable[tuple[int, Any]], path: str, faults: list[Fault]) -> tuple[Line, ...]:
    lines = []
    for index, value in entries:
        found: list[Fault] = []
        where = f"{path}[{index}]"
        layer = structure(value, Layer, where, found)
        if found and isinstance(value, dict):
            layer = structure(_repaired(value, where, found), Layer, where, [])
        if layer is not None:
            lines.append(Line(where, layer))
        faults += found
    return tuple(lines)


def _repaired(table: Mapping[str, Any], path: str, faults: Sequence[Fault]) -> dict[str, Any]:
    """The table of a layer with a number where an argument has a fault, so that its other keys are looked at as well."""
    bad = {re.split(r"[.\[]", fault.path.removeprefix(f"{path}."))[0] for fault in faults}
    own = {*Layer._fields, "from"}
    return {key: 0 if key in bad else value for key, value in table.items() if key not in bad & own}


def nearest(word: str, known: Iterable[str]) -> str:
    """A question whether a known word was meant, to put behind a message; empty where none is near, or too many are known."""
    known = list(known)
    if len(known) > _COMPARED or len(word) > _COMPARED:
        return ""
    close = get_close_matches(word, sorted(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def stands_for_itself(expression: Expression, name: str, default: Attribute, known: Container[str]) -> bool:
    """Whether it is a word of text: ``padding = "same_upper"``, where nothing is called so and the operator takes text."""
    takes_text = (isinstance(default, str | tuple) and default != REQUIRED) or name == "padding"
    return takes_text and expression.names == {expression.text} and expression.text not in known


def _expressions(term: Term | None) -> Iterator[Expression]:
    if isinstance(term, Expression):
        yield term
    elif isinstance(term, tuple):
        for item in term:
            yield from _expressions(item)


def _default_faults(name: str, parameter: Parameter) -> Iterator[Fault]:
    path = f"$.parameters.{name}"
    default, choices = parameter.default, parameter.choices
    if isinstance(default, str) and default not in choices:
        yield Fault(path, f"the default {default!r} must be among the choices, which are {listed(choices)}")
    if not isinstance(default, str) and choices:
        yield Fault(path, "only words have choices; numbers have a minimum and a maximum")
    limits = (parameter.minimum, parameter.maximum)
    if isinstance(default, bool | str):
        if limits != (None, None):
            yield Fault(path, "only numbers have a minimum and a maximum")
    elif not (limits[0] is None or limits[0] <= default) or not (limits[1] is None or default <= limits[1]):
        yield Fault(path, f"the default {default} lies outside its own range")


class _Check:
    """What the tables of a file say about each other."""

    def __init__(self, loose: _Loose, pieces: Mapping[str, Piece]) -> None:
        self.pieces = pieces
        self.block_names = loose.names("blocks")
        self.parameters = loose.names("parameters")
        self.known = self.parameters | loose.names("let")
        self.found: list[Fault] = []

    def network(
        self, inputs: Iterable[Input], let: Mapping[str, Term], lines: Sequence[Line], outputs: Iterable[str]
    ) -> None:
        names = {entry.name for entry in inputs}
        for index, entry in enumerate(inputs):
            for term in entry.shape:
                self._names(f"$.inputs[{index}].shape", term, self.known)
        for name in let:
            if name in self.parameters:
                self._say(f"$.let.{name}", f"{name!r} is the name of a parameter already; choose another")
        self._let("$.let", let, self.parameters)
        self._scope(lines, self.known | {"in_channels"}, names)
        seen = dict.fromkeys([*names, *(line.layer.name.text for line in lines)], "")
        patterns = {pattern for name in seen for pattern in _pattern(name)}
        for index, output in enumerate(outputs):
            if not _is_there(output, seen, patterns):
                self._say(f"$.outputs[{index}]", f"no layer is called {output!r}{self._near(output, seen)}")

    def blocks(self) -> None:
        for piece in self.pieces.values():
            self._piece(piece)
        self._recursion()

    def _say(self, path: str, what: str) -> None:
        self.found.append(Fault(path, what))

    def _near(self, word: str, known: Iterable[str]) -> str:
        return nearest(word, known) if len(self.found) < _COMPARED else ""

    def _readable(self, reference: str, seen: Collection[str]) -> str:
        """The name that was meant, or else those that can be read here."""
        near = self._near(reference, seen)
        return near or (f"; it can read {listed(seen)}" if len(self.found) < _COMPARED else "")

    def _piece(self, piece: Piece) -> None:
        block, own = piece.block, [*piece.block.parameters, *piece.block.defaults]
        for word, count in Counter([*own, *block.let]).items():
            if word in self.known or count > 1:
                self._say(piece.path, f"{word!r} is the name of something else already; choose another")
        for key, term in block.defaults.items():
            self._names(f"{piece.path}.defaults.{key}", term, self.known)
        outside = self.known | {"in_channels"} | set(own)
        self._let(f"{piece.path}.let", block.let, outside)
        self._scope(piece.lines, outside | set(block.let), set(block.inputs))

    def _let(self, path: str, values: Mapping[str, Term], known: set[str]) -> None:
        """Each value may use those before it."""
        known = set(known)
        for name, term in values.items():
            self._names(f"{path}.{name}", term, known)
            known.add(name)

    def _names(self, path: str, term: Term | None, known: set[str]) -> None:
        for expression in _expressions(term):
            for name in sorted(expression.names - known):
                self._say(path, f"nothing here is called {name!r}{self._near(name, known)}")

    def _scope(self, lines: Sequence[Line], known: set[str], names: set[str]) -> None:
        """The layers of one scope, in order; ``names`` are what the first of them can read."""
        seen, patterns = dict.fromkeys(names, "an input"), set[str]()
        for line in lines:
            here = known | {"index"} if line.layer.repeat is not None else known
            self._line(line, here, known)
            for reference in line.layer.reads:
                if not _is_there(reference, seen, patterns):
                    what = f"reads {reference!r}, and no layer before it has this name"
                    self._say(f"{line.path}.from", what + self._readable(reference, seen))
            name = line.layer.name.text
            if name in seen:
                self._say(f"{line.path}.name", f"{name!r} is the name of {seen[name]} already")
            seen[name] = line.path
            patterns |= _pattern(name)

    def _line(self, line: Line, here: set[str], outside: set[str]) -> None:
        path, layer = line
        self._names(f"{path}.repeat", layer.repeat, outside)
        self._names(f"{path}.when", layer.when, outside)
        for piece in layer.name.pieces:
            self._names(f"{path}.name", piece if isinstance(piece, Expression) else None, here)
        for operand, term in layer.weights.items():
            self._names(f"{path}.weights.{operand}", term, here)
        if bool(layer.op) == bool(layer.block):
            self._say(path, "a layer has either an op or a block")
            return
        defaults = self._operator(line) if layer.op else self._block(line)
        if defaults is None:
            return
        for name, term in layer.arguments.items():
            if name not in defaults:
                kind = layer.op or f"the block {layer.block}"
                hint = self._near(name, defaults) or f"; it takes {listed(defaults)}"
                self._say(f"{path}.{name}", f"{kind} takes no {name!r}{hint}")
            else:
                default = defaults[name] if layer.op else 0
                words = {word.text for word in _expressions(term) if stands_for_itself(word, name, default, here)}
                self._names(f"{path}.{name}", term, here | words)
        for name, default in defaults.items():
            if default == REQUIRED and name not in layer.arguments:
                self._say(path, f"{layer.op or layer.block} needs {name!r}")

    def _operator(self, line: Line) -> Mapping[str, Attribute] | None:
        layer = line.layer
        op = OPERATORS.get(layer.op)
        if op is None:
            self._say(f"{line.path}.op", f"there is no operator {layer.op!r}{self._near(layer.op, OPERATORS)}")
            return None
        slots = {slot.name for slot in op.slots}
        for operand in layer.weights:
            if operand not in slots:
                self._say(f"{line.path}.weights", f"{op.name} has no operand {operand!r}; it has {listed(slots)}")
        return op.attributes if layer.weights else takes(op)

    def _block(self, line: Line) -> Mapping[str, Attribute] | None:
        name = line.layer.block
        if line.layer.weights:
            self._say(f"{line.path}.weights", "only an operator has weights")
        if name not in self.block_names:
            self._say(f"{line.path}.block", f"there is no block {name!r}{self._near(name, self.block_names)}")
        piece = self.pieces.get(name)
        if piece is None:
            return None
        return {**dict.fromkeys(piece.block.parameters, REQUIRED), **dict.fromkeys(piece.block.defaults, 0)}

    def _recursion(self) -> None:
        """Blocks may use blocks, but none itself, and not without end."""
        depths: dict[str, int] = {}
        for name, piece in self.pieces.items():
            if self._depth(name, depths, ()) > _MAX_NESTING:
                self._say(piece.path, f"blocks within blocks, more than {_MAX_NESTING} deep or without end")

    def _depth(self, name: str, depths: dict[str, int], above: tuple[str, ...]) -> int:
        if name in above or len(above) > _MAX_NESTING:
            return _MAX_NESTING + 1
        if name not in depths:
            inner = {line.layer.block for line in self.pieces[name].lines} & self.pieces.keys()
            depths[name] = 1 + max((self._depth(block, depths, (*above, name)) for block in inner), default=0)
        return depths[name]


def _is_there(reference: str, seen: Mapping[str, str], patterns: Collection[str]) -> bool:
    """Whether ``reference`` can be a layer before, one inside it (``layer1.0.conv1``), or one of its outputs (``split:1``).

    ``patterns`` are the beginnings of the names before it that have braces.
    """
    name = reference.partition(":")[0]
    pieces = name.split(".")
    return any(".".join(pieces[:count]) in seen for count in range(1, len(pieces) + 1)) or any(
        name[:length] in patterns for length in range(len(name) + 1)
    )


def _pattern(name: str) -> set[str]:
    return {name.partition("{")[0]} if "{" in name else set()

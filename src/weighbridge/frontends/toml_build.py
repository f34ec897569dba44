"""A specification becomes a graph: blocks unfolded, expressions computed, learned tensors made, layers added in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec, GraphError
from weighbridge.graph import MAX_DIMENSION, Attribute, Graph, Shape, TensorType
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS

from .toml_expression import Expression, ExpressionError, Value
from .toml_read import Line, Specification, stands_for_itself
from .toml_recipes import RECIPES, Stored, takes
from .toml_schema import Name, Term, listed

__all__ = ["MAX_LAYERS", "build"]

MAX_LAYERS: Final = 100_000
_MAX_READS: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9_.]{1,256}")

Known = Mapping[str, Value]


class _Scope(NamedTuple):
    """Where layers stand: the prefix of their names, what expressions can read, and the tensors that come in, by name."""

    prefix: str
    known: Known
    inputs: Mapping[str, str]


def build(specification: Specification, values: Known, where: str) -> Graph:
    """The graph of a specification under chosen parameters.

    Raises ``BadSpec`` at the first layer that cannot be: it names the file, the line's ``$.path`` and the layer.
    """
    return _Build(specification, where).graph(values)


class _Build:
    def __init__(self, specification: Specification, where: str) -> None:
        self.specification = specification
        self.where = where
        self.builder = Builder(specification.header.name)
        self.known: Known = {}
        self.made: dict[str, str] = {}  # by the full name of a layer or block, the tensor that comes out of it
        self.blocks: set[str] = set()
        self.steps = self.reads = 0

    def graph(self, values: Known) -> Graph:
        header = self.specification.header
        known = self.known = self._let(self.specification.let, values, "$.let")
        tensors = {}
        for index, entry in enumerate(self.specification.inputs):
            with self._located(f"$.inputs[{index}]"):
                shape = _shape(entry.shape, known)
                tensors[entry.name] = self.builder.input(entry.name, shape, DTYPES[entry.dtype])
        first = next(iter(tensors.values()))
        scope = _Scope("", {**known, **self._channels(first)}, tensors)
        outputs = [self._layers(self.specification.lines, scope, first)]
        if header.outputs:
            with self._located("$.outputs"):
                outputs = [self._resolve(scope, name) for name in header.outputs]
        with self._located("$"):
            return replace(self.builder.graph(outputs), blocks=frozenset(self.blocks))

    @contextmanager
    def _located(self, path: str) -> Iterator[None]:
        try:
            yield
        except (GraphError, ExpressionError) as error:
            raise BadSpec(str(error), where=f"{self.where}: {path}") from None

    def _layers(self, lines: tuple[Line, ...], scope: _Scope, current: str) -> str:
        """Add the layers of one scope, the first after ``current``; returns the tensor that the last one makes."""
        for line in lines:
            try:
                current = self._line(line, scope, current)
            except (GraphError, ExpressionError) as error:
                name, what = scope.prefix + line.layer.name.text, str(error)
                if isinstance(error, GraphError) and error.where.startswith(name.partition("{")[0]):
                    name, what = error.where, what.removeprefix(f"{error.where}: ")  # of the repetition that it is
                raise BadSpec(what, where=f"{self.where}: {line.path} ({name})") from None
        return current

    def _line(self, line: Line, scope: _Scope, current: str) -> str:
        """A layer as often as it repeats, one after the other; left out, it hands on what it would have read."""
        layer = line.layer
        sources = [self._resolve(scope, name) for name in layer.reads] if layer.reads else [current]
        times = self._times(line, scope.known)
        for index in range(times):
            self.steps += 1
            self.reads += len(sources)
            if self.steps > MAX_LAYERS or self.reads > _MAX_READS:
                raise GraphError(f"the network has more than {MAX_LAYERS:,} layers, or they read too much")
            known = scope.known if layer.repeat is None else {**scope.known, "index": index}
            name = scope.prefix + _named(layer.name, known, numbered=layer.repeat is not None, index=index)
            if not _NAME.fullmatch(name):
                raise GraphError(f"{name!r} is no name: at most 256 letters, digits, underscores and dots")
            if name in self.made:
                raise GraphError(f"a layer before has the name {name!r} already")
            sources[0] = (self._operator if layer.op else self._block)(line, name, known, sources)
            self.made[name] = sources[0]
        self.made[scope.prefix + layer.name.text] = sources[0]
        return sources[0]

    def _times(self, line: Line, known: Known) -> int:
        stands = _value(line.layer.when, known)
        if not isinstance(stands, bool):
            raise ExpressionError(f"when must be true or false, not {stands!r}")
        if not stands or line.layer.repeat is None:
            return int(stands)
        times = _value(line.layer.repeat, known)
        if isinstance(times, bool) or not isinstance(times, int) or not 0 <= times <= MAX_LAYERS:
            raise ExpressionError(f"repeat must be a whole number from 0 to {MAX_LAYERS:,}, not {times!r}")
        return times

    def _block(self, line: Line, name: str, known: Known, sources: list[str]) -> str:
        piece = self.specification.blocks[line.layer.block]
        block = piece.block
        if len(sources) != len(block.inputs):
            raise GraphError(f"the block {line.layer.block} reads {len(block.inputs)} tensors, not {len(sources)}")
        inner = self._let(block.defaults, self.known, f"{piece.path}.defaults")
        for key, term in line.layer.arguments.items():
            inner[key] = _one(key, term, known)
        inner |= self._channels(sources[0])
        inner = self._let(block.let, inner, f"{piece.path}.let")
        if any(inside.layer.reads for inside in piece.lines):
            self.blocks.add(name)  # others are layers one after the other: the next one's input is all that they keep
        scope = _Scope(f"{name}.", inner, dict(zip(block.inputs, sources, strict=True)))
        return self._layers(piece.lines, scope, sources[0])

    def _operator(self, line: Line, name: str, known: Known, sources: list[str]) -> str:
        layer = line.layer
        op = OPERATORS[layer.op]
        allowed = takes(op)
        arguments = {key: _argument(key, term, allowed[key], known) for key, term in layer.arguments.items()}
        attributes = {key: value for key, value in arguments.items() if key in op.attributes}
        kept = {operand: self._kept(name, operand, term, known) for operand, term in layer.weights.items()}
        if not kept and op.name in RECIPES:
            kept = self._made(op, name, sources[0], {**allowed, **arguments})
        operands = [*_filled(op, sources, kept), *kept.items()]
        scope = name.rpartition(".")[0]
        return self.builder.add(op.name, operands, attributes, name=name, scope=scope, origin=layer.op)[0]

    def _made(self, op: Op, name: str, source: str, arguments: Mapping[str, Attribute]) -> dict[str, str]:
        x = self._type(source)
        stored: list[Stored] = RECIPES[op.name].make(op, x, arguments)
        dtype = x.dtype if x.dtype.is_learnable else DTYPES["float32"]
        return {
            tensor.operand: self.builder.stored(f"{name}.{tensor.name}", _sizes(tensor.shape), dtype, tensor.role)
            for tensor in stored
        }

    def _kept(self, name: str, operand: str, term: Term, known: Known) -> str:
        """A learned tensor of a shape, or the one of another layer: ``weights = { w = "embed.weight" }`` is spelt in quotes."""
        value = _value(term, known)
        if isinstance(value, str):
            if value not in self.builder.tensors:
                raise GraphError(f"there is no tensor {value!r} to share")
            return value
        if not isinstance(value, tuple):
            raise GraphError(f"the weight {operand} must be a shape, as a list")
        return self.builder.stored(f"{name}.{operand}", _sizes(value), DTYPES["float32"])

    def _type(self, tensor: str) -> TensorType:
        found = self.builder.tensors[tensor].type
        if found is None:
            raise GraphError(f"the shape of {tensor!r} depends on values")
        return found

    def _channels(self, tensor: str) -> dict[str, Value]:
        """``in_channels``: the size of axis 1 of what a scope reads first; of its last axis, where it has no more."""
        shape = self.builder.tensors[tensor].shape
        return {"in_channels": shape[1] if len(shape) > 1 else shape[-1]} if shape else {}

    def _resolve(self, scope: _Scope, name: str) -> str:
        """The tensor that a name is: an input of the scope, what a layer before made, or a further output (``split:1``)."""
        full = scope.prefix + name
        tensor = scope.inputs.get(name) or self.made.get(full)
        if tensor is None and full in self.builder.tensors:
            tensor = full
        if tensor is None:
            inner = [made.removeprefix(scope.prefix) for made in self.made if made.startswith(scope.prefix)]
            there = [*scope.inputs, *(made for made in inner if made.partition(".")[0] == name.partition(".")[0])]
            raise GraphError(f"no layer before this one is called {name!r}; it can read {listed(there)}")
        return tensor

    def _let(self, values: Mapping[str, Term], known: Known, path: str) -> dict[str, Value]:
        computed = dict(known)
        with self._located(path):
            for name, term in values.items():
                computed[name] = _one(name, term, computed)
        return computed


def _value(term: Term, known: Known) -> Attribute:
    if isinstance(term, Expression):
        return term.value(known)
    if isinstance(term, tuple):
        return tuple(_value(item, known) for item in term)
    return term


def _one(name: str, term: Term, known: Known) -> Value:
    value = _value(term, known)
    if isinstance(value, tuple):
        raise ExpressionError(f"{name} must be one value, not a list")
    return value


def _argument(name: str, term: Term, default: Attribute, known: Known) -> Attribute:
    if isinstance(term, tuple):
        return tuple(_argument(name, item, default, known) for item in term)
    if isinstance(term, Expression) and stands_for_itself(term, name, default, known):
        return term.text
    return _value(term, known)


def _named(name: Name, known: Known, *, numbered: bool, index: int) -> str:
    """The name of one instance: braces filled in, or numbered from 0 where a layer repeats and its name has none."""
    pieces = [piece if isinstance(piece, str) else str(piece.value(known)) for piece in name.pieces]
    return "".join(pieces) + (f".{index}" if numbered and len(pieces) == 1 else "")


def _filled(op: Op, sources: list[str], kept: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The operands that a layer reads, in the operator's order; those kept with the layer have their places already."""
    free = [slot for slot in op.slots if slot.name not in kept]
    for position, source in enumerate(sources):
        slot = free[min(position, len(free) - 1)] if free else None
        if slot is None or (position >= len(free) and not slot.variadic):
            raise GraphError(f"{op.name} reads {len(free)} tensors, not {len(sources)}")
        yield slot.name, source


def _shape(terms: tuple[Term, ...], known: Known) -> Shape:
    return _sizes(tuple(_value(term, known) for term in terms))


def _sizes(values: tuple[Attribute, ...]) -> Shape:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DIMENSION:
            raise GraphError(f"a dimension must be a whole number from 1 to 2^48, not {value!r}")
    return tuple(value for value in values if isinstance(value, int))

"""Inputs as the command line and files of budgets state them: ``NAME=1x3x224x224``, ``1x128:int64``, ``NAME=scalar``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from weighbridge.errors import BadSpec
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple
from weighbridge.sources import USER_FILE, file_of, is_named_model

if TYPE_CHECKING:
    from weighbridge.frontends.torch_inputs import TensorSpec

__all__ = ["Inputs", "inputs_for", "is_size", "parse"]

_HINT = "write NAME=1x3x224x224, or NAME=scalar"


class Inputs(NamedTuple):
    """What was said of inputs: by position, by name, and whether an element type was."""

    positional: tuple[TensorSpec, ...]
    named: dict[str, TensorSpec]
    has_types: bool

    def shapes(self, is_file: bool) -> dict[str, Shape]:
        """The shapes by name, for a file, which has the names and the element types itself.  Raises ``BadSpec``.

        A source that is no file is refused elsewhere, with the better reason: it takes no shapes, or is not there.
        """
        if not is_file:
            return {str(place): spec.shape for place, spec in enumerate((*self.positional, *self.named.values()))}
        if self.positional:
            raise BadSpec("the input of a file has a name", where="--input", hint=_HINT)
        if self.has_types:
            raise BadSpec("the element types of its inputs stand in the file", where="--input", hint=_HINT)
        return {name: spec.shape for name, spec in self.named.items()}


def parse(options: Sequence[str]) -> Inputs:
    """The options as they were written.  Raises ``BadSpec``."""
    if not options:
        return Inputs((), {}, has_types=False)
    from weighbridge.frontends.torch_inputs import TensorSpec

    positional: list[TensorSpec] = []
    named: dict[str, TensorSpec] = {}
    has_types = False
    for option in options:
        name, equals, written = option.rpartition("=")
        shape, colon, dtype = written.partition(":")
        sizes = shape.lower().replace(",", "x").split("x") if shape != "scalar" else []
        if bool(equals) != bool(name) or not all(is_size(size) for size in sizes):
            raise BadSpec(f"{option!r} is no shape of an input", where="--input", hint=_HINT)
        if name in named:
            raise BadSpec(f"{name!r} is given twice", where="--input", hint="once is enough")
        try:
            spec = TensorSpec(tuple(int(size) for size in sizes), dtype if colon else "float32")
        except BadSpec as error:
            raise BadSpec(error.what, where="--input", hint=error.hint) from None
        has_types = has_types or bool(colon)
        if name:
            named[name] = spec
        else:
            positional.append(spec)
    return Inputs(tuple(positional), named, has_types)


def inputs_for(source: str, options: Sequence[str]) -> dict[str, Any]:
    """``inputs`` and ``kwargs`` of ``weigh`` for a source as it is written: shapes for a file, tensors for what is or makes a module.

    Raises ``BadSpec``.
    """
    stated = parse(options)
    if USER_FILE.fullmatch(source) or is_named_model(source):
        return {"inputs": stated.positional, "kwargs": stated.named}
    return {"inputs": stated.shapes(file_of(source) is not None)}


def is_size(text: str) -> bool:
    """Whether this is a whole number that a dimension can have."""
    return text.isascii() and text.isdecimal() and len(text) < 19

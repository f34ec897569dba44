"""How a foreign operator becomes ours: shared by the front ends, free of any framework.

A front end captures nodes as ``Foreign`` calls.  Its table maps each foreign operator to an ``As`` (which operand is
which, and a function for the attributes) or to a function that returns ``Step``s, for an operator that is several of
ours or whose meaning depends on its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from math import isfinite
from typing import Any, Protocol

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import UNKNOWN, Attribute, TensorType
from weighbridge.named_tuple import NamedTuple

__all__ = [
    "As",
    "Foreign",
    "Held",
    "Rule",
    "Services",
    "Step",
    "asked_step",
    "bind",
    "set_aside",
    "translate",
    "whole_numbers",
]


class Services(Protocol):
    """What a rule may ask about the tensors that a call reads."""

    def type_of(self, tensor: str) -> TensorType | None:
        """The type, or None where the shape is not known."""

    def dtype_name(self, tensor: str) -> str:
        """The name of the element type."""

    def values_of(self, tensor: str) -> tuple[Any, ...] | None:
        """The values in row-major order where they are known before inference."""

    def is_static(self, tensor: str) -> bool:
        """Whether the tensor depends on no input."""


def whole_numbers(values: Iterable[Any]) -> tuple[int, ...] | None:
    """``values`` as ints; None where one of them is text, a fraction, infinite or not a number."""
    numbers = []
    for value in values:
        if not isinstance(value, int | float) or not isfinite(value) or value != int(value):
            return None
        numbers.append(int(value))
    return tuple(numbers)


class Foreign:
    """One call as the file has it: operands and results by position, "" where an optional one is absent.

    ``stated`` are the types that the file states of its results; empty where it states none.
    """

    __slots__ = ("attributes", "domain", "inputs", "name", "op", "outputs", "services", "stated", "version")

    def __init__(
        self,
        name: str,
        domain: str,
        op: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        attributes: Mapping[str, Any],
        version: int,
        services: Services,
        stated: Sequence[TensorType] = (),
    ) -> None:
        self.name = name
        self.domain = domain
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self.attributes = attributes
        self.version = version
        self.services = services
        self.stated = stated

    @property
    def qualified(self) -> str:
        """What the operator is called, with its domain unless that is the default one."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def has(self, position: int) -> bool:
        """Whether the operand is there."""
        return position < len(self.inputs) and self.inputs[position] != ""

    def operand(self, position: int) -> str:
        """The tensor at a position.  Raises ``GraphError`` where the file left it out."""
        if not self.has(position):
            raise GraphError(f"{self.op} lacks its operand {position}", where=self.name)
        return self.inputs[position]

    def has_output(self, position: int) -> bool:
        """Whether the result is used."""
        return position < len(self.outputs) and self.outputs[position] != ""

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or ``default``."""
        return self.attributes.get(name, default)

    def type(self, position: int) -> TensorType | None:
        """The type of an operand; None where it is absent or its shape is not known."""
        return self.services.type_of(self.inputs[position]) if self.has(position) else None

    def rank(self, position: int) -> int | None:
        """The number of dimensions of an operand, where known."""
        found = self.type(position)
        return None if found is None else len(found.shape)

    def values(self, position: int) -> tuple[Any, ...] | None:
        """The values of an operand where they are known before inference."""
        return self.services.values_of(self.inputs[position]) if self.has(position) else None

    def ints(self, name: str, position: int) -> tuple[int, ...] | None:
        """Whole numbers that are an attribute in old versions and an operand in new ones; None where not known."""
        given = self.attributes.get(name)
        if given is None:
            given = self.values(position)
        if given is None:
            return None
        return whole_numbers(given if isinstance(given, tuple) else (given,))

    def sizes(self, position: int) -> tuple[int, ...] | None:
        """The values of an operand as whole numbers; None where they are not known, or no whole numbers."""
        given = self.values(position)
        return None if given is None else whole_numbers(given)

    def inner(self, suffix: str) -> str:
        """An id for a tensor between the steps of one foreign operator."""
        return f"{self.name}.{suffix}"


class Held(NamedTuple):
    """An operand that a call holds in an attribute of its own, such as the coefficients of a linear regressor.

    ``name`` tells it apart from the others of the call.  ``source`` is the attribute as the file has it, a tuple or a
    message: a call inside a function that runs several times holds it once.
    """

    operand: str
    name: str
    kind: TensorType
    source: Any


class Step(NamedTuple):
    """One call of our operator: operands as (name, tensor id), results by id ("" for one that nobody reads).

    ``declared`` are types, or element types alone, that the rule of the front end knows although ours may not (an operand
    of unknown shape), ``held`` further operands, which stand in attributes of the call and become stored tensors.  A step
    of the operator ``UNKNOWN`` is what nobody can count, for the ``reason`` given.
    """

    operator: str
    operands: Sequence[tuple[str, str]]
    attributes: Mapping[str, Attribute]
    outputs: Sequence[str]
    declared: Sequence[TensorType | DType | None] = ()
    held: Sequence[Held] = ()
    reason: str = ""


class As(NamedTuple):
    """A foreign operator that is one of ours.

    ``operands`` names the operands by position: ``"x w b"``; ``-`` passes over one that is not an operand of ours, and
    a last ``*xs`` takes all that follow.  ``attributes`` returns our attributes; ``"unknown"`` for one that depends on
    a value that is not known.  ``results`` names the results of an operator that makes only those that are asked for.
    """

    operator: str
    operands: str
    attributes: Callable[[Foreign], Mapping[str, Attribute]] | None = None
    results: str = ""


Rule = As | Callable[[Foreign], Sequence[Step]]


def translate(call: Foreign, rule: Rule) -> Sequence[Step]:
    """The steps that a call is in our vocabulary."""
    if not isinstance(rule, As):
        return rule(call)
    attributes = rule.attributes(call) if rule.attributes is not None else {}
    return (asked_step(rule.operator, bind(call, rule.operands), attributes, rule.results, call.outputs),)


def set_aside(call: Foreign, reason: str, declared: Sequence[TensorType | None] = ()) -> Sequence[Step]:
    """A call that nobody can count, for a ``reason``; ``declared`` is what is known of its results all the same."""
    operands = [("inputs", tensor) for tensor in call.inputs if tensor]
    return (Step(UNKNOWN, operands, {}, call.outputs, declared, reason=reason),)


def asked_step(
    operator: str,
    operands: Sequence[tuple[str, str]],
    attributes: Mapping[str, Attribute],
    results: str,
    outputs: Sequence[str],
) -> Step:
    """The step of an operator that makes only those of its ``results``, named in order, whose output is read.

    The first where none is; without names all that there are.
    """
    if not results:
        return Step(operator, operands, attributes, outputs)
    names = results.split()
    asked = [(name, output) for name, output in zip(names, outputs, strict=False) if output] or [(names[0], "")]
    made, read = zip(*asked, strict=True)
    return Step(operator, operands, {**attributes, "outputs": made}, read)


def bind(call: Foreign, names: str) -> list[tuple[str, str]]:
    """The call's operands under our names, absent ones left out."""
    words, rest = _words(names)
    named: Iterable[tuple[str, str]] = zip(words, call.inputs, strict=False)
    if len(call.inputs) > len(words) and rest:
        named = chain(named, ((rest, tensor) for tensor in call.inputs[len(words) :]))
    return [(word, tensor) for word, tensor in named if tensor and word != "-"]


@cache
def _words(names: str) -> tuple[tuple[str, ...], str]:
    """The words of an ``As``, and the name of what follows them; "" where nothing may."""
    words = names.split()
    rest = words.pop()[1:] if words and words[-1][0] == "*" else ""
    return tuple(words), rest

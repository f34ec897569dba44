"""GELU in its three forms, written as arithmetic around an error function, a hyperbolic tangent or a sigmoid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.graph import Node, Role
from weighbridge.named_tuple import NamedTuple
from weighbridge.passes.wiring import Match, Wiring

__all__ = ["gelu"]

_Terms = dict[tuple[int, int], bool]
"""A polynomial in x and in the value of a function: by the powers of both, whether a number multiplies the term."""

_NUMBER: Final[_Terms] = {(0, 0): True}
_X: Final[_Terms] = {(1, 0): False}
_VALUE: Final[_Terms] = {(0, 1): False}
_ARITHMETIC: Final = ("mul", "div", "add", "pow", "square")
_LARGEST_POWER: Final = 3
_DEEPEST: Final = 8
"""More operators than follow each other where a GELU is written out: what is longer is none."""


class _Form(NamedTuple):
    """A form of GELU: the polynomial in x that a function is applied to, and that of x and its value that is the whole."""

    approximate: str
    argument: _Terms
    whole: _Terms


_LINE: Final[_Terms] = {(1, 0): True}
_CUBIC: Final[_Terms] = {(1, 0): True, (3, 0): True}
_GATED: Final[_Terms] = {(1, 0): True, (1, 1): True}
_FORMS: Final[Mapping[str, _Form]] = {
    "erf": _Form("none", _LINE, _GATED),
    "tanh": _Form("tanh", _CUBIC, _GATED),
    "sigmoid": _Form("sigmoid", _LINE, {(1, 1): False}),
}


def gelu(wiring: Wiring, function: Node) -> Match | None:
    """The GELU around ``function``: an erf, a tanh or a sigmoid.

    The forms are c x (c + erf(c x)), c x (c + tanh(c x + c x^3)) and x sigmoid(c x), in whatever order they are summed and
    multiplied.  The structure is the proof: a graph holds no values, so each c is any number that is stored.  Nobody writes
    anything else with an error function, a tanh of a cubic or a gate like these, and other numbers cost the same.
    """
    form = _FORMS[function.operator]
    argument = function.operands[0][1]
    x = _source(wiring, argument)
    if not x or x in wiring.static or wiring.tensors[x].dtype.kind == "complex":
        return None
    for power in (3, 2):
        inside = _Reading(wiring, {x: _X}, power)
        if inside.of(argument, _DEEPEST) == form.argument:
            return _whole(wiring, function, x, inside)
    return None


def _source(wiring: Wiring, tensor: str) -> str:
    """What arithmetic makes ``tensor`` of; "" where that is none but numbers."""
    for _ in range(_DEEPEST):
        node = wiring.part(tensor, *_ARITHMETIC)
        if node is None:
            return tensor
        running = [one for _, one in node.operands if not wiring.is_number(one)]
        if not running:
            return ""
        tensor = running[0]
    return ""


def _whole(wiring: Wiring, function: Node, x: str, inside: _Reading) -> Match | None:
    """Follows the value of ``function`` to where it is put together with x."""
    form, value = _FORMS[function.operator], function.outputs[0]
    last = function
    for _ in range(_DEEPEST):
        reader = wiring.reader(last.outputs[0], "mul", "div", "add")
        if reader is None:
            return None
        last = reader
        outside = _Reading(wiring, {x: _X, value: _VALUE})
        if outside.of_node(last, _DEEPEST) == form.whole:
            break
    else:
        return None
    if wiring.tensors[last.outputs[0]].type != wiring.tensors[x].type:
        return None
    attributes = wiring.attributes("gelu", approximate=form.approximate)
    whole = Node(
        last.name, "gelu", (("x", x),), last.outputs, attributes, last.scope, last.origin, file_node=last.file_node
    )
    return Match({last.name: (whole,)}, [function.name, *inside.names, *outside.names])


class _Reading:
    """Arithmetic read as polynomials in the tensors of ``symbols``; ``names`` are the nodes that were read.

    ``power`` is what a number as an exponent is taken for.
    """

    def __init__(self, wiring: Wiring, symbols: Mapping[str, _Terms], power: int = 0) -> None:
        self.wiring = wiring
        self.symbols = symbols
        self.power = power
        self.names: list[str] = []

    def of(self, tensor: str, depth: int) -> _Terms | None:
        """The polynomial that ``tensor`` is; None where it is none."""
        if tensor in self.symbols:
            return self.symbols[tensor]
        if self.wiring.is_number(tensor):
            # A factor that is learned is none of GELU's.
            return None if self.wiring.tensors[tensor].role is Role.PARAMETER else _NUMBER
        node = self.wiring.part(tensor, *_ARITHMETIC)
        return None if node is None or not depth else self.of_node(node, depth)

    def of_node(self, node: Node, depth: int) -> _Terms | None:
        """The polynomial that the result of an arithmetic node is."""
        self.names.append(node.name)
        first, last = self.of(node.inputs[0], depth - 1), self.of(node.inputs[-1], depth - 1)
        if first is None or last is None:
            return None
        if node.operator == "add":
            return {powers: first.get(powers, False) or last.get(powers, False) for powers in (*first, *last)}
        if node.operator == "pow":
            return {(self.power, 0): False} if (first, last) == (_X, _NUMBER) else None
        return None if node.operator == "div" and last != _NUMBER else _product(first, last)


def _product(a: _Terms, b: _Terms) -> _Terms | None:
    """The product of two polynomials; None where a power is higher than in any GELU."""
    terms: _Terms = {}
    for (m, n), scaled in a.items():
        for (p, q), also in b.items():
            powers = m + p, n + q
            terms[powers] = scaled or also or terms.get(powers, False)
    return terms if max(map(max, terms)) <= _LARGEST_POWER else None

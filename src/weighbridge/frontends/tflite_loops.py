"""What the file itself tells of a loop: which tensors go through it unchanged, and how often it runs.

How often follows where everything that the condition looks at is a stored whole number, or starts as one and grows by one with
every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

from weighbridge.frontends.tflite_model import Operator, TfliteModel, TfliteTensor
from weighbridge.frontends.tflite_values import values_of
from weighbridge.named_tuple import NamedTuple

__all__ = ["LOOPS", "MAX_DEPTH", "Loops"]

MAX_DEPTH: Final = 100
"""Subgraphs inside each other; Python's own stack ends a little later."""
LOOPS: Final = frozenset({"WHILE", "STABLEHLO_WHILE"})
_MAX_STEPS: Final = 32
"""Operators between a counter and its next value, or what the condition compares; converters write one."""

_SUMS: Final[Mapping[str, int]] = {"ADD": 1, "STABLEHLO_ADD": 1, "SUB": -1, "STABLEHLO_SUBTRACT": -1}
_SAME: Final = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "CAST", "STABLEHLO_RESHAPE", "STABLEHLO_CONVERT"})
_ALL: Final = frozenset({"LOGICAL_AND", "STABLEHLO_AND"})
_TESTS: Final[Mapping[str, str]] = {
    "LESS": "<",
    "LESS_EQUAL": "<=",
    "GREATER": ">",
    "GREATER_EQUAL": ">=",
    "EQUAL": "=",
    "NOT_EQUAL": "!=",
}
_DIRECTIONS: Final = ("=", "!=", ">=", ">", "<=", "<")
"""Tests of STABLEHLO_COMPARE, by their number in the schema."""


class _Term(NamedTuple):
    """A whole number: a stored one, or one that is carried into the subgraph at a place, and ``more``."""

    place: int | None
    more: int


class _Series(NamedTuple):
    """A number before the first pass, after it, and by how much it grows with each further one."""

    first: int
    second: int
    step: int

    def after(self, passes: int) -> int:
        return self.second + self.step * (passes - 1) if passes else self.first


Known = Callable[[int, int], Sequence[Any] | None]
"""The values of a tensor of a subgraph that are the same in every pass, None where they are not known."""


class _Counted(NamedTuple):
    """A loop's body, the values that it starts with by place, those among them that never change, and what else never does."""

    body: int
    starts: Sequence[int | None]
    fixed: Mapping[int, int]
    known: Known


class Loops:
    """The loops of one model; subgraphs are known by number."""

    def __init__(self, model: TfliteModel) -> None:
        self.model = model
        self._unchanged: dict[int, frozenset[int]] = {}
        self._makers: dict[int, Mapping[int, tuple[Operator, int]]] = {}

    def unchanged(self, body: int, depth: int = 0) -> frozenset[int]:
        """The places of what a loop's body returns as it took it, through loops inside it as well."""
        known = self._unchanged.get(body)
        if known is None:
            self._unchanged[body] = frozenset()  # for a body that contains itself, which is refused elsewhere
            graph = self.model.subgraphs[body]
            known = self._unchanged[body] = frozenset(
                place
                for place, (taken, returned) in enumerate(zip(graph.inputs, graph.outputs, strict=False))
                if self._source(body, returned, depth) == taken
            )
        return known

    def trips(self, condition: int, body: int, starts: Sequence[Sequence[Any] | None], known: Known) -> int | None:
        """How often a loop runs whose carried tensors have these values before it; None where that is not known."""
        same, numbers = self.unchanged(body), [_number(one) for one in starts]
        fixed = {place: start for place, start in enumerate(numbers) if place in same and start is not None}
        passes = self._lasts(condition, _Counted(body, numbers, fixed, known))
        return None if passes is None or passes == inf else int(passes)

    def _source(self, number: int, tensor: int, depth: int = 0) -> int:
        """The tensor that ``tensor`` of a subgraph is, behind the loops that it goes through unchanged."""
        makers = self._makers_of(number)
        for _ in range(_MAX_STEPS):
            maker, place = makers.get(tensor, (None, 0))
            if maker is None or maker.op not in LOOPS or depth >= MAX_DEPTH:
                break
            body = maker.options.get("body_subgraph_index", -1)
            if not 0 <= body < len(self.model.subgraphs) or place >= len(maker.inputs):
                break
            if place not in self.unchanged(body, depth + 1) or maker.inputs[place] < 0:
                break
            tensor = maker.inputs[place]
        return tensor

    def _makers_of(self, number: int) -> Mapping[int, tuple[Operator, int]]:
        """By tensor the operator that makes it, and which of its results it is."""
        known = self._makers.get(number)
        if known is None:
            graph = self.model.subgraphs[number]
            known = self._makers[number] = {
                tensor: (one, place) for one in graph.operators for place, tensor in enumerate(one.outputs)
            }
        return known

    def _lasts(self, condition: int, counted: _Counted) -> float | None:
        """After how many passes a condition first fails, infinite where it never does; None where that is not known."""
        wanted = [*self.model.subgraphs[condition].outputs]
        found: float = inf
        for _ in range(_MAX_STEPS):
            if not wanted:
                return found
            tensor = wanted.pop()
            maker, _ = self._makers_of(condition).get(tensor, (None, 0))
            if maker is not None and maker.op in _ALL:
                wanted += maker.inputs
                continue
            passes = self._test(condition, counted, tensor, maker)
            if passes is None:
                return None
            found = min(found, passes)
        return None

    def _test(self, condition: int, counted: _Counted, tensor: int, maker: Operator | None) -> float | None:
        test = "" if maker is None else _test_of(maker)
        if maker is None or not test:
            # A truth value that is stored, or carried and always the same.
            series = self._series(condition, counted, tensor)
            return None if series is None else _passes("!=", series, _Series(0, 0, 0))
        sides = [self._series(condition, counted, side) for side in maker.inputs]
        one, other = sides if len(sides) == 2 else (None, None)
        if one is None or other is None:
            return None
        passes = _passes(test, one, other)
        if passes is None or passes == inf:
            return passes
        tensors = [self.model.subgraphs[condition].tensors[side] for side in maker.inputs]
        last = [one.after(int(passes)), other.after(int(passes))]
        fits = all(_holds(tensor, value) for tensor, value in zip(tensors, last, strict=True))
        return passes if fits else None  # else it would overflow before

    def _series(self, condition: int, counted: _Counted, tensor: int) -> _Series | None:
        """The values of a number that the condition computes, from pass to pass."""
        term = self._term(condition, tensor, counted, {})
        if term is None:
            return None
        if term.place is None:
            return _Series(term.more, term.more, 0)
        carried = self._carried(counted, term.place)
        return None if carried is None else _Series(carried[0] + term.more, carried[1] + term.more, carried[2])

    def _carried(self, counted: _Counted, place: int) -> _Series | None:
        """The values of a carried number from pass to pass."""
        start, returned = counted.starts[place], self._returned(counted, place)
        if start is None or returned is None:
            return None
        if returned.place is None:
            return _Series(start, returned.more, 0)
        if returned.place == place:
            return _Series(start, start + returned.more, returned.more)
        # One that follows another counter.
        first, other = counted.starts[returned.place], self._returned(counted, returned.place)
        if first is None or other is None or other.place != returned.place:
            return None
        return _Series(start, first + returned.more, other.more)

    def _returned(self, counted: _Counted, place: int) -> _Term | None:
        outputs = self.model.subgraphs[counted.body].outputs
        return self._term(counted.body, outputs[place], counted, {}) if place < len(outputs) else None

    def _term(self, number: int, tensor: int, counted: _Counted, seen: dict[int, _Term | None]) -> _Term | None:
        """What a number of a subgraph is; None where it is none, or is computed in another way."""
        if len(seen) > _MAX_STEPS:
            return None
        if tensor not in seen:
            seen[tensor] = None
            seen[tensor] = self._computed(number, tensor, counted, seen)
        return seen[tensor]

    def _computed(self, number: int, tensor: int, counted: _Counted, seen: dict[int, _Term | None]) -> _Term | None:
        graph = self.model.subgraphs[number]
        if tensor < 0 or not _is_number(graph.tensors[tensor]):
            return None
        tensor = self._source(number, tensor)
        if tensor in graph.inputs:
            place = graph.inputs.index(tensor)
            return _Term(None, counted.fixed[place]) if place in counted.fixed else _Term(place, 0)
        value = _number(counted.known(number, tensor) or values_of(self.model, graph.tensors[tensor]))
        if value is not None:
            return _Term(None, value)
        maker, _ = self._makers_of(number).get(tensor, (None, 0))
        if maker is None or maker.options.get("fused_activation_function"):
            return None
        terms = [self._term(number, one, counted, seen) for one in maker.inputs[:2]]
        if maker.op in _SAME and terms:
            return terms[0]
        return _sum(terms[0], terms[1], _SUMS[maker.op]) if maker.op in _SUMS and len(terms) == 2 else None


def _number(values: Sequence[Any] | None) -> int | None:
    """The one whole number among values."""
    return int(values[0]) if values is not None and len(values) == 1 and isinstance(values[0], int) else None


def _sum(one: _Term | None, other: _Term | None, sign: int) -> _Term | None:
    if one is None or other is None or (other.place is not None and (one.place is not None or sign < 0)):
        return None
    return _Term(one.place if other.place is None else other.place, one.more + sign * other.more)


def _is_number(tensor: TfliteTensor) -> bool:
    """Whether it is one whole number, or one truth value, that stands for itself."""
    return (
        tensor.dtype.kind in ("int", "uint", "bool")
        and tensor.quantisation is None
        and all(size == 1 for size in tensor.shape or ())
    )


def _holds(tensor: TfliteTensor, value: int) -> bool:
    """Whether a value is one that a tensor of whole numbers can have."""
    bits = int(tensor.dtype.bits or 0)
    return 0 <= value < 1 << bits if tensor.dtype.kind == "uint" else -1 << (bits - 1) <= value < 1 << (bits - 1)


def _test_of(operator: Operator) -> str:
    if operator.op != "STABLEHLO_COMPARE":
        return _TESTS.get(operator.op, "")
    number = operator.options.get("comparison_direction", 0)
    return _DIRECTIONS[number] if 0 <= number < len(_DIRECTIONS) else ""


def _passes(test: str, one: _Series, other: _Series) -> float | None:
    """After how many passes a test of two numbers first fails; infinite where it never does."""
    first, second, step = (a - b for a, b in zip(one, other, strict=True))
    if test in (">", ">="):
        test, first, second, step = {">": "<", ">=": "<="}[test], -first, -second, -step
    if test == "<=":
        first, second = first - 1, second - 1
    if not _is_true(test, first):
        return 0
    if not _is_true(test, second):
        return 1
    return _further(test, second, step)


def _is_true(test: str, difference: int) -> bool:
    if test in ("=", "!="):
        return (difference == 0) == (test == "=")
    return difference < 0


def _further(test: str, second: int, step: int) -> float | None:
    """The same where the test holds before the first pass and after it."""
    if step == 0:
        return inf
    if test == "=":
        return 2
    if test == "!=":
        return 1 - second // step if second % step == 0 and second // step < 0 else None
    return 1 - second // step if step > 0 else None

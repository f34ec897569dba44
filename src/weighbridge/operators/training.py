"""Gradients that a graph asks for, and the steps of optimisers.

Backward through a contraction each operand that depends on what is varied takes one product of as many multiply-accumulates as the
contraction has: of an m x k by a k x n matrix, the result's gradient times the other operand, m x n over k, or the other operand
times it.  Everything else is differentiated element by element or by sums, which are no contractions.  How much other work that
is has no rule.

A step of an optimiser follows its formula as it is written, an element of each tensor: G = c X + G 1 mul, 1 add; then

- adam: V = a V + (1 - a) G, H = b H + (1 - b) G G, X = d (X - r V / (sqrt(H) + e)), together 7 mul, 4 add, 1 div, 1 special;
- adagrad: H = H + G G, X = X - r G / (sqrt(H) + e), together 2 mul, 3 add, 1 div, 1 special;
- momentum: V = a V + b G, X = X - r V, together 3 mul, 2 add;
- nesterov: V = a V + b G, X = X - r (G + a V), together 4 mul, 3 add.

The few operations on the rate itself, once a call, count too.
"""

from __future__ import annotations

from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import TensorType
from weighbridge.named_tuple import NamedTuple

from .halo import no_halo
from .record import REQUIRED, Call, Kind, Loops, Op, Work
from .time_class import TimeClass

__all__ = ["TRAINING_OPERATORS"]


def _gradient(call: Call) -> tuple[TensorType, ...]:
    """A gradient for each tensor that is varied, of its type."""
    if not call.all("xs"):
        raise GraphError("a gradient by nothing")
    return call.all("xs")


def _gradient_loops(call: Call) -> tuple[Loops, ...]:
    """A product of the same multiply-accumulates for each operand of a contraction that depends on what is varied; the
    contractions themselves where they have to run again.
    """
    products = call["products"]
    found = []
    for one in products if isinstance(products, tuple) else (products,):
        sizes = one if isinstance(one, tuple) else (one,)
        numbers = [int(size) for size in sizes if isinstance(size, int) and size >= 0]
        if len(numbers) != 4 or len(sizes) != 4:
            raise GraphError(f"a product has m, n, k and groups, not {one!r}")
        m, n, k, groups = numbers
        found.append(Loops(m, n, k, groups))
    return tuple(found)


def _gradient_work(call: Call) -> None:
    """Depends on the functions that are differentiated."""


class _Rule(NamedTuple):
    """An optimiser: what it keeps of each tensor, its work on an element and on a call."""

    states: tuple[str, ...]
    element: Work
    once: Work


_RULES: Final = {
    "adam": _Rule(
        ("momenta", "squares"), Work(add=5, mul=8, div=1, special=1), Work(add=2, mul=1, div=1, compare=1, special=3)
    ),
    "adagrad": _Rule(("squares",), Work(add=4, mul=3, div=1, special=1), Work(add=1, mul=1, div=1)),
    "momentum": _Rule(("momenta",), Work(add=3, mul=4), Work(compare=1)),
    "nesterov": _Rule(("momenta",), Work(add=4, mul=5), Work(compare=1)),
}


def _rule(call: Call) -> _Rule:
    found = _RULES.get(call.text("rule"))
    if found is None:
        raise GraphError(f"there is no optimiser {call['rule']!r}", hint=f"it is one of {', '.join(_RULES)}")
    return found


def _step(call: Call) -> tuple[TensorType, ...]:
    """The tensors after the step, then what is kept of them."""
    xs, states = call.all("xs"), _rule(call).states
    if not xs:
        raise GraphError("an optimiser's step of no tensor")
    for name in ("gradients", *states):
        if [one.shape for one in call.all(name)] != [one.shape for one in xs]:
            raise GraphError(f"the {name} are not of the shapes of the tensors")
    return sum((call.all(name) for name in states), xs)


def _step_work(call: Call) -> Work:
    """By ``rule``, an element: adam 5 add, 8 mul, 1 div, 1 special; adagrad 4 add, 3 mul, 1 div, 1 special; momentum 3 add, 4 mul;
    nesterov 4 add, 5 mul.
    """
    rule = _rule(call)
    return rule.element.times(sum(one.elements for one in call.all("xs"))).plus(rule.once)


TRAINING_OPERATORS: Final = (
    Op(
        "gradient",
        Kind.CONTRACTION,
        "*xs *others",
        _gradient,
        _gradient_work,
        loops=_gradient_loops,
        attributes={"products": REQUIRED},
        summary="derivatives of a tensor of the graph by others, backward through what lies between them",
        time=TimeClass.OTHER,
    ),
    Op(
        "optimiser_step",
        Kind.ELEMENTWISE,
        "rate:control count:control *xs *gradients *momenta:statistic *squares:statistic",
        _step,
        _step_work,
        attributes={"rule": REQUIRED},
        summary="tensors after one step against their gradients, and the running means that the optimiser keeps",
        halo=no_halo,
    ),
)

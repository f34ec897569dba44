"""What the tables of PyTorch's operators share: numbers as tensors, functions in a row, axes, shapes that PyTorch made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import AtenCall, Rule
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute, Shape

__all__ = [
    "TO_END",
    "axes_of",
    "axis_of",
    "chain",
    "constant",
    "functions",
    "made_shape",
    "one",
    "scaled",
    "stretched",
    "unchanged",
]

TO_END: Final = (1 << 63) - 1
"""How PyTorch says "to the end" of an axis."""
Stage = tuple[str, Mapping[str, Attribute]]


def one(call: AtenCall, operator: str, attributes: Mapping[str, Attribute] | None = None, x: str = "self") -> Step:
    """A step that makes the results of the call from its argument ``x``."""
    return Step(operator, [("x", call.operand(x))], attributes or {}, call.outputs)


def unchanged(call: AtenCall) -> Sequence[Step]:
    """The result is the operand."""
    return (one(call, "identity"),)


def constant(call: AtenCall, suffix: str, dtype: str = "int64", shape: Shape = ()) -> Step:
    """A number that stands in the program, as a tensor: known before inference, so it costs none anything."""
    return Step("constant_of_shape", (), {"shape": shape, "dtype": dtype}, (call.inner(suffix),))


def chain(call: AtenCall, x: str, *stages: Stage, into: str | None = None) -> list[Step]:
    """Functions of one tensor in a row, from the tensor ``x`` to the call's first result, or to ``into``."""
    steps = []
    for place, (operator, attributes) in enumerate(stages):
        is_last = place == len(stages) - 1
        result = (into or call.outputs[0]) if is_last else call.inner(f"{operator}.{place}")
        steps.append(Step(operator, [("x", x)], attributes, (result,)))
        x = result
    return steps


def functions(*operators: str) -> Rule:
    """A rule: these functions in a row."""

    def rule(call: AtenCall) -> Sequence[Step]:
        return chain(call, call.operand("self"), *((operator, {}) for operator in operators))

    return rule


def axis_of(dim: int, rank: int) -> int:
    """An axis counted from the front; PyTorch takes a number for a tensor of one axis.  Raises ``GraphError`` if there is none."""
    rank = max(rank, 1)
    if not -rank <= dim < rank:
        raise GraphError(f"axis {dim} does not exist in {rank} dimensions")
    return dim % rank


def axes_of(call: AtenCall, name: str, x: str = "self") -> Attribute:
    """Axes in an argument, "all" where there are none, as PyTorch's reductions mean it."""
    dims, rank = call.integers(name), call.rank(x)
    return tuple(axis_of(dim, rank) for dim in dims) if dims and rank else "all"


def made_shape(call: AtenCall, place: int = 0) -> Shape:
    """The shape that PyTorch made of a result.  Raises ``GraphError`` where the program does not say it."""
    if place >= len(call.made):
        raise GraphError(f"the program does not say what {call.op} makes", where=call.name)
    return call.made[place].shape


def scaled(call: AtenCall, x: str, argument: str) -> tuple[list[Step], str]:
    """``x`` times the number in an argument, and the steps that this takes: none where the number is 1."""
    if call.number(argument, 1) == 1:
        return [], x
    factor, product = constant(call, argument, call.made[0].dtype.name), call.inner(f"{argument}.product")
    return [factor, Step("mul", [("a", x), ("b", factor.outputs[0])], {}, (product,))], product


def stretched(call: AtenCall, x: str, old: Shape, new: Shape, into: str) -> Step:
    """``x`` stretched to a shape: an identity where it has it."""
    if old == new:
        return Step("identity", [("x", x)], {}, (into,))
    return Step("expand", [("x", x)], {"shape": new}, (into,))

"""Rules of TensorFlow Lite's operators that make tensors: of one value, ranges, random numbers, shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.onnx_steps import number_in
from weighbridge.graph import UNKNOWN, Attribute, TensorType

__all__ = ["GENERATOR_RULES"]


def _dtype(call: Foreign) -> dict[str, Attribute]:
    """The element type is what the file states of the result."""
    return {"dtype": call.stated[0].dtype.name}


def _shape(call: Foreign) -> Attribute:
    values = call.sizes(0)
    return UNKNOWN if values is None else values


def _rank(call: Foreign) -> Sequence[Step]:
    """One number, whatever it is of."""
    return (Step("rank", bind(call, "x"), {}, call.outputs, (TensorType((), call.stated[0].dtype),)),)


def _filled(call: Foreign) -> Sequence[Step]:
    """One value, stretched: it may be known only at run time."""
    operands = [("x", call.operand(1)), ("shape", call.operand(0))]
    return (Step("expand", operands, {"shape": _shape(call)}, call.outputs),)


def _zeros(call: Foreign) -> Mapping[str, Attribute]:
    kind = call.type(0)
    return {"shape": UNKNOWN if kind is None else kind.shape, **_dtype(call)}


def _random(call: Foreign) -> Mapping[str, Attribute]:
    return {"shape": _shape(call), **_dtype(call)}


def _range(call: Foreign) -> Mapping[str, Attribute]:
    given: dict[str, Attribute] = {}
    for position, name in enumerate(("start", "limit", "step")):
        values = call.values(position)
        if values is not None and (len(values) != 1 or not isfinite(values[0])):
            raise GraphError(f"the {name} of a range is {values}", where=call.name)
        given[name] = UNKNOWN if values is None else values[0]
    return {**given, **_dtype(call)}


GENERATOR_RULES: Final[Mapping[str, Rule]] = {
    "SHAPE": As("shape", "x"),
    "RANK": _rank,
    "BROADCAST_ARGS": As("broadcast_shape", "a b"),
    "FILL": _filled,
    "ZEROS_LIKE": As("constant_of_shape", "", _zeros),
    "RANGE": As("range", "start limit step", _range),
    "RANDOM_UNIFORM": As("random_uniform", "", _random),
    "RANDOM_STANDARD_NORMAL": As("random_normal", "", _random),
    "MULTINOMIAL": As("multinomial", "x", lambda call: {"sample_size": number_in(call, 1), **_dtype(call)}),
}

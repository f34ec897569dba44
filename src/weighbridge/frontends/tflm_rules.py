"""What the kernels of TensorFlow Lite Micro demand of an operator before they take it, as functions that say what is wrong.

A rule names operands as ``i0`` (an input) and ``o0`` (an output) and answers "" where it has no objection.  Only what the records
hold can be tested: demands on the values of scales and zero points are not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

from weighbridge.frontends.tflite_model import TfliteTensor
from weighbridge.frontends.tflm_call import Call, count_of
from weighbridge.named_tuple import NamedTuple

__all__ = [
    "ANY",
    "Kernel",
    "Rule",
    "alike",
    "between",
    "broadcast",
    "is_quantised",
    "kinds",
    "numbers_of",
    "one_scale",
    "operand",
    "pairs",
    "present",
    "quantised",
    "ranks",
    "same",
    "same_inputs",
    "same_rank",
    "same_shape",
    "shape_of",
    "single",
    "stored",
    "unquantised",
]

Rule = Callable[[Call], str]


class Kernel(NamedTuple):
    """The numbers of inputs and outputs, fewest and most, and what else is demanded."""

    inputs: tuple[int, int]
    outputs: tuple[int, int]
    rules: tuple[Rule, ...] = ()


ANY: Final = (0, 1 << 30)
"""A number of operands that is not looked at."""

_MOST_NUMBERS: Final = 64
_CODES: Final[Mapping[str, str]] = {"int8": "b", "int16": "h", "int32": "i", "int64": "q"}


def operand(call: Call, name: str) -> TfliteTensor | None:
    """The tensor that a rule names."""
    return (call.input if name[0] == "i" else call.output)(int(name[1:]))


def _called(name: str) -> str:
    return f"{'input' if name[0] == 'i' else 'output'} {name[1:]}"


def present(names: str) -> Rule:
    """None of them may be left out."""

    def rule(call: Call) -> str:
        missing = next((name for name in names.split() if operand(call, name) is None), "")
        return f"{_called(missing)} is left out" if missing else ""

    return rule


def kinds(names: str, types: str) -> Rule:
    """Each of them, where it is given, has one of the types."""
    allowed = types.split()

    def rule(call: Call) -> str:
        for name in names.split():
            found = operand(call, name)
            if found is not None and found.dtype.name not in allowed:
                return f"{_called(name)} is {found.dtype.name}, and only {', '.join(allowed)} are supported"
        return ""

    return rule


def pairs(names: str, allowed: str) -> Rule:
    """Their types together are one of those that ``allowed`` lists as ``int8/int4``."""
    listed = allowed.split()

    def rule(call: Call) -> str:
        tensors = [operand(call, name) for name in names.split()]
        found = "/".join(one.dtype.name for one in tensors if one is not None)
        return "" if found in listed else f"operands of {found.replace('/', ' and ')} are not supported"

    return rule


def same(names: str) -> Rule:
    """They have one type."""

    def rule(call: Call) -> str:
        tensors = [one for name in names.split() if (one := operand(call, name)) is not None]
        types = sorted({one.dtype.name for one in tensors})
        return f"{' and '.join(types)} are mixed" if len(types) > 1 else ""

    return rule


def shape_of(call: Call, name: str) -> tuple[int, ...]:
    found = operand(call, name)
    return () if found is None else found.shape or ()


def same_shape(names: str) -> Rule:
    def rule(call: Call) -> str:
        shapes = [shape_of(call, name) for name in names.split()]
        wrong = next((pair for pair in pairwise(shapes) if pair[0] != pair[1]), None)
        return f"the shapes {list(wrong[0])} and {list(wrong[1])} differ" if wrong else ""

    return rule


def same_rank(names: str) -> Rule:
    def rule(call: Call) -> str:
        found = {len(shape_of(call, name)) for name in names.split()}
        return "" if len(found) == 1 else "its operands differ in rank"

    return rule


def broadcast(names: str) -> Rule:
    """Their shapes go together by the rules of NumPy."""

    def rule(call: Call) -> str:
        width = max(len(shape_of(call, name)) for name in names.split())
        padded = [(1,) * (width - len(shape)) + shape for name in names.split() for shape in [shape_of(call, name)]]
        fits = all(len({size for size in sizes if size != 1}) <= 1 for sizes in zip(*padded, strict=True))
        return "" if fits else "the shapes of its inputs cannot be broadcast"

    return rule


def ranks(names: str, least: int, most: int) -> Rule:
    def rule(call: Call) -> str:
        for name in names.split():
            rank = len(shape_of(call, name))
            if not least <= rank <= most:
                return f"{_called(name)} has {rank} dimensions, and {between(least, most)} are supported"
        return ""

    return rule


def between(least: int, most: int) -> str:
    if most == ANY[1]:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"


def single(name: str) -> Rule:
    """It has one value."""

    def rule(call: Call) -> str:
        count = count_of(operand(call, name))
        return "" if count == 1 else f"{_called(name)} has {count:,} values instead of one"

    return rule


def stored(names: str) -> Rule:
    """Their values must be in the file."""

    def rule(call: Call) -> str:
        for name in names.split():
            found = operand(call, name)
            if found is not None and found.data is None:
                return f"{_called(name)} is computed, and only stored values are supported"
        return ""

    return rule


def is_quantised(tensor: TfliteTensor | None) -> bool:
    """Whether the runtime takes it for quantised: it has scales and zero points."""
    found = None if tensor is None else tensor.quantisation
    return found is not None and found.scales > 0 and found.zero_points > 0


def quantised(names: str, key: str, types: str) -> Rule:
    """Each of them must be quantised where ``key`` has one of the types."""

    def rule(call: Call) -> str:
        if not _has_type(call, key, types):
            return ""
        plain = next((name for name in names.split() if not is_quantised(operand(call, name))), "")
        return f"{_called(plain)} has no scale and zero point" if plain else ""

    return rule


def unquantised(names: str, key: str, types: str) -> Rule:
    """None of them may be quantised where ``key`` has one of the types."""

    def rule(call: Call) -> str:
        if not _has_type(call, key, types):
            return ""
        scaled = next((name for name in names.split() if is_quantised(operand(call, name))), "")
        return f"{_called(scaled)} is quantised" if scaled else ""

    return rule


def one_scale(key: str, types: str) -> Rule:
    """Where ``key`` has one of the types, all inputs and the output are quantised, or none is: their scales must be equal."""

    def rule(call: Call) -> str:
        if not _has_type(call, key, types):
            return ""
        tensors = [call.input(place) for place in range(len(call.operator.inputs))] + [call.output(0)]
        found = {is_quantised(one) for one in tensors if one is not None}
        return "" if len(found) < 2 else "some of its operands are quantised and others are not"

    return rule


def alike(call: Call) -> str:
    """All inputs are given and have the type of the first."""
    tensors = [call.input(place) for place in range(len(call.operator.inputs))]
    types = sorted({one.dtype.name for one in tensors if one is not None})
    if None in tensors:
        return f"input {tensors.index(None)} is left out"
    return f"{' and '.join(types)} are mixed" if len(types) > 1 else ""


def same_inputs(call: Call) -> str:
    """All inputs have one shape."""
    return same_shape(" ".join(f"i{place}" for place in range(len(call.operator.inputs))))(call)


def _has_type(call: Call, key: str, types: str) -> bool:
    found = operand(call, key)
    return found is not None and found.dtype.name in types.split()


def numbers_of(call: Call, name: str) -> tuple[int, ...] | None:
    """The values of a small stored tensor of whole numbers, None for another."""
    found = operand(call, name)
    if found is None or found.data is None or found.dtype.name not in _CODES:
        return None
    start, size = found.data
    count, code = count_of(found), _CODES[found.dtype.name]
    if count > _MOST_NUMBERS or struct.calcsize(code) * count > size:
        return None
    return struct.unpack_from(f"<{count}{code}", call.data, start)

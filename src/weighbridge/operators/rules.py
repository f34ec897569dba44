"""What the records of most families are made of: result types, work an element, bytes of a selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import UNKNOWN, Shape, TensorType

from .record import Call, Traffic, Work, known_total
from .shapes import axis_of

__all__ = [
    "INT64",
    "axes_of",
    "dtype_of",
    "each",
    "in_its_place",
    "in_words",
    "known",
    "number",
    "pads_by_axis",
    "ranges_by_axis",
    "reads_nothing",
    "same",
    "same_rank",
    "selects",
    "sizes_of",
    "when_known",
]

INT64 = DTYPES["int64"]

Infer = Callable[[Call], tuple[TensorType | DType, ...]]


def each(**kinds: int) -> Callable[[Call], Work]:
    """A work rule: so many scalar operations of each kind for every element of the first output."""
    unit = Work(**kinds)

    def work(call: Call) -> Work:
        return unit.times(call.outputs[0].elements)

    work.__doc__ = f"{in_words(unit)} an element."
    return work


def in_words(unit: Work) -> str:
    """``1 add, 2 mul``: the kinds that there are."""
    return ", ".join(f"{count} {kind}" for kind, count in unit._asdict().items() if count)


def same(call: Call) -> tuple[TensorType, ...]:
    """A shape rule: one output, typed as the operand x."""
    return (call.x,)


def in_its_place(call: Call, name: str, operand: TensorType) -> int | None:
    """An overwriting rule: element by element, a result may lie where an operand of its shape and size does."""
    result = call.outputs[0]
    return 0 if operand.shape == result.shape and operand.bytes == result.bytes else None


def when_known(*attributes: str) -> Callable[[Infer], Infer]:
    """A shape rule that holds where these attributes are known.

    A front end that could not learn a value gives ``"unknown"`` for it: the output then has its type and no shape.  The
    wrapped rule must have one output of the type of its first operand, or handle the attribute itself.
    """

    def wrap(rule: Infer) -> Infer:
        def infer(call: Call) -> tuple[TensorType | DType, ...]:
            if known(call, *attributes):
                return rule(call)
            first = next(iter(call.operands.values()))[0]
            return (first.dtype,)

        return infer

    return wrap


def known(call: Call, *attributes: str) -> bool:
    """Whether the front end could learn the values of all these attributes."""
    return all(call[name] != UNKNOWN for name in attributes)


def dtype_of(call: Call, default: DType | None = None, name: str = "dtype") -> DType:
    """The element type that an attribute names; ``default`` where it is empty.  Raises ``GraphError`` for no such type."""
    text = call.text(name)
    if not text and default is not None:
        return default
    if text not in DTYPES:
        raise GraphError(f"{name} {text!r} is no element type")
    return DTYPES[text]


def number(call: Call, name: str) -> float:
    """An attribute that must be a finite number."""
    value = call[name]
    if isinstance(value, int | float) and isfinite(value):
        return value
    raise GraphError(f"{name} must be a number, not {value!r}")


def sizes_of(call: Call, name: str) -> Shape:
    """An attribute that must be dimensions: whole numbers, none of them negative."""
    sizes = call.integers(name)
    if any(size < 0 for size in sizes):
        raise GraphError(f"{name} has a negative dimension: {sizes}")
    return sizes


def axes_of(call: Call, rank: int, name: str = "axes") -> tuple[int, ...]:
    """An attribute that must be distinct axes, or ``"all"``; counted from the front, in the order given."""
    if call[name] == "all":
        return tuple(range(rank))
    axes = tuple(axis_of(axis, rank) for axis in call.integers(name))
    if len(set(axes)) != len(axes):
        raise GraphError(f"{name} names an axis twice: {axes}")
    return axes


def ranges_by_axis(call: Call) -> Mapping[int, range]:
    """The elements of x that a slice takes along each axis that it names; its bounds are clamped, and count from the end below 0."""
    shape, starts, ends = call.x.shape, call.integers("starts"), call.integers("ends")
    axes = axes_of(call, len(shape)) if call["axes"] != "all" else tuple(range(len(starts)))
    steps = call.integers("steps") if call["steps"] != 1 else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) <= len(shape):
        raise GraphError(f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps")
    if 0 in steps:
        raise GraphError(f"a step of 0 along axis {axes[steps.index(0)]}")
    bounds = zip(axes, map(slice, starts, ends, steps), strict=True)
    return {axis: range(*bound.indices(shape[axis])) for axis, bound in bounds}


def same_rank(a: TensorType, b: TensorType, names: str) -> None:
    """Raises ``GraphError`` unless both have as many dimensions."""
    if len(a.shape) != len(b.shape):
        raise GraphError(f"{names} have {len(a.shape)} and {len(b.shape)} dimensions, not as many")


def selects(name: str) -> Callable[[Call], Traffic]:
    """A traffic rule: of the operand ``name`` no more is read than comes out; the others are read whole."""

    def traffic(call: Call) -> Traffic:
        reads: list[int | None] = []
        for operand, types in call.operands.items():
            for one in types:
                wanted = sum(output.elements for output in call.outputs) if operand == name else one.elements
                reads.append(one.dtype.bytes_of(min(wanted, one.elements)))
        return Traffic(known_total(reads), known_total(output.bytes for output in call.outputs))

    traffic.__doc__ = f"Of {name} no more is read than comes out."
    return traffic


def reads_nothing(call: Call) -> Traffic:
    """Nothing is read: the operands matter by their shape alone."""
    return Traffic(0, known_total(output.bytes for output in call.outputs))


def pads_by_axis(call: Call) -> tuple[tuple[int, int], ...]:
    """(before, after) for every axis of what is padded.  Raises ``GraphError`` where they depend on values."""
    rank = len(call.x.shape)
    axes, pads = axes_of(call, rank), call.integers("pads")
    given = {axis: (pads[place], pads[place + len(axes)]) for place, axis in enumerate(axes)}
    return tuple(given.get(axis, (0, 0)) for axis in range(rank))

"""Einstein sums: any equation, with ellipsis and repeated labels; several operands are contracted pairwise, left to right."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Shape, TensorType
from weighbridge.named_tuple import NamedTuple

from .arithmetic import real_parts
from .record import REQUIRED, Call, Kind, Loops, Op, Work

__all__ = ["EINSUM_OPERATORS", "axis_labels"]

# An axis of an einsum is a letter, or a place in the ellipsis counted from its end: "-1" is its last axis.
_Sizes = dict[str, int]


class _Equation(NamedTuple):
    """``operands`` are the sizes by label of each operand, ``output`` the labels of the result, ``sizes`` those of all labels."""

    operands: tuple[_Sizes, ...]
    output: tuple[str, ...]
    sizes: _Sizes


def _labels(term: str, covered: int) -> tuple[str, ...]:
    """The labels of a term whose ellipsis, if it has one, covers this many axes."""
    before, dots, after = term.partition("...")
    if not all("a" <= letter.lower() <= "z" for letter in before + after):
        raise GraphError(f"the term {term!r} of an equation holds more than letters and one ellipsis")
    return (*before, *(str(axis) for axis in range(-covered, 0)), *after) if dots else tuple(before)


def _operand(term: str, shape: Shape) -> _Sizes:
    """The size of each label; a label that is repeated walks the diagonal."""
    letters = len(term.replace("...", "", 1))
    if len(shape) < letters or ("..." not in term and len(shape) > letters):
        raise GraphError(f"the term {term!r} does not fit an operand of {len(shape)} dimensions")
    sizes: _Sizes = {}
    for label, size in zip(_labels(term, len(shape) - letters), shape, strict=True):
        if sizes.setdefault(label, size) != size:
            raise GraphError(f"the diagonal {label} of {term!r} has sizes {sizes[label]} and {size}")
    return sizes


def axis_labels(call: Call) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """The label of each axis of every operand, and of the result: a letter, or "-1" for the last place of the ellipsis.

    Raises ``GraphError`` as the shape rule does.
    """
    equation = _parse(call)
    terms = "".join(call.text("equation").split()).partition("->")[0].split(",")
    covered = (len(x.shape) - len(term.replace("...", "", 1)) for term, x in zip(terms, call.all("xs"), strict=True))
    return tuple(map(_labels, terms, covered)), equation.output


def _together(first: _Sizes, second: _Sizes) -> _Sizes:
    """The sizes of all labels of both; a 1 stretches."""
    sizes = dict(first)
    for label, size in second.items():
        known = sizes.get(label, 1)
        if size != known and 1 not in (size, known):
            raise GraphError(f"the label {label} has sizes {known} and {size}")
        sizes[label] = size if known == 1 else known
    return sizes


def _parse(call: Call) -> _Equation:
    text, operands = "".join(call.text("equation").split()), call.all("xs")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise GraphError(f"the equation {text!r} is for {len(terms)} operands, not {len(operands)}")
    parsed = tuple(_operand(term, x.shape) for term, x in zip(terms, operands, strict=True))
    sizes: _Sizes = {}
    for operand in parsed:
        sizes = _together(sizes, operand)
    dots = sorted((label for label in sizes if label[0] == "-"), key=int)
    if arrow:
        output = _labels(right, len(dots))
    else:
        once = Counter(left.replace("...", ""))
        output = (*dots, *sorted(label for label, count in once.items() if count == 1 and label != ","))
    if len(set(output)) != len(output) or any(label not in sizes for label in output):
        raise GraphError(f"the result of {text!r} repeats a label, or has one that no operand has")
    return _Equation(parsed, output, sizes)


def _pairs(equation: _Equation) -> list[tuple[_Sizes, _Sizes, frozenset[str]]]:
    """(first, second, labels kept) of every contraction: the first operand with the second, the result with the third, ...

    A label is kept as long as the result or a later operand has it.
    """
    pending = Counter(label for operand in equation.operands for label in operand)
    pending.update(equation.output)
    result, pairs = equation.operands[0], []
    pending.subtract(list(result))
    for _, operand in pairwise(equation.operands):
        pending.subtract(list(operand))
        both = _together(result, operand)
        kept = frozenset(label for label in both if pending[label] > 0)
        pairs.append((result, operand, kept))
        result = {label: size for label, size in both.items() if label in kept}
    return pairs


def _infer(call: Call) -> tuple[TensorType, ...]:
    equation = _parse(call)
    return (TensorType(tuple(equation.sizes[label] for label in equation.output), call.all("xs")[0].dtype),)


def _loops(call: Call) -> tuple[Loops, ...]:
    """Each pair of operands is one contraction over all of their labels; a lone operand is summed and transposed, no product."""
    pairs, xs = _pairs(_parse(call)), call.all("xs")
    many = len(pairs) > 1
    return tuple(
        _pair_loops(*pair, real_parts(*xs[:index]) * real_parts(xs[index]), f"step {index}" if many else "")
        for index, pair in enumerate(pairs, 1)
    )


def _pair_loops(first: _Sizes, second: _Sizes, kept: frozenset[str], parts: int, label: str) -> Loops:
    """A contraction of two operands, with so many real products in a product of their numbers."""
    sizes = _together(first, second)
    m = prod(size for name, size in sizes.items() if name in kept and name not in second)
    n = prod(size for name, size in sizes.items() if name in kept and name not in first)
    groups = prod(size for name, size in sizes.items() if name in kept and name in first and name in second)
    return Loops(m, n, prod(size for name, size in sizes.items() if name not in kept), groups * parts, label)


def _work(call: Call) -> Work:
    """The additions of a sum over one operand's labels."""
    equation = _parse(call)
    if len(equation.operands) > 1:
        return Work()
    added = max(prod(equation.sizes.values()) - call.outputs[0].elements, 0)
    return Work(add=added * real_parts(call.outputs[0]))


EINSUM_OPERATORS: Final = (
    Op(
        "einsum",
        Kind.CONTRACTION,
        "*xs:weight",
        _infer,
        _work,
        loops=_loops,
        attributes={"equation": REQUIRED},
        summary="Einstein sum; two operands are a contraction over all their labels, more are taken pairwise from the left",
    ),
)

"""Fourier transforms, and the parts and forms of complex numbers.

A transform of n complex values counts n/2 log2 n butterflies, the radix-2 algorithm of Cooley and Tukey (1965): a butterfly is a
complex product (4 mul, 2 add) and two complex sums (4 add), together the customary 5 n log2 n real operations.  Of an n that is
no power of two log2 n is rounded up.  A transform of real values, or to real ones, counts half of that, as half of the spectrum
mirrors the other.  Several axes are transformed one after the other, every line along them; scaling is 1 mul a real number.
It is no contraction: the same values as a matrix product would take n a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final, NamedTuple

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType

from .arithmetic import is_complex
from .record import REQUIRED, Call, Kind, Op, Work, nothing
from .rules import axes_of, each, in_its_place, selects
from .shapes import broadcast

__all__ = ["SPECTRAL_OPERATORS"]

_COMPLEX: Final = {"float64": DTYPES["complex128"], "complex128": DTYPES["complex128"]}
_REAL: Final = {"complex128": DTYPES["float64"], "float64": DTYPES["float64"]}
_FORMS: Final = ("complex", "real_to_half", "real_to_full", "half_to_real")


def _complex_of(dtype: DType) -> DType:
    return _COMPLEX.get(dtype.name, DTYPES["complex64"])


def _real_of(dtype: DType) -> DType:
    return _REAL.get(dtype.name, DTYPES["float32"])


class _Lines(NamedTuple):
    """One axis transformed: how many lines along it, how many values each, and whether these are real."""

    lines: int
    size: int
    is_real: bool


def _transform(call: Call) -> tuple[dict[int, int], list[int]]:
    """The size of the transform along each of its axes, and the sizes of all axes that go with them."""
    shape = list(call.x.shape)
    if call.text("form") not in _FORMS:
        raise GraphError(f"a Fourier transform has no form {call['form']!r}")
    axes = axes_of(call, len(shape))
    sizes = tuple(shape[axis] for axis in axes) if call["sizes"] == "same" else call.integers("sizes")
    if not axes or len(sizes) != len(axes) or min(sizes) < 1:
        raise GraphError(f"transforms of {sizes} elements over the axes {axes}")
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    return dict(zip(axes, sizes, strict=True)), shape


def _plan(call: Call) -> Iterator[_Lines]:
    """The axes as they are transformed: the last one has the real values, the others see its half spectrum."""
    sizes, shape = _transform(call)
    *others, last = sizes
    is_real = call["form"] != "complex"
    yield _Lines(prod(shape) // sizes[last], sizes[last], is_real)
    if is_real:
        shape[last] = shape[last] // 2 + 1
    for axis in others:
        yield _Lines(prod(shape) // sizes[axis], sizes[axis], False)


def _fourier(call: Call) -> tuple[TensorType, ...]:
    """``sizes`` are those of the transforms: x is padded or cropped to them along its axes."""
    sizes, shape = _transform(call)
    if call["form"] == "real_to_half":
        last = [*sizes][-1]
        shape[last] = shape[last] // 2 + 1
    dtype = _real_of(call.x.dtype) if call["form"] == "half_to_real" else _complex_of(call.x.dtype)
    return (TensorType(tuple(shape), dtype),)


def _fourier_work(call: Call) -> Work:
    """3 n log2 n add, 2 n log2 n mul a line of n complex values, half of it of real ones; 1 mul a real number where scaled."""
    done = Work()
    for lines, size, is_real in _plan(call):
        doublings, parts = (size - 1).bit_length(), 1 if is_real else 2
        line = Work(add=-(-3 * parts * size * doublings // 2), mul=parts * size * doublings)
        done = done.plus(line.times(lines))
    if call["scaled"]:
        parts = 2 if is_complex(call.outputs[0]) else 1
        done = done.plus(Work(mul=parts).times(call.outputs[0].elements))
    return done


def _pair(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(broadcast(call.a.shape, call.b.shape), _complex_of(call.a.dtype)),)


def _part(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, _real_of(call.x.dtype)),)


def _as_real(call: Call) -> tuple[TensorType, ...]:
    return (TensorType((*call.x.shape, 2), _real_of(call.x.dtype)),)


def _as_complex(call: Call) -> tuple[TensorType, ...]:
    if call.x.shape[-1:] != (2,):
        raise GraphError(f"a last axis of 2 becomes complex numbers, not {call.x.shape}")
    return (TensorType(call.x.shape[:-1], _complex_of(call.x.dtype)),)


def _same(call: Call) -> tuple[TensorType, ...]:
    return (call.x,)


_TRANSFORM: Final[dict[str, Attribute]] = {"axes": REQUIRED, "sizes": "same", "form": "complex", "scaled": False}

SPECTRAL_OPERATORS: Final = (
    Op(
        "fourier_transform",
        Kind.SPECTRAL,
        "x",
        _fourier,
        _fourier_work,
        attributes=_TRANSFORM,
        summary="discrete Fourier transform over axes, either way; real values have half a spectrum or a full one",
    ),
    Op("complex", Kind.MOVE, "a b", _pair, nothing, summary="complex numbers of real and imaginary parts"),
    Op(
        "polar",
        Kind.ELEMENTWISE,
        "a b",
        _pair,
        each(mul=2, special=2),
        summary="complex numbers of absolute values and angles",
    ),
    Op("real_part", Kind.MOVE, "x", _part, nothing, traffic=selects("x"), summary="real parts of complex numbers"),
    Op("imaginary_part", Kind.MOVE, "x", _part, nothing, traffic=selects("x"), summary="imaginary parts"),
    Op("angle", Kind.ELEMENTWISE, "x", _part, each(special=1), summary="angles of complex numbers"),
    Op(
        "conjugate",
        Kind.UNARY,
        "x",
        _same,
        each(add=1),
        summary="with the imaginary part negated",
        may_overwrite=in_its_place,
    ),
    Op(
        "complex_to_real",
        Kind.MOVE,
        "x",
        _as_real,
        nothing,
        summary="real and imaginary part along a last axis of 2",
    ),
    Op("real_to_complex", Kind.MOVE, "x", _as_complex, nothing, summary="complex numbers from a last axis of 2"),
)

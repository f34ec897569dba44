"""Fourier transforms, and the parts and forms of complex numbers.

A transform of n complex values counts n/2 log2 n butterflies, the radix-2 algorithm of Cooley and Tukey (1965): a butterfly is a
complex product (4 mul, 2 add) and two complex sums (4 add), together the customary 5 n log2 n real operations.  Of an n that is
no power of two log2 n is rounded up.  A transform of real values, or to real ones, counts half of that, as half of the spectrum
mirrors the other.  Several axes are transformed one after the other, every line along them; scaling is 1 mul a real number.
It is no contraction: the same values as a matrix product would take n a value.

Complex numbers have an element type of their own or, as in ONNX, lie in ``pairs``: real and imaginary parts along a last axis of
2, real numbers along one of 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType
from weighbridge.named_tuple import NamedTuple

from .arithmetic import is_complex
from .record import REQUIRED, Call, Keeps, Kind, Op, Work, nothing
from .rules import axes_of, each, in_its_place, known, selects, sizes_of, when_known
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


def _signal(call: Call) -> list[int]:
    """The sizes of x but for the axis of the parts of complex numbers."""
    shape = list(call.x.shape)
    if not call["pairs"]:
        return shape
    parts = 1 if call.text("form").startswith("real") else 2
    if not shape or shape[-1] != parts:
        raise GraphError(f"a last axis of {parts} holds the parts of a number, not {call.x.shape}")
    return shape[:-1]


def _transform(call: Call) -> tuple[dict[int, int], list[int]]:
    """The size of the transform along each of its axes, and the sizes of all axes that go with them."""
    if call.text("form") not in _FORMS:
        raise GraphError(f"a Fourier transform has no form {call['form']!r}")
    shape = _signal(call)
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


@when_known("axes", "sizes")
def _fourier(call: Call) -> tuple[TensorType, ...]:
    """``sizes`` are those of the transforms: x is padded or cropped to them along its axes."""
    sizes, shape = _transform(call)
    if call["form"] == "real_to_half":
        last = [*sizes][-1]
        shape[last] = shape[last] // 2 + 1
    is_real = call["form"] == "half_to_real"
    if call["pairs"]:
        return (TensorType((*shape, 1 if is_real else 2), call.x.dtype),)
    return (TensorType(tuple(shape), _real_of(call.x.dtype) if is_real else _complex_of(call.x.dtype)),)


def _fourier_work(call: Call) -> Work:
    """3 n log2 n add, 2 n log2 n mul a line of n complex values, half of it of real ones; 1 mul a real number where scaled."""
    done = Work()
    for lines in _plan(call):
        done = done.plus(_lines_work(*lines))
    if call["scaled"]:
        parts = 2 if is_complex(call.outputs[0]) else 1
        done = done.plus(Work(mul=parts).times(call.outputs[0].elements))
    return done


def _lines_work(lines: int, size: int, is_real: bool) -> Work:
    doublings, parts = (size - 1).bit_length(), 1 if is_real else 2
    return Work(add=-(-3 * parts * size * doublings // 2), mul=parts * size * doublings).times(lines)


def _short_time(call: Call) -> tuple[TensorType | DType, ...]:
    """Batch x samples x parts become batch x frames x frequencies x 2.

    Without ``size`` a frame is as long as the window, and without a window as the signal.  One side of a spectrum may be asked for
    of complex numbers, too: the first half then.
    """
    shape = call.x.shape
    if len(shape) != 3 or shape[2] not in (1, 2):
        raise GraphError(f"a signal is batch x samples x 1 or 2, not {shape}")
    if not known(call, "size", "step"):
        return (call.x.dtype,)
    size, step = _frame(call), sizes_of(call, "step")
    if len(step) != 1 or not step[0] or not 0 < size <= shape[1]:
        raise GraphError(f"frames of {size} samples every {call['step']} over {shape[1]}")
    if call.has("window") and call.window.shape != (size,):
        raise GraphError(f"a window of shape {call.window.shape} over frames of {size} samples")
    frequencies = size // 2 + 1 if call["one_sided"] else size
    return (TensorType((shape[0], (shape[1] - size) // step[0] + 1, frequencies, 2), call.x.dtype),)


def _frame(call: Call) -> int:
    if call["size"] == "window":
        return call.window.elements if call.has("window") else call.x.shape[1]
    return call.integer("size")


def _short_time_work(call: Call) -> Work:
    """That of a Fourier transform of every frame; 1 mul a real number in a frame where there is a window."""
    frames, size, parts = call.outputs[0].shape[0] * call.outputs[0].shape[1], _frame(call), call.x.shape[2]
    windowed = frames * size * parts if call.has("window") else 0
    return _lines_work(frames, size, parts == 1).plus(Work(mul=windowed))


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


_TRANSFORM: Final[dict[str, Attribute]] = {
    "axes": REQUIRED,
    "sizes": "same",
    "form": "complex",
    "scaled": False,
    "pairs": False,
}

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
    Op(
        "short_time_fourier_transform",
        Kind.SPECTRAL,
        "x window?",
        _short_time,
        _short_time_work,
        attributes={"size": "window", "step": REQUIRED, "one_sided": True},
        summary="Fourier transforms of frames of a signal, each weighted by a window",
    ),
    Op("complex", Kind.MOVE, "a b", _pair, nothing, summary="complex numbers of real and imaginary parts"),
    Op(
        "polar",
        Kind.ELEMENTWISE,
        "a b",
        _pair,
        each(mul=2, special=2),
        summary="complex numbers of absolute values and angles",
        keeps=Keeps.SECOND,
    ),
    Op("real_part", Kind.MOVE, "x", _part, nothing, traffic=selects("x"), summary="real parts of complex numbers"),
    Op("imaginary_part", Kind.MOVE, "x", _part, nothing, traffic=selects("x"), summary="imaginary parts"),
    Op("angle", Kind.ELEMENTWISE, "x", _part, each(special=1), summary="angles of complex numbers", keeps=Keeps.INPUT),
    Op(
        "conjugate",
        Kind.UNARY,
        "x",
        _same,
        each(add=1),
        summary="with the imaginary part negated",
        may_overwrite=in_its_place,
        keeps=Keeps.NOTHING,
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

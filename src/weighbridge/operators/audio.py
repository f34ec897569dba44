"""The way of sound into a network, frame by frame, in whole numbers: what TensorFlow Lite Micro's signal library computes.

The equations are those of tensorflow/tflite-micro signal/src.  Shifts that only place a binary point count nothing.  Framing,
stacking and delays keep samples from one inference to the next inside the operator, in no tensor: they are moves.  An element takes

- scaled to its type's range: 2 compare (its magnitude, the largest of them), 1 mul;
- energy of a frequency: 2 mul, 1 add; of a filter bank's channel the root: 1 special; the logarithm: 1 mul (scale), 2 compare
  (no less than 1, no more than the type holds), 1 special;
- spectral subtraction: 3 mul and 1 add (the noise as a running mean, the least that is left), 1 add (subtract), 2 compare;
- gain control by the noise (PCAN): 1 mul by a gain that is interpolated quadratically in a table (2 mul, 2 add), and compression,
  which is a square below a bound and else a difference, counted as both: 1 mul, 1 add; 2 compare for which piece of each;
- overlapping frames added up: 1 add.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .halo import no_halo
from .record import REQUIRED, Call, Keeps, Kind, Loops, Op, Work, nothing, types_of
from .rules import dtype_of, each, same, sizes_of
from .time_class import TimeClass

__all__ = ["AUDIO_OPERATORS"]

_BOOL: Final = DTYPES["bool"]
_SCALAR: Final[Shape] = ()


def _positive(call: Call, name: str) -> int:
    value = call.integer(name)
    if value < 1:
        raise GraphError(f"{name} is at least 1, not {value}")
    return value


def _scaled(call: Call) -> tuple[TensorType, ...]:
    return call.x, TensorType(_SCALAR, DTYPES["int32"])


def _energy(call: Call) -> tuple[TensorType, ...]:
    """Real and imaginary parts take turns along the last axis; frequencies from ``start`` to ``end`` are computed."""
    shape, bounds = call.x.shape, sizes_of(call, "range")
    if not shape or shape[-1] % 2:
        raise GraphError(f"the last axis has pairs of real and imaginary parts, not {shape}")
    if len(bounds) != 2 or not bounds[0] <= bounds[1] <= shape[-1] // 2:
        raise GraphError(f"frequencies of the range {bounds} out of {shape[-1] // 2}")
    return (TensorType((*shape[:-1], shape[-1] // 2), dtype_of(call)),)


def _energy_work(call: Call) -> Work:
    """2 mul, 1 add a frequency."""
    start, end = sizes_of(call, "range")
    return Work(add=1, mul=2).times(prod(call.x.shape[:-1]) * (end - start))


def _bank(call: Call) -> tuple[TensorType, ...]:
    if len(call.x.shape) != 1 or call.weights.shape != call.complements.shape:
        raise GraphError(f"filters of {call.weights.shape} and {call.complements.shape} over {call.x.shape}")
    return (TensorType((_positive(call, "channels"),), dtype_of(call)),)


def _bank_loops(call: Call) -> tuple[Loops, ...]:
    """Every frequency lies in two channels: by its weight in one and by the rest of it in the next."""
    taps = call.weights.elements if call["taps"] == "all" else _positive(call, "taps")
    return (Loops(1, 1, taps, 2),)


def _bank_work(call: Call) -> Work:
    """Nothing but its products."""
    return Work()


def _typed(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, dtype_of(call)),)


def _with_noise(call: Call) -> tuple[TensorType, ...]:
    return call.x, call.x


def _frames(call: Call) -> tuple[TensorType, ...]:
    """Frames of ``size`` every ``step`` samples of the last axis, and whether there have been enough samples."""
    size, step, shape = _positive(call, "size"), _positive(call, "step"), call.x.shape
    if not shape or not shape[-1] or shape[-1] % step:
        raise GraphError(f"{shape} holds no whole number of steps of {step}")
    return TensorType((*shape[:-1], shape[-1] // step, size), call.x.dtype), TensorType(_SCALAR, _BOOL)


def _stack(call: Call) -> tuple[TensorType, ...]:
    """The frames before and after one beside it."""
    return TensorType((call.x.elements * _positive(call, "frames"),), call.x.dtype), TensorType(_SCALAR, _BOOL)


def _overlapping(call: Call) -> tuple[TensorType, ...]:
    shape, step = call.x.shape, _positive(call, "step")
    if len(shape) < 2 or step > shape[-1]:
        raise GraphError(f"frames of shape {shape} every {step} samples")
    return (TensorType((*shape[:-2], shape[-2] * step), call.x.dtype),)


def _overlapping_work(call: Call) -> Work:
    """1 add a value of a frame."""
    return Work(add=call.x.elements)


def _unit(
    name: str, operands: str, infer: Callable[[Call], tuple[TensorType | DType, ...]], summary: str, **kinds: int
) -> Op:
    """An operator of the same work for each element, with a type of result of its own."""
    attributes: dict[str, Attribute] = {"dtype": REQUIRED} if infer is _typed else {}
    return Op(
        name, Kind.ELEMENTWISE, operands, infer, each(**kinds), attributes=attributes, summary=summary, halo=no_halo
    )


def _moved(name: str, infer: Callable[[Call], tuple[TensorType | DType, ...]], summary: str, *attributes: str) -> Op:
    return Op(name, Kind.MOVE, "x", infer, nothing, attributes=dict.fromkeys(attributes, REQUIRED), summary=summary)


AUDIO_OPERATORS: Final = (
    _unit(
        "auto_scale",
        "x",
        _scaled,
        "scaled by the power of two that fills the type's range, and which",
        mul=1,
        compare=2,
    ),
    Op(
        "spectrum_energy",
        Kind.SPECTRAL,
        "x",
        _energy,
        _energy_work,
        attributes={"range": REQUIRED, "dtype": "uint32"},
        summary="squared magnitudes of some frequencies of a spectrum",
        keeps=Keeps.INPUT,
    ),
    Op(
        "filter_bank",
        Kind.CONTRACTION,
        "x weights:statistic complements:statistic *places:control",
        _bank,
        _bank_work,
        loops=_bank_loops,
        multiplies=lambda call: types_of(call, "x", "weights"),
        attributes={"channels": REQUIRED, "taps": "all", "dtype": "uint64"},
        summary="overlapping filters that gather the frequencies of a spectrum into channels",
        time=TimeClass.OTHER,
    ),
    _unit("channel_root", "x shift:control?", _typed, "square roots of a filter bank's channels", special=1),
    _unit("channel_log", "x", _typed, "logarithms of a filter bank's channels", mul=1, compare=2, special=1),
    _unit(
        "spectral_subtraction",
        "x",
        _with_noise,
        "less the noise, a running mean, which it keeps",
        add=2,
        mul=3,
        compare=2,
    ),
    _unit(
        "gain_control", "x noise gains:statistic", same, "by a gain for its noise, compressed", add=3, mul=4, compare=2
    ),
    _moved(
        "frames", _frames, "overlapping frames of a signal that goes on from one inference to the next", "size", "step"
    ),
    _moved("frame_stack", _stack, "a frame and those around it, kept from one inference to the next", "frames"),
    _moved("delay", same, "a signal as it was some samples ago", "samples"),
    Op(
        "overlap_add",
        Kind.REDUCTION,
        "x",
        _overlapping,
        _overlapping_work,
        attributes={"step": REQUIRED},
        summary="overlapping frames added up to a signal, which goes on from one inference to the next",
    ),
)

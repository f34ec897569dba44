"""Values from nothing but a shape and numbers: constants, ranges, windows, random numbers; and the shape of a tensor itself.

Nothing is read where an operand matters by its shape alone.  The work of an element: a range 1 add and 1 mul; a
random number 1 special (uniform) or 2 (normal), and 1 mul, 1 add for its range; a Bernoulli draw 1 special and 1 compare;
a window 1 mul, 1 add and 1 special a term.  Constants and shapes count nothing.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, TensorType

from .record import REQUIRED, Call, Kind, Op, Work, nothing
from .rules import INT64, dtype_of, each, known, number, reads_nothing, sizes_of
from .time_class import TimeClass

__all__ = ["GENERATOR_OPERATORS"]


def _shape(call: Call) -> tuple[TensorType, ...]:
    """The dimensions from ``start`` to ``end``, both clamped, negative ones counted from the last; ``end`` may be ``"last"``."""
    rank = len(call.x.shape)
    end = None if call["end"] == "last" else call.integer("end")
    return (TensorType((len(range(*slice(call.integer("start"), end).indices(rank))),), INT64),)


def _broadcast_shape(call: Call) -> tuple[TensorType, ...]:
    if len(call.a.shape) != 1 or len(call.b.shape) != 1:
        raise GraphError(f"a shape is a row of sizes, not of shape {call.a.shape} and {call.b.shape}")
    return (TensorType(max(call.a.shape, call.b.shape), call.a.dtype),)


def _size(call: Call) -> tuple[TensorType, ...]:
    return (TensorType((), INT64),)


def _filled(call: Call) -> tuple[TensorType | DType, ...]:
    dtype = dtype_of(call)
    return (TensorType(sizes_of(call, "shape"), dtype),) if known(call, "shape") else (dtype,)


def _range(call: Call) -> tuple[TensorType | DType, ...]:
    """As many values as steps from ``start`` stay short of ``limit``: exact for whole numbers, else as doubles divide."""
    dtype = dtype_of(call)
    if not known(call, "start", "limit", "step"):
        return (dtype,)
    start, limit, step = (number(call, name) for name in ("start", "limit", "step"))
    if step == 0:
        raise GraphError("a range with a step of 0")
    if isinstance(start, int) and isinstance(limit, int) and isinstance(step, int):
        return (TensorType((max(0, -((start - limit) // step)),), dtype),)
    try:
        return (TensorType((max(0, ceil((limit - start) / step)),), dtype),)
    except OverflowError:
        raise GraphError(f"a range from {start} to {limit} by {step} has no length") from None


def _sized(call: Call) -> tuple[TensorType, ...]:
    size = sizes_of(call, "size")
    if len(size) != 1:
        raise GraphError(f"size is one number, not {call['size']!r}")
    return (TensorType(size, dtype_of(call)),)


def _like(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, dtype_of(call, call.x.dtype)),)


def _eye_like(call: Call) -> tuple[TensorType, ...]:
    if len(call.x.shape) != 2:
        raise GraphError(f"a matrix has 2 dimensions, not {len(call.x.shape)}")
    return _like(call)


def _multinomial(call: Call) -> tuple[TensorType | DType, ...]:
    if len(call.x.shape) != 2:
        raise GraphError(f"the log probabilities are batch x classes, not {len(call.x.shape)} dimensions")
    if not known(call, "sample_size"):
        return (dtype_of(call),)
    count = sizes_of(call, "sample_size")
    if len(count) != 1:
        raise GraphError(f"sample_size is one number, not {call['sample_size']!r}")
    return (TensorType((call.x.shape[0], *count), dtype_of(call)),)


def _multinomial_work(call: Call) -> Work:
    """1 add, 1 special a class (probabilities summed up once); 1 special a draw, and 1 compare with every class."""
    classes, draws = call.x.elements, call.outputs[0].elements
    return Work(add=classes, special=classes + draws, compare=draws * call.x.shape[1])


def _random_bits(call: Call) -> tuple[TensorType, ...]:
    """The state of the generator afterwards, and the numbers."""
    return call.state, TensorType(sizes_of(call, "shape"), dtype_of(call))


def _random_bits_work(call: Call) -> None:
    """Depends on the generator."""


def _window(call: Call) -> tuple[TensorType | DType, ...]:
    dtype = dtype_of(call)
    if not known(call, "size"):
        return (dtype,)
    size = sizes_of(call, "size")
    if len(size) != 1:
        raise GraphError(f"size is one number, not {call['size']!r}")
    return (TensorType(size, dtype),)


_FLOAT: Final[dict[str, Attribute]] = {"dtype": "float32"}
_SHAPED: Final[dict[str, Attribute]] = {"shape": REQUIRED}
_UNIFORM: Final = each(special=1, mul=1, add=1)
_NORMAL: Final = each(special=2, mul=1, add=1)

GENERATOR_OPERATORS: Final = (
    Op(
        "shape",
        Kind.INDEX,
        "x",
        _shape,
        nothing,
        traffic=reads_nothing,
        attributes={"start": 0, "end": "last"},
        summary="the dimensions of a tensor",
    ),
    Op("size", Kind.INDEX, "x", _size, nothing, traffic=reads_nothing, summary="how many elements a tensor has"),
    Op("rank", Kind.INDEX, "x", _size, nothing, traffic=reads_nothing, summary="how many dimensions a tensor has"),
    Op(
        "broadcast_shape",
        Kind.INDEX,
        "a:control b:control",
        _broadcast_shape,
        nothing,
        summary="the shape that two shapes have in common",
    ),
    Op(
        "constant_of_shape",
        Kind.GENERATOR,
        "shape:control?",
        _filled,
        nothing,
        attributes={**_SHAPED, **_FLOAT},
        summary="one value everywhere",
        time=TimeClass.COPY,
    ),
    Op(
        "range",
        Kind.GENERATOR,
        "start:control? limit:control? step:control?",
        _range,
        each(add=1, mul=1),
        attributes={"start": 0, "limit": REQUIRED, "step": 1, "dtype": REQUIRED},
        summary="numbers at equal distances",
    ),
    Op(
        "linspace",
        Kind.GENERATOR,
        "start:control? end:control?",
        _sized,
        each(add=1, mul=1),
        attributes={"size": REQUIRED, **_FLOAT},
        summary="so many numbers at equal distances between two",
    ),
    Op(
        "eye_like",
        Kind.GENERATOR,
        "x",
        _eye_like,
        nothing,
        traffic=reads_nothing,
        attributes={"dtype": "", "diagonal": 0},
        summary="1 on a diagonal, else 0",
    ),
    *(
        Op(name, Kind.GENERATOR, "size:control?", _window, work, attributes={"size": REQUIRED, **_FLOAT}, summary=text)
        for name, work, text in (
            ("hann_window", each(mul=1, add=1, special=1), "raised cosine"),
            ("hamming_window", each(mul=1, add=1, special=1), "raised cosine on a pedestal"),
            ("blackman_window", each(mul=2, add=2, special=2), "sum of two cosines"),
        )
    ),
    Op(
        "random_uniform",
        Kind.GENERATOR,
        "",
        _filled,
        _UNIFORM,
        attributes={**_SHAPED, **_FLOAT},
        random=True,
        summary="uniform random numbers",
    ),
    Op(
        "random_normal",
        Kind.GENERATOR,
        "",
        _filled,
        _NORMAL,
        attributes={**_SHAPED, **_FLOAT},
        random=True,
        summary="normal random numbers",
    ),
    Op(
        "random_bits",
        Kind.GENERATOR,
        "state",
        _random_bits,
        _random_bits_work,
        attributes={**_SHAPED, "dtype": REQUIRED},
        summary="random bits that follow from the state of a generator, and its state afterwards",
    ),
    Op(
        "random_uniform_like",
        Kind.GENERATOR,
        "x",
        _like,
        _UNIFORM,
        traffic=reads_nothing,
        attributes={"dtype": ""},
        random=True,
        summary="uniform random numbers in the shape of x",
    ),
    Op(
        "random_normal_like",
        Kind.GENERATOR,
        "x",
        _like,
        _NORMAL,
        traffic=reads_nothing,
        attributes={"dtype": ""},
        random=True,
        summary="normal random numbers in the shape of x",
    ),
    Op(
        "bernoulli",
        Kind.GENERATOR,
        "x",
        _like,
        each(special=1, compare=1),
        attributes={"dtype": ""},
        random=True,
        summary="1 with probability x, else 0",
    ),
    Op(
        "multinomial",
        Kind.GENERATOR,
        "x",
        _multinomial,
        _multinomial_work,
        attributes={"sample_size": 1, "dtype": "int32"},
        random=True,
        summary="classes drawn by their log probabilities",
    ),
)

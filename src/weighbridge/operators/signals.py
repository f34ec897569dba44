"""Signals and text on their way into a network: mel filters, counts of n-grams, encoded images.

A matrix of mel filters takes, for both ends of the scale, 1 add, 2 mul, 1 special; for the step between its edges 1 add, 1 div; for
an edge (there are two more than bands) 3 add, 4 mul, 1 div, 1 special; for an element 1 add, 1 div, 2 compare, as if it lay on both
sides of its triangle.  Which n-grams occur, and how an image was encoded, only the values say.

A bit of a projection by hashes (Ravi, ProjectionNet, 2017) takes of every row of x 1 add, and 1 mul where it has a weight, and 1
compare in all; the hashes themselves are of bytes, which is no arithmetic on values.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import REQUIRED, Call, Kind, Op, Work
from .rules import dtype_of, known, sizes_of
from .time_class import TimeClass

__all__ = ["SIGNAL_OPERATORS"]


def _one(call: Call, name: str) -> int:
    sizes = sizes_of(call, name)
    if len(sizes) != 1:
        raise GraphError(f"{name} is one number, not {call[name]!r}")
    return sizes[0]


def _mel(call: Call) -> tuple[TensorType | DType, ...]:
    """A row for every frequency of a one-sided spectrum of ``size`` samples, a column for every band."""
    dtype = dtype_of(call)
    if not known(call, "size", "bands"):
        return (dtype,)
    return (TensorType((_one(call, "size") // 2 + 1, _one(call, "bands")), dtype),)


def _mel_work(call: Call) -> Work:
    """1 add, 1 div, 2 compare an element; 3 add, 4 mul, 1 div, 1 special an edge; 3 add, 4 mul, 1 div, 2 special for the ends."""
    edges = call.outputs[0].shape[1] + 2
    done = Work(add=1, div=1, compare=2).times(call.outputs[0].elements)
    return done.plus(Work(add=3, mul=4, div=1, special=1).times(edges)).plus(Work(add=3, mul=4, div=1, special=2))


def _n_grams(call: Call) -> tuple[TensorType, ...]:
    """A row of x, or x itself, becomes a row of ``size`` counts."""
    if len(call.x.shape) not in (1, 2):
        raise GraphError(f"n-grams are counted in a row or several, not in a tensor of shape {call.x.shape}")
    return (TensorType((*call.x.shape[:-1], _one(call, "size")), DTYPES["float32"]),)


def _n_grams_work(call: Call) -> None:
    """Depends on which n-grams occur."""


def _projection(call: Call) -> tuple[TensorType, ...]:
    """``hashes``: a row of seeds a hash, a seed a bit.  A hash is a number, or as many as it has bits where these are ``apart``."""
    seeds, x = call.hashes.shape, call.x.shape
    if len(seeds) != 2 or not x:
        raise GraphError(f"hashes of shape {seeds} of rows of shape {x}")
    if call.has("weights") and call.weights.shape != x[:1]:
        raise GraphError(f"weights of shape {call.weights.shape} for {x[0]} rows")
    return (TensorType((seeds[0] * seeds[1] if call["apart"] else seeds[0],), DTYPES["int32"]),)


def _projection_work(call: Call) -> Work:
    """A bit 1 compare, and a row 1 add, 1 mul where it has a weight."""
    bits, rows = call.hashes.elements, call.x.shape[0]
    return Work(add=bits * rows, mul=bits * rows if call.has("weights") else 0, compare=bits)


def _image(call: Call) -> tuple[DType, ...]:
    return (DTYPES["uint8"],)


def _image_work(call: Call) -> None:
    """Depends on how the image is encoded."""


SIGNAL_OPERATORS: Final = (
    Op(
        "mel_weights",
        Kind.GENERATOR,
        "*numbers:control",
        _mel,
        _mel_work,
        attributes={"size": REQUIRED, "bands": REQUIRED, "dtype": "float32"},
        summary="overlapping triangles that gather the frequencies of a spectrum into bands of the mel scale",
    ),
    Op(
        "ngram_counts",
        Kind.INDEX,
        "x pool:control weights:statistic? *positions:control",
        _n_grams,
        _n_grams_work,
        attributes={"size": REQUIRED},
        summary="how often each n-gram of a pool occurs in a row, times its weight",
    ),
    Op(
        "hash_projection",
        Kind.REDUCTION,
        "x hashes:statistic weights?",
        _projection,
        _projection_work,
        attributes={"apart": False},
        summary="bits of hashes of all rows, by the sign of their weighted sum",
        time=TimeClass.OTHER,
    ),
    Op(
        "image_decoder",
        Kind.POOLING,
        "x",
        _image,
        _image_work,
        summary="the image that an encoded file holds",
        time=TimeClass.OTHER,
    ),
)

"""What optimisers keep of each parameter from one step to the next, beside the parameter and its gradient.

Values are kept in 32-bit floating point, whatever the parameters are trained in, but for ``adam8bit``.  Sources: SGD with momentum
(a velocity a value); Adam (Kingma and Ba, 2015: two moments) and AdamW (Loshchilov and Hutter, 2019: the same state); 8-bit
optimisers with block-wise quantisation (Dettmers, Lewis, Shleifer and Zettlemoyer, 2022: a byte a value and moment, a 32-bit
largest value for every block of 2,048; tensors of fewer than 4,096 values stay at 32 bits, as their library has it); Adafactor
(Shazeer and Stern, 2018: of a matrix a value a row and a value a column in place of the second moment, no first moment).
Step counters, which frameworks keep in a few bytes a tensor, are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple

__all__ = ["FLOAT_BYTES", "OPTIMISERS", "Optimiser"]

FLOAT_BYTES: Final = 4
"""Of a value in 32-bit floating point."""
_BLOCK: Final = 2048
_FEWEST_IN_8_BITS: Final = 4096


class Optimiser(NamedTuple):
    """An optimiser: its usual name, what it keeps in words, and the bytes of that for a parameter of a shape."""

    title: str
    keeps: str
    state_bytes: Callable[[Shape], int]


def _nothing(shape: Shape) -> int:
    return 0


def _one_moment(shape: Shape) -> int:
    return FLOAT_BYTES * prod(shape)


def _two_moments(shape: Shape) -> int:
    return 2 * FLOAT_BYTES * prod(shape)


def _two_moments_in_8_bits(shape: Shape) -> int:
    elements = prod(shape)
    if elements < _FEWEST_IN_8_BITS:
        return _two_moments(shape)
    return 2 * (elements + FLOAT_BYTES * -(-elements // _BLOCK))


def _rows_and_columns(shape: Shape) -> int:
    """Of more than two axes the last two are the matrix, once for each place on the others; a vector has all its values."""
    if len(shape) < 2:
        return FLOAT_BYTES * prod(shape)
    *others, rows, columns = shape
    return FLOAT_BYTES * prod(others) * (rows + columns)


OPTIMISERS: Final[Mapping[str, Optimiser]] = {
    "sgd": Optimiser("SGD", "nothing", _nothing),
    "momentum": Optimiser("SGD with momentum", "one moment a value", _one_moment),
    "adam": Optimiser("Adam", "two moments a value", _two_moments),
    "adamw": Optimiser("AdamW", "two moments a value", _two_moments),
    "adam8bit": Optimiser(
        "8-bit Adam", "two moments of a byte a value, and a 32-bit number a block", _two_moments_in_8_bits
    ),
    "adafactor": Optimiser("Adafactor", "a value a row and a value a column of a matrix", _rows_and_columns),
}

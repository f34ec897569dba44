"""The symbols that a layer is described by: what each means, and what it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.written import shown, whole

__all__ = ["SYMBOLS", "Sizes", "Symbol", "axes", "checked", "checked_flag"]

Sizes = int | tuple[int, ...]
"""One number for height and width alike, or (height, width); of a padding also (top, left, bottom, right)."""

_LARGEST: Final = 10**9
_STEP: Final = 10**6
"""Of what multiplies a size; with the others no dimension passes what a graph can have."""
_WANTED: Final = {1: "one number", 2: "one number, or height and width", 4: "one number, two or four"}


class Symbol(NamedTuple):
    """What a symbol means, from which whole number to which, and how many of them at most.

    ``also`` says what it means, or is unless given, in single kinds of layers.
    """

    meaning: str
    minimum: int = 1
    maximum: int = _LARGEST
    most: int = 1
    also: str = ""


SYMBOLS: Final[Mapping[str, Symbol]] = MappingProxyType(
    {
        "c_i": Symbol("Channels that go in.", also="The inputs of a linear layer."),
        "c_o": Symbol(
            "Channels that come out.", also="The outputs of a linear layer; c_i of a depthwise one unless given."
        ),
        "k": Symbol(
            "Kernel: 3, or 1x7 (height x width).", maximum=10**8, most=2, also="Of a matmul the inner dimension."
        ),
        "g": Symbol("Groups that the channels are split into."),
        "h_o": Symbol("Height of the output.", maximum=10**7),
        "w_o": Symbol("Width of the output; h_o unless given.", maximum=10**7),
        "h_i": Symbol("Height of the input, in place of that of the output.", maximum=10**7),
        "w_i": Symbol("Width of the input; h_i unless given.", maximum=10**7),
        "n": Symbol("Images or vectors at once; 1 unless given.", also="Of a matmul the columns of the second matrix."),
        "m": Symbol("Rows of the first matrix of a matmul."),
        "stride": Symbol("Step of the kernel: 2, or 2x1; 1 unless given.", maximum=_STEP, most=2),
        "padding": Symbol(
            "Zeros around the input: 1, 1x0, or 0x0x1x1 (top, left, bottom, right); 0 unless given.", 0, _STEP, most=4
        ),
        "dilation": Symbol("Distance between the taps of a kernel; 1 unless given.", maximum=_STEP, most=2),
        "output_padding": Symbol("Rows and columns added to a transposed result; 0 unless given.", 0, _STEP, most=2),
        "bits": Symbol("Bits of weights and of values that go in and come out; 32 unless given.", maximum=64),
        "weight_bits": Symbol("Bits of the weights alone.", maximum=64),
        "activation_bits": Symbol("Bits of the values that go in and come out alone.", maximum=64),
    }
)
"""Every number that a layer can be given, by name."""


def checked(name: str, value: object) -> Sizes:
    """``value`` as plain ints, one alone as an int.  Raises ``BadSpec``, located at ``name``, for what the symbol cannot be."""
    symbol = SYMBOLS[name]
    parts = tuple(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else (value,)
    if len(parts) not in (1, 2, 4) or len(parts) > symbol.most:
        raise BadSpec(f"must be {_WANTED[symbol.most]}, not {len(parts)} of them", where=name)
    numbers = tuple(_whole(name, part) for part in parts)
    if not all(symbol.minimum <= number <= symbol.maximum for number in numbers):
        raise BadSpec(f"must be a whole number from {symbol.minimum} to {symbol.maximum:,}", where=name)
    return numbers[0] if len(numbers) == 1 else numbers


def checked_flag(name: str, value: object) -> bool:
    """``value`` if it is true or false.  Raises ``BadSpec``."""
    if isinstance(value, bool):
        return value
    raise BadSpec(f"must be True or False, not {value!r}", where=name)


def axes(value: Sizes) -> tuple[int, ...]:
    """``value`` as (height, width); four numbers stay four."""
    return (value, value) if isinstance(value, int) else value


def _whole(name: str, value: object) -> int:
    found = whole(value)
    if found is None:
        raise BadSpec(f"must be a whole number, not {shown(value)}", where=name)
    return found

"""Encoders and decoders that are as plain as can be: they make every bit, and the array again from the bits alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count

Codes = Mapping[int, str]


def relative(array: Sequence[float], index_bits: int) -> list[tuple[int, float]]:
    """(zeros in front, value) of everything that is stored: values that are not 0, and fillers."""
    stored = []
    zeros = 0
    for value in array:
        if value or zeros == 2**index_bits - 1:
            stored.append((zeros, value))
            zeros = 0
        else:
            zeros += 1
    # a filler behind which no value comes any more is needed by nobody
    while stored and not stored[-1][1]:
        stored.pop()
    return stored


def from_relative(stored: Sequence[tuple[int, float]], length: int) -> list[float]:
    array: list[float] = []
    for zeros, value in stored:
        array += [0.0] * zeros + [value]
    return array + [0.0] * (length - len(array))


def fixed(numbers: Sequence[int], width: int) -> str:
    return "".join(format(number, f"0{width}b") for number in numbers)


def from_fixed(bits: str, width: int) -> list[int]:
    return [int(bits[place : place + width], 2) for place in range(0, len(bits), width)]


def canonical(lengths: Sequence[int]) -> Codes:
    """The words of the canonical code with these lengths; those of one symbol alone are empty."""
    words: dict[int, str] = {}
    word, previous = 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(lengths) if length):
        word <<= length - previous
        words[symbol] = format(word, f"0{length}b")
        word, previous = word + 1, length
    return words


def coded(numbers: Sequence[int], words: Codes) -> str:
    return "".join(words.get(number, "") for number in numbers)


def from_coded(bits: str, words: Codes, numbers: int, only: int) -> list[int]:
    """``numbers`` symbols; ``only`` is the one whose word is empty, where there is one."""
    if not words:
        return [only] * numbers
    symbols = {word: symbol for symbol, word in words.items()}
    found = []
    start = 0
    while start < len(bits):
        end = next(end for end in count(start + 1) if bits[start:end] in symbols)
        found.append(symbols[bits[start:end]])
        start = end
    assert len(found) == numbers
    return found


def histogram(numbers: Sequence[int], symbols: int) -> list[int]:
    counts = Counter(numbers)
    return [counts[symbol] for symbol in range(symbols)]

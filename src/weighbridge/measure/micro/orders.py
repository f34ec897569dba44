"""Orders for single operators, for products of matrices and for moving bytes: what a runtime that has no files is told to run, by name."""

from __future__ import annotations

from typing import Final

from weighbridge.measure.micro.record import Spec
from weighbridge.measure.runners.runner import Order

__all__ = [
    "COPY",
    "DOT",
    "MAXIMUM",
    "OPERATOR",
    "PRODUCT",
    "STEP",
    "VALUE_BYTES",
    "bytes_by_name",
    "moved_bytes",
    "operator_by_name",
    "part_values",
    "product_by_name",
    "windows",
]

OPERATOR, PRODUCT = "operator", "product"
COPY, DOT, MAXIMUM = "copy", "dot product", "maximum"
"""What moves bytes: the two last read them only."""
VALUE_BYTES: Final = 4
STEP: Final = 16
"""Values between the beginnings of two windows, so that a call that works through many of them reads memory in order."""
_MOST_WINDOWS: Final = 32
_LONG_VALUES: Final = 2**18
"""A call that works through so many takes long enough."""
_SHARE: Final = 8
"""All windows together are longer than one of them by no more than one part in so many."""
_Shapes = dict[str, tuple[tuple[int, ...], str]]


def operator_by_name(spec: Spec, threads: int, inputs: _Shapes, values: dict[str, str]) -> Order:
    """For the module that PyTorch is told to run in place of the file."""
    return Order(f"{OPERATOR}:{spec.name}", "", threads, inputs, values)


def product_by_name(precision: str, size: int, threads: int) -> Order:
    """Of two square matrices, values by values."""
    inputs = dict.fromkeys("ab", ((size, size), precision))
    return Order(f"{PRODUCT}:{precision}", "", threads, inputs)


def bytes_by_name(how: str, working_set_bytes: int, threads: int, most_bytes: int) -> Order:
    """``COPY``, ``DOT`` or ``MAXIMUM`` of so many bytes in all, each thread its own part of them.

    They are the first of ``most_bytes``, which the process takes once: pages are slow to come by.
    """
    return Order(f"{how}:{working_set_bytes}:{most_bytes}", "", threads, {})


def part_values(working_set_bytes: int, threads: int) -> int:
    """The values of each thread: of both halves whole lines of a cache."""
    lines = 2 * STEP
    return max(1, working_set_bytes // threads // VALUE_BYTES // lines) * lines


def windows(values: int) -> tuple[int, int]:
    """How many windows of an array of ``values`` one call works through, and of how many values each is.

    As many as make calling little of what a call takes, while what they touch stays the array.
    """
    count = max(1, min(_MOST_WINDOWS, values // STEP // _SHARE, _LONG_VALUES // values))
    return count, values - STEP * (count - 1)


def moved_bytes(how: str, working_set_bytes: int, threads: int) -> int:
    """What one call in each thread reads and writes together."""
    values = part_values(working_set_bytes, threads)
    if how == MAXIMUM:
        count, each = windows(values)
        return count * each * VALUE_BYTES * threads
    count, each = windows(values // 2) if how == COPY else (1, values // 2)
    return 2 * count * each * VALUE_BYTES * threads

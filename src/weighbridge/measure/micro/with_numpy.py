"""NumPy: products of matrices, and bytes that several threads move at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from time import perf_counter_ns
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from weighbridge.errors import MeasureError
from weighbridge.measure.micro.orders import COPY, DOT, MAXIMUM, PRODUCT, STEP, VALUE_BYTES, part_values, windows
from weighbridge.measure.runners.filled import filled
from weighbridge.measure.runners.runner import About, Order, libraries, timed

__all__ = ["NumPy", "ready"]


class NumPy:
    """Calls that several threads make at once, each its own."""

    def __init__(self, order: Order) -> None:
        self.about = About(np.__version__, "", (), libraries(numpy=np.__version__))
        self._calls = _calls(order)
        self._pool = ThreadPoolExecutor(len(self._calls)) if len(self._calls) > 1 else None
        self.samples(1, 1)

    def samples(self, count: int, runs: int) -> Sequence[float]:
        """Of several threads a run has ended when it has in all of them."""
        if self._pool is None:
            return timed(self._calls[0], None, count, runs)
        return [self._together(self._pool, runs) for _ in range(count)]

    def profile(self, runs: int) -> None:
        """It has none."""

    def _together(self, pool: ThreadPoolExecutor, runs: int) -> float:
        begun = perf_counter_ns()
        for _ in pool.map(partial(_repeated, runs), self._calls):
            pass
        return (perf_counter_ns() - begun) / runs / 1e9


def ready(order: Order) -> NumPy:
    """Raises ``MeasureError`` for what NumPy has no fast kernel for."""
    return NumPy(order)


def _repeated(runs: int, call: Callable[[], object]) -> None:
    for _ in range(runs):
        call()


def _calls(order: Order) -> list[Callable[[], object]]:
    kind, _, what = order.source.partition(":")
    if kind == PRODUCT:
        return [_product(order, what)]
    working_set, most = map(int, what.split(":"))
    values = part_values(working_set, order.threads)
    memory = _memory(max(most // VALUE_BYTES, values * order.threads))
    return [_MOVING[kind](memory[place * values : (place + 1) * values]) for place in range(order.threads)]


@cache
def _memory(values: int) -> Any:
    """Held as long as the process, which is for nothing else."""
    return np.ones(values, np.float32)


def _product(order: Order, precision: str) -> Callable[[], object]:
    """Its library of kernels starts the threads itself."""
    if precision not in ("float32", "float64"):
        raise MeasureError(f"NumPy has no fast product of matrices in {precision}", where=order.source)
    one, other = (filled(name, tuple(shape), dtype, {})[0] for name, (shape, dtype) in order.inputs.items())
    return partial(np.matmul, one, other, np.empty_like(one))


def _copied(part: Any) -> Callable[[], object]:
    read, written = np.split(part, 2)
    return partial(np.copyto, _windows(written), _windows(read))


def _read(part: Any) -> Callable[[], object]:
    read = _windows(part)
    return partial(np.maximum.reduce, read, 1, None, np.empty(len(read), np.float32))


def _multiplied(part: Any) -> Callable[[], object]:
    return partial(np.dot, *np.split(part, 2))


_MOVING: Final = {COPY: _copied, MAXIMUM: _read, DOT: _multiplied}


def _windows(values: Any) -> Any:
    """Nearly all of an array again and again."""
    return as_strided(values, windows(len(values)), (STEP * VALUE_BYTES, VALUE_BYTES))

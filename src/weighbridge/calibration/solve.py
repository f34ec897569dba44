"""Least squares in relative error with coefficients that have a least value each, robust against rows that are far off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from weighbridge.errors import MissingExtra, WeighbridgeError
from weighbridge.named_tuple import NamedTuple

__all__ = ["Toward", "check_there", "coefficients"]

_ROUNDS: Final = 60
_SETTLED: Final = 1e-6
_HUBER: Final = 1.345
"""Beyond so many standard deviations a row pulls no harder: the constant that loses a twentieth where all errors are normal."""
_DEVIATIONS: Final = 1.4826
"""Standard deviations in a median of absolute deviations, of normal errors."""
_LEAST_SCALE: Final = 0.002
"""Errors below this share are as good as none: clocks and machines are not better."""
_FARTHEST: Final = 4.0
"""An expected time so many times off weighs as one that is off by this."""


def check_there() -> None:
    """Raises ``MissingExtra`` where the numerical libraries are not installed, before anything is measured."""
    _libraries()


def _libraries() -> tuple[Any, Any]:
    """NumPy, and SciPy's non-negative least squares: loaded where something is fitted, as they take a while."""
    try:
        import numpy as np
        from scipy.optimize import nnls
    except ImportError as error:
        what = f"fitting needs packages that are not there ({error})"
        raise MissingExtra(what, hint="pip install 'weighbridge[measure]'") from None
    return np, nnls


class Toward(NamedTuple):
    """Values that the coefficients are drawn to, in relative terms: one that is off by its own size costs ``strength`` squared rows."""

    values: Sequence[float]
    strength: float


def coefficients(
    terms: Sequence[Sequence[float]],
    times_s: Sequence[float],
    least: Sequence[float],
    *,
    beside_s: Sequence[float] | None = None,
    weights: Sequence[float] | None = None,
    toward: Toward | None = None,
) -> tuple[float, ...]:
    """The coefficients x, none below its ``least``, with which ``beside_s`` + ``terms`` x comes nearest to ``times_s``.

    A row's error is (expected - measured) over the root of their product, which is the same for twice and for half of the time; rows far
    off pull as hard as those at the edge of the rest (Huber).  A column of zeros has its least value.
    """
    np, _ = _libraries()
    table, times = np.asarray(terms, float), np.asarray(times_s, float)
    lowest = np.asarray(least, float)
    beside = np.zeros_like(times) if beside_s is None else np.asarray(beside_s, float)
    counts = np.ones_like(times) if weights is None else np.asarray(weights, float)
    found, pulls, expected = lowest, np.ones_like(times), times
    for _ in range(_ROUNDS):
        before = found
        found = _solved(table, times - beside, lowest, np.sqrt(counts * pulls) / _between(times, expected), toward)
        expected = np.clip(beside + table @ found, times / _FARTHEST, times * _FARTHEST)
        pulls = _pulls((expected - times) / _between(times, expected))
        if np.allclose(found, before, rtol=_SETTLED, atol=0.0):
            break
    return tuple(map(float, found))


def _between(times: Any, expected: Any) -> Any:
    """The root of their product, which itself may be beyond what a number can hold."""
    np, _ = _libraries()
    return np.sqrt(times) * np.sqrt(expected)


def _pulls(errors: Any) -> Any:
    """How much of its weight each row keeps: all of it within the noise of the rows."""
    np, _ = _libraries()
    sizes = np.abs(errors)
    edge = _HUBER * max(_LEAST_SCALE, _DEVIATIONS * float(np.median(sizes)))
    return np.minimum(1.0, edge / np.maximum(sizes, edge))


def _solved(table: Any, times: Any, lowest: Any, scale: Any, toward: Toward | None) -> Any:
    """Non-negative least squares of what is above the least values, every column brought to one size."""
    np, nnls = _libraries()
    rows, wanted = table * scale[:, None], (times - table @ lowest) * scale
    if toward is not None and toward.strength > 0:
        values = np.asarray(toward.values, float)
        rows = np.vstack([rows, np.diag(toward.strength / values)])
        wanted = np.concatenate([wanted, toward.strength * (values - lowest) / values])
    sizes = np.linalg.norm(rows, axis=0)
    sizes[sizes == 0] = 1.0
    try:
        above, _ = nnls(rows / sizes, wanted, maxiter=100 * rows.shape[1])
    except (RuntimeError, ValueError) as error:
        hint = "leave out the measurements that cannot be right, or measure for longer"
        raise WeighbridgeError(f"these times cannot be fitted: {error}", hint=hint) from None
    return lowest + above / sizes

"""Rates by class of operators, fitted to the times of single operators: what each term of an expected time costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from weighbridge.calibration.rows import Row, classes_of
from weighbridge.calibration.solve import coefficients
from weighbridge.estimates.class_work import ClassWork
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.time_class import TIME_CLASSES, TimeClass

__all__ = ["TERMS", "Limits", "Rates", "Residual", "Seconds", "fit_rates"]


class Limits(NamedTuple):
    """What nothing on the machine exceeds: multiply-accumulates and bytes a second; None is not known."""

    macs_per_s: float | None = None
    bytes_per_s: float | None = None


class Seconds(NamedTuple):
    """What one of each term of a class takes; 0 where the fit finds no such term, or where nothing asked for it."""

    macs: float = 0.0
    bytes: float = 0.0
    operations: float = 0.0
    compares: float = 0.0
    special: float = 0.0
    nodes: float = 0.0
    steps: float = 0.0


TERMS: Final = Seconds._fields
"""What a class of operators asks for, each at seconds of its own."""


class Residual(NamedTuple):
    """A single operator as it was measured, and what the fit expects of it."""

    name: str
    operators: str
    measured_s: float
    expected_s: float

    @property
    def error(self) -> float:
        """Expected over measured, less 1."""
        return self.expected_s / self.measured_s - 1


class Rates(NamedTuple):
    """What one run takes beside its operators, a far byte in any of them, and the seconds of each class in the order of
    ``TIME_CLASSES``.  ``error`` is the mean size of the logarithms of expected over measured times.
    """

    call_s: float
    far_byte_s: float
    classes: Mapping[str, Seconds]
    residuals: tuple[Residual, ...]
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """0 of none."""
        sizes = [abs(math.log(one.expected_s / one.measured_s)) for one in self.residuals if one.expected_s > 0]
        return fmean(sizes) if sizes else 0.0


def fit_rates(rows: Sequence[Row], limits: Limits) -> Rates:
    """The non-negative seconds of every term, and of a run's call, that come nearest to all ``rows`` in relative error.

    No class multiplies or moves bytes faster than ``limits``.  The call is told from the kernels' own overhead where there are rows of
    one step and rows of several.
    """
    classes = classes_of(rows, TIME_CLASSES)
    columns = [(name, term) for name in classes for term in TERMS if _is_told_apart(rows, name, term)]
    table = [[1.0, sum(float(one.far_bytes) for one in row.work), *_asked(row, columns)] for row in rows]
    asks = [any(line[place] for line in table) for place in range(2, len(columns) + 2)]
    own = (_least(term, limits) if asked else 0.0 for (_, term), asked in zip(columns, asks, strict=True))
    least = [0.0, 0.0, *own]
    weights = [row.weight for row in rows]
    call, far, *found = coefficients(table, [row.time_s for row in rows], least, weights=weights)
    seconds = dict(zip(columns, found, strict=True))
    expected = [sum(one * other for one, other in zip(line, (call, far, *found), strict=True)) for line in table]
    return Rates(
        call_s=call,
        far_byte_s=far,
        classes={name: Seconds(*(seconds.get((name, term), 0.0) for term in TERMS)) for name in classes},
        residuals=tuple(
            Residual(row.name, _main(row), row.time_s, each) for row, each in zip(rows, expected, strict=True)
        ),
        notes=_notes(rows, limits),
    )


def _is_told_apart(rows: Sequence[Row], name: str, term: str) -> bool:
    """Whether a term can be told from the others of its class: a node's time from that of its steps, and operations and comparisons from
    bytes, to which they are in proportion wherever each value is used once, or in products beside them.
    """
    if term in ("operations", "compares"):
        return name == TimeClass.POOLING
    return term != "nodes" or any(one.steps != one.nodes for row in rows for one in row.work if one.operators == name)


def _asked(row: Row, columns: Sequence[tuple[str, str]]) -> list[float]:
    by_class: dict[str, ClassWork] = {one.operators: one for one in row.work}
    return [float(getattr(by_class[name], term)) if name in by_class else 0.0 for name, term in columns]


def _least(term: str, limits: Limits) -> float:
    most = {"macs": limits.macs_per_s, "bytes": limits.bytes_per_s}.get(term)
    return 0.0 if most is None else 1 / most


def _main(row: Row) -> str:
    """The class that asks for most: that of the operator which the row is about."""
    if not row.work:
        return ""
    return max(row.work, key=lambda one: (one.macs, one.special, one.bytes)).operators


def _notes(rows: Sequence[Row], limits: Limits) -> tuple[str, ...]:
    told = []
    if limits.macs_per_s is None:
        told.append("no peak rate was measured at this precision: rates of multiply-accumulates have no upper bound")
    if len({sum(one.steps for one in row.work) for row in rows}) < 2:
        told.append("all single operators have as many steps: their overhead cannot be told from that of a call")
    return tuple(told)

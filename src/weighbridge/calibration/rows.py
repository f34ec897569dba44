"""What is fitted: how long something took, and what it asked of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weighbridge.estimates.class_work import ClassWork
from weighbridge.named_tuple import NamedTuple

__all__ = ["Row", "classes_of"]


class Row(NamedTuple):
    """One operator, or one network, that took ``time_s``: the median of a run.

    Rows of a ``group`` are left out together, as they say the same of a machine: a network at several batches, a family of networks.
    ``weight`` is how much the row counts for beside the others.
    """

    name: str
    group: str
    work: tuple[ClassWork, ...]
    time_s: float
    weight: float = 1.0


def classes_of(rows: Iterable[Row], order: Sequence[str]) -> tuple[str, ...]:
    """The classes of operators that any of ``rows`` has, as ``order`` has them."""
    found = {one.operators for row in rows for one in row.work}
    return tuple(one for one in order if one in found)

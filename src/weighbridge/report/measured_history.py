"""The history of a model: its recorded measurements over time, in series of those that may be compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from weighbridge import __version__
from weighbridge.measure.conditions import Conditions, Difference, differences
from weighbridge.measure.record import Measurement
from weighbridge.measure.summary import Interval
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.measured import check_although
from weighbridge.report.measured_records import Fault, read

__all__ = ["History", "ModelHistory", "Point", "Series", "history"]

SCHEMA: Final = 1


class Point(NamedTuple):
    """A measurement: the median and its interval; ``change`` is the median over the one before in the series, less 1.

    ``is_beyond_noise`` says that the intervals of the two do not meet, None where one has none or nothing was before.  ``version`` is the
    SHA-256 of the source's file, None where it is no file; ``is_new_version`` where it is another one than before.
    """

    taken_at: str
    version: str | None
    is_new_version: bool
    median_s: float
    interval: Interval | None
    change: float | None
    is_beyond_noise: bool | None
    samples: int
    noise: tuple[str, ...]
    differences: tuple[Difference, ...] = ()


class Series(NamedTuple):
    """Measurements under the same ``conditions``; ``differences`` are those from the first series of the model."""

    conditions: Conditions
    differences: tuple[Difference, ...]
    points: tuple[Point, ...]


class ModelHistory(NamedTuple):
    """All measurements of one model, told from others by its name and its source."""

    name: str
    source: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class History:
    """``models`` in the order in which each was measured first; ``faults`` are records that could not be read."""

    tool: str
    place: str
    models: tuple[ModelHistory, ...]
    faults: tuple[Fault, ...]
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        from weighbridge.report.json import plain

        return {
            "schema": self.schema,
            "tool": self.tool,
            "place": self.place,
            "models": plain(self.models, []),
            "faults": plain(self.faults, []),
        }

    def to_json(self) -> str:
        """The JSON text, ending in a newline."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())


def history(place: str | os.PathLike[str], *, although: Iterable[str] = ()) -> History:
    """What is recorded in the file or the folder at ``place``, by model, in series of the same conditions.

    Conditions that ``although`` names ("system", "libraries") may differ within a series; each point then says which do.

    Raises ``BadSpec`` where nothing can be read, and for a condition that does not exist.
    """
    allowed = check_although(tuple(although))
    found = read(place)
    by_model: dict[tuple[str, str], list[Measurement]] = {}
    for one in found.measurements:
        by_model.setdefault((one.name, one.source), []).append(one)
    models = (ModelHistory(*key, tuple(_series(each, allowed))) for key, each in by_model.items())
    return History(f"weighbridge {__version__}", os.fspath(place), tuple(models), found.faults)


def _series(measurements: Sequence[Measurement], allowed: frozenset[str]) -> Iterator[Series]:
    """The measurements of a model in the order of their time, parted by their conditions."""
    parts: list[list[Measurement]] = []
    for one in measurements:
        mine = next((part for part in parts if not _parting(part[0].conditions, one.conditions, allowed)), None)
        if mine is None:
            parts.append([one])
        else:
            mine.append(one)
    for part in parts:
        conditions = part[0].conditions
        yield Series(conditions, differences(parts[0][0].conditions, conditions), tuple(_points(part)))


def _parting(first: Conditions, other: Conditions, allowed: frozenset[str]) -> bool:
    return any(one.key not in allowed for one in differences(first, other))


def _points(part: Sequence[Measurement]) -> Iterator[Point]:
    before: Measurement | None = None
    for one in part:
        yield Point(
            taken_at=one.taken_at,
            version=one.sha256,
            is_new_version=before is not None and before.sha256 != one.sha256,
            median_s=one.latency_s,
            interval=one.interval,
            change=None if before is None or not before.latency_s else one.latency_s / before.latency_s - 1,
            is_beyond_noise=None if before is None else _is_apart(before.interval, one.interval),
            samples=one.summary.samples,
            noise=one.noise,
            differences=differences(part[0].conditions, one.conditions),
        )
        before = one


def _is_apart(first: Interval | None, other: Interval | None) -> bool | None:
    return None if first is None or other is None else not first.meets(other)

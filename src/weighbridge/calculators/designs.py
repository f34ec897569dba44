"""Latency and throughput of designs that take other numbers of inputs at once."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from weighbridge.choices import fps_of
from weighbridge.errors import BadSpec
from weighbridge.estimates import frames_missed
from weighbridge.named_tuple import NamedTuple
from weighbridge.written import number, shown, whole

from .plain import plain

__all__ = ["Batching", "Design", "DesignFacts", "batching"]

_LARGEST_BATCH: Final = 10**9
_SHORTEST: Final = Fraction(1, 10**15)
_LONGEST: Final = 10**12


class Design(NamedTuple):
    """``batch`` inputs are ready together after ``latency_s`` seconds; a float or text is taken exactly as it is written."""

    batch: int
    latency_s: Fraction | float | str
    name: str = ""


class DesignFacts(NamedTuple):
    """A design: ``throughput_per_s`` = batch / latency; both as multiples of the first design's.

    ``frames_missed`` = ceil(latency x fps) - 1, None without a frame rate.
    """

    name: str
    batch: int
    latency_s: Fraction
    throughput_per_s: Fraction
    latency_ratio: Fraction
    throughput_ratio: Fraction
    frames_missed: int | None


class Batching(NamedTuple):
    """Designs beside each other; ``deadline_s`` = 1 / ``fps``."""

    designs: tuple[DesignFacts, ...]
    fps: Fraction | None
    deadline_s: Fraction | None

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings for JSON."""
        return plain(self)


def batching(designs: Iterable[Design], fps: float | str | None = None) -> Batching:
    """The throughput of each design, and how many frames it misses at ``fps`` a second; all in exact fractions.

    Raises ``BadSpec`` for no design, a batch that is no whole number above zero, and a time or rate that is none.
    """
    rate = None if fps is None else fps_of(fps)
    checked = [_checked(place, design) for place, design in enumerate(designs, 1)]
    if not checked:
        raise BadSpec("there is no design", hint="give a batch and its latency, such as 1:50ms")
    _, _, first_latency, first_throughput = checked[0]
    facts = [
        DesignFacts(
            name=name,
            batch=batch,
            latency_s=latency,
            throughput_per_s=throughput,
            latency_ratio=latency / first_latency,
            throughput_ratio=throughput / first_throughput,
            frames_missed=None if rate is None else frames_missed(latency, rate),
        )
        for name, batch, latency, throughput in checked
    ]
    return Batching(tuple(facts), rate, None if rate is None else 1 / rate)


def _checked(place: int, design: Design) -> tuple[str, int, Fraction, Fraction]:
    """The design's name, batch, latency and throughput."""
    where = f"design {design.name or place}"
    batch, latency = whole(design.batch), number(design.latency_s)
    if batch is None or not 1 <= batch <= _LARGEST_BATCH:
        raise BadSpec(f"a batch is a whole number from 1 to {_LARGEST_BATCH:,}", where=where)
    if latency is None or not _SHORTEST <= latency <= _LONGEST:
        hint = "give a number of seconds from 1e-15 to 1e12"
        raise BadSpec(f"{shown(design.latency_s)} s is no latency", where=where, hint=hint)
    return design.name or where, batch, latency, batch / latency

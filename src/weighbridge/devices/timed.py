"""How fast a runtime was measured to run each class of operators on a machine, and what that expects of networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from weighbridge.devices.measured import Amount
from weighbridge.operators.time_class import LANES, TIME_CLASSES

__all__ = ["LANES", "TIME_CLASSES", "ClassRates", "Timed", "names_of"]


@dataclass(frozen=True, slots=True)
class ClassRates:
    """What one class of operators takes, one of ``TIME_CLASSES``.

    Seconds = MACs / ``macs_per_s`` + bytes / ``bytes_per_s`` + operations / ``operations_per_s`` + comparisons / ``compares_per_s`` +
    special functions / ``special_per_s`` + nodes x ``node_overhead_s`` + steps x ``overhead_s``, and all that over ``efficiency``.

    Rates and overhead are those of single operators, None where such a term takes no time; ``efficiency`` is how much of that speed the
    class reached inside of whole networks, None where no network was measured.
    """

    operators: str
    macs_per_s: Amount | None = None
    bytes_per_s: Amount | None = None
    operations_per_s: Amount | None = None
    compares_per_s: Amount | None = None
    special_per_s: Amount | None = None
    node_overhead_s: Amount | None = None
    overhead_s: Amount | None = None
    efficiency: Amount | None = None

    @property
    def figures(self) -> tuple[Amount, ...]:
        """Every number, in the order of the file."""
        found = (getattr(self, one.name) for one in fields(self) if one.name != "operators")
        return tuple(one for one in found if one is not None)


@dataclass(frozen=True, slots=True)
class Timed:
    """One runtime on this machine, at one precision with so many threads: rates by class of operators, fitted to what it took.

    ``fuses`` says whether the runtime merges normalisations and functions into what they follow, so that the deployed graph is what runs.
    ``call_s`` is what a run takes beside its operators.  ``least`` and ``most`` hold four of five networks that had no part in the fit:
    measured time over expected one; None where no network was measured.  ``networks`` are how many were.

    ``near_bytes`` are what the nearest memory holds, beyond which a byte takes 1 / ``far_bytes_per_s`` / ``far_efficiency`` more in any
    class; None where all bytes take as long.  ``lanes`` are the channels that kernels compute at a time, padded ones among them.
    """

    runtime: str
    version: str
    mode: str
    precision: str
    threads: int
    fuses: bool
    conditions: str
    classes: tuple[ClassRates, ...]
    call_s: Amount | None = None
    least: Amount | None = None
    most: Amount | None = None
    networks: int = 0
    least_macs: Amount | None = None
    most_macs: Amount | None = None
    near_bytes: Amount | None = None
    far_bytes_per_s: Amount | None = None
    far_efficiency: Amount | None = None
    lanes: int = 1

    @property
    def thread_count(self) -> str:
        """In words: ``2 threads``."""
        return f"{self.threads:,} thread{'' if self.threads == 1 else 's'}"

    def rates(self, operators: str) -> ClassRates | None:
        """The entry of a class, or None: no class stands in for another."""
        return next((one for one in self.classes if one.operators == operators), None)

    @property
    def figures(self) -> tuple[Amount, ...]:
        """Every number, in the order of the file."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[Amount]:
        for one in self.classes:
            yield from one.figures
        ranges = (self.least, self.most, self.least_macs, self.most_macs)
        beside = (self.call_s, self.near_bytes, self.far_bytes_per_s, self.far_efficiency, *ranges)
        yield from (one for one in beside if one is not None)


def names_of(entries: Sequence[Timed]) -> tuple[str, ...]:
    """What to call each: the runtime with its version, and also its mode and its threads where others at its precision differ in them."""
    return tuple(_name(one, [other for other in entries if _runs(other) == _runs(one)]) for one in entries)


def _runs(one: Timed) -> tuple[str, str, str]:
    return one.runtime, one.version, one.precision


def _name(one: Timed, alike: Sequence[Timed]) -> str:
    mode = f" {one.mode}" if any(other.mode != one.mode for other in alike) else ""
    threads = f", {one.thread_count}" if any(other.threads != one.threads for other in alike) else ""
    return f"{one.runtime} {one.version}{mode}{threads}"

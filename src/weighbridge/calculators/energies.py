"""A table of energies with everything set against everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from weighbridge.devices.device import ADD, MULTIPLY, EnergyTable, Picojoules
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import stated

from .plain import plain

__all__ = ["Energies", "EnergyEntry", "energies"]

_PICO: Final = Fraction(1, 10**12)


class EnergyEntry(NamedTuple):
    """One operation, or reading 32 bits from a level of memory; ``times_least`` is its energy over the table's smallest.

    Both are exact.  A multiply-accumulate is the sum of its two operations.
    """

    name: str
    energy_j: Fraction
    times_least: Fraction
    source: str
    verified: bool
    note: str


class Energies(NamedTuple):
    """A table from the smallest energy to the largest; ``ratios[a][b]`` is how many times b's energy a's is."""

    name: str
    title: str
    process: str
    entries: tuple[EnergyEntry, ...]
    ratios: Mapping[str, Mapping[str, Fraction]]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings for JSON."""
        return plain(self)


def energies(table: EnergyTable) -> Energies:
    """The entries of ``table`` and their ratios, computed from the picojoules exactly as they are stated."""
    found = sorted(_stated(table), key=lambda entry: entry[1])
    entries = tuple(EnergyEntry(name, each * _PICO, each / found[0][1], *origin) for name, each, origin in found)
    ratios = {name: {other: one / two for other, two, _ in found} for name, one, _ in found}
    return Energies(table.name, table.title, table.process, entries, ratios, table.notes)


_Origin = tuple[str, bool, str]


def _stated(table: EnergyTable) -> Iterator[tuple[str, Fraction, _Origin]]:
    """(name, picojoules, (source, whether verified, note)) of every energy of the table, and of what follows from two."""
    for one in table.operations:
        yield f"{one.operation} {one.precision}", stated(one.energy_pj.value), _origin(one.energy_pj)
    for precision in dict.fromkeys(one.precision for one in table.operations):
        multiply, add = table.operation(MULTIPLY, precision), table.operation(ADD, precision)
        if multiply and add:
            both = (multiply.energy_pj, add.energy_pj)
            each = stated(both[0].value) + stated(both[1].value)
            yield f"multiply-accumulate {precision}", each, ("multiply + add", all(one.verified for one in both), "")
    for access in table.accesses:
        each_pj = access.energy_pj_per_32_bit
        yield f"32 bits from {access.level}", stated(each_pj.value), _origin(each_pj)


def _origin(each: Picojoules) -> _Origin:
    return each.source, each.verified, each.note

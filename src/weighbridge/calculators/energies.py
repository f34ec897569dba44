"""A table of energies with everything set against everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from weighbridge.devices.device import ADD, MULTIPLY, EnergyTable, Picojoules

from .plain import plain

__all__ = ["Energies", "EnergyEntry", "energies"]


class EnergyEntry(NamedTuple):
    """One operation, or reading 32 bits from a level of memory; ``times_least`` is its energy over the table's smallest.

    A multiply-accumulate is the sum of its two operations.
    """

    name: str
    energy_j: float
    times_least: float
    source: str
    verified: bool
    note: str


class Energies(NamedTuple):
    """A table from the smallest energy to the largest; ``ratios[a][b]`` is how many times b's energy a's is."""

    name: str
    title: str
    process: str
    entries: tuple[EnergyEntry, ...]
    ratios: Mapping[str, Mapping[str, float]]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings for JSON."""
        return plain(self)


def energies(table: EnergyTable) -> Energies:
    """The entries of ``table`` and their ratios, computed from the picojoules as they are stated."""
    stated = sorted(_stated(table), key=lambda entry: entry[1].value)
    least = stated[0][1].value if stated else 1.0
    entries = tuple(
        EnergyEntry(name, each.value / 1e12, each.value / least, each.source, each.verified, each.note)
        for name, each in stated
    )
    ratios = {name: {other: one.value / two.value for other, two in stated} for name, one in stated}
    return Energies(table.name, table.title, table.process, entries, ratios, table.notes)


def _stated(table: EnergyTable) -> Iterator[tuple[str, Picojoules]]:
    for one in table.operations:
        yield f"{one.operation} {one.precision}", one.energy_pj
    for precision in dict.fromkeys(one.precision for one in table.operations):
        multiply, add = table.operation(MULTIPLY, precision), table.operation(ADD, precision)
        if multiply and add:
            yield f"multiply-accumulate {precision}", _sum(multiply.energy_pj, add.energy_pj)
    for access in table.accesses:
        yield f"32 bits from {access.level}", access.energy_pj_per_32_bit


def _sum(multiply: Picojoules, add: Picojoules) -> Picojoules:
    value = round(multiply.value + add.value, 9)  # 3.7 + 0.9 is 4.6000000000000005 in binary
    return Picojoules(value, "multiply + add", multiply.verified and add.verified)

"""Energy: operations x energy each, and bytes x energy each by level of memory, from a table of one process.

The convention is the bill that the literature writes: the multiplications and additions of all MACs, and every weight and every
activation (the inputs and each node's outputs) fetched once.  Biases, normalisation and other operations are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, ADD, MULTIPLY, WEIGHTS, Device, EnergyTable, Picojoules
from weighbridge.estimates.charge import Battery, Charge, charge
from weighbridge.estimates.demand import Demand
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import stated

__all__ = ["Arithmetic", "Bill", "DeviceEnergy", "LevelEnergy", "arithmetic", "bill", "device_energy"]

_ARITHMETIC: Final = "arithmetic"
_NO_CHARGE: Final = "no charge, as the energy is not known in full"
_TOO_LARGE: Final = "an energy is not known, as it is beyond what a number can hold"
_LEFT_OUT: Final = (
    "counted are MACs, and weights and activations each fetched once in full words; "
    "biases, normalisation and other work are not"
)


class Arithmetic(NamedTuple):
    """The energy of the MACs in joules; None, and a note, where the table has no entry at a precision they need.

    Infinite is what no float can hold; a ``Bill`` and a ``DeviceEnergy`` do not know it.
    """

    multiply_j: float | None
    add_j: float | None
    total_j: float | None
    notes: tuple[str, ...]


class LevelEnergy(NamedTuple):
    """Everything fetched once from one level: ``moved_j`` = ``weights_j`` + ``activations_j``; ``total_j`` adds the arithmetic."""

    level: str
    weights_j: float | None
    activations_j: float | None
    moved_j: float | None
    total_j: float | None
    charge: Charge | None


class Bill(NamedTuple):
    """The energy of one run, of ``batch`` inputs, by a table: of the arithmetic, and of fetching everything once from each level.

    ``exact`` is False where a count behind it is a lower bound; ``verified`` where a number of the table is not verified.
    """

    table: str
    title: str
    process: str
    precision: str | None
    multiply_j: float | None
    add_j: float | None
    arithmetic_j: float | None
    levels: tuple[LevelEnergy, ...]
    exact: bool
    verified: bool
    notes: tuple[str, ...] = ()
    batch: int | None = None


class DeviceEnergy(NamedTuple):
    """The energy of one run, of the conditions' batch, on a device.

    ``by`` has ``arithmetic`` and each memory with what is fetched from it.
    """

    total_j: float | None
    by: Mapping[str, float | None]
    exact: bool
    verified: bool
    charge: Charge | None = None
    notes: tuple[str, ...] = ()


def arithmetic(demand: Demand, table: EnergyTable, precision: str | None = None) -> Arithmetic:
    """The energy of the multiplications and additions of all MACs, at their own precisions or all at ``precision``."""
    if not demand.ops and not demand.ops_exact:
        return Arithmetic(None, None, None, ("no energy of the arithmetic: no MACs are counted",))
    multiply: float | None = 0.0
    add: float | None = 0.0
    notes = []
    for own, macs in demand.macs_by_precision:
        at = precision or own
        entries = table.operation(MULTIPLY, at), table.operation(ADD, at)
        if macs and None in entries:
            named = " or ".join(word for word, entry in zip((MULTIPLY, ADD), entries, strict=True) if entry is None)
            notes.append(f"no energy of the arithmetic: the table has no {named} at {at or 'the number format'}")
        multiply = _plus(multiply, _joules(macs, entries[0].energy_pj if entries[0] else None))
        add = _plus(add, _joules(macs, entries[1].energy_pj if entries[1] else None))
    return Arithmetic(multiply, add, _plus(multiply, add), tuple(dict.fromkeys(notes)))


def bill(
    demand: Demand,
    table: EnergyTable,
    precision: str | None = None,
    battery: Battery | None = None,
    batch: int | None = None,
) -> Bill:
    """The energy of one run by ``table``; without an entry at its precision there is none of the arithmetic."""
    sums = arithmetic(demand, table, precision)
    levels = []
    found = [*sums[:3]]
    for access in table.accesses:
        each = access.energy_pj_per_32_bit
        weights, values = _fetched(demand.weight_read_bytes, each), _fetched(demand.value_bytes, each)
        moved = _plus(weights, values)
        total = _plus(sums.total_j, moved)
        found += (weights, values, moved, total)
        level = LevelEnergy(
            access.level, _held(weights), _held(values), _held(moved), _held(total), charge(total, battery, batch)
        )
        levels.append(level)
    return Bill(
        table=table.name,
        title=table.title,
        process=table.process,
        precision=precision or demand.precision,
        multiply_j=_held(sums.multiply_j),
        add_j=_held(sums.add_j),
        arithmetic_j=_held(sums.total_j),
        levels=tuple(levels),
        exact=demand.ops_exact and demand.moved_exact and demand.value_bytes is not None,
        verified=all(figure.verified for figure in table.figures),
        notes=(*sums.notes, *_unknown_sizes(demand), *_too_large(found), *_uncharged(levels, battery), _LEFT_OUT),
        batch=batch,
    )


def _uncharged(levels: list[LevelEnergy], battery: Battery | None) -> list[str]:
    return [_NO_CHARGE] if battery and not any(level.charge for level in levels) else []


def device_energy(
    demand: Demand,
    device: Device,
    precision: str | None = None,
    battery: Battery | None = None,
    batch: int | None = None,
) -> DeviceEnergy | None:
    """The same by a device's own table, weights and activations from the memories that hold them; None without a table."""
    table = device.energy
    if table is None:
        return None
    sums = arithmetic(demand, table, precision)
    by: dict[str, float | None] = {_ARITHMETIC: sums.total_j}
    notes = [*sums.notes, *_unknown_sizes(demand)]
    for what, size in ((WEIGHTS, demand.weight_read_bytes), (ACTIVATIONS, demand.value_bytes)):
        memory = device.memory_for(what)
        access = table.access(memory.name) if memory else None
        if memory is None or access is None:
            notes.append(f"no energy of fetching the {what}: the table has no access to where they lie")
            by.setdefault(_key(memory.name) if memory else what, None)
            continue
        fetched = _fetched(size, access.energy_pj_per_32_bit)
        by[_key(memory.name)] = _plus(by.get(_key(memory.name), 0.0), fetched)
    total: float | None = 0.0
    for part in by.values():
        total = _plus(total, part)
    charged = charge(total, battery, batch)
    return DeviceEnergy(
        total_j=_held(total),
        by={name: _held(part) for name, part in by.items()},
        exact=demand.ops_exact and demand.moved_exact and demand.value_bytes is not None,
        verified=all(figure.verified for figure in table.figures),
        charge=charged,
        notes=(
            *notes,
            *_too_large((*by.values(), total)),
            *([_NO_CHARGE] if battery and not charged else []),
            _LEFT_OUT,
        ),
    )


def _key(memory: str) -> str:
    """A memory's name in ``by``, where it must not meet the arithmetic's."""
    return f"{memory} (memory)" if memory == _ARITHMETIC else memory


def _unknown_sizes(demand: Demand) -> list[str]:
    return [] if demand.value_bytes is not None else ["no energy of fetching the activations: a size is unknown"]


def _held(value: float | None) -> float | None:
    """None where ``value`` is beyond what a float can hold."""
    return None if value == math.inf else value


def _too_large(values: Iterable[float | None]) -> list[str]:
    return [_TOO_LARGE] if math.inf in values else []


def _plus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _fetched(size: int | None, per_32_bit: Picojoules) -> float | None:
    """Joules of fetching ``size`` bytes, four of them a word."""
    return None if size is None else _joules(size, per_32_bit, parts=4)


def _joules(count: int, each: Picojoules | None, parts: int = 1) -> float | None:
    """``count`` times an energy, a ``parts``-th of it each; nothing costs nothing, whatever the table lacks."""
    if not count:
        return 0.0
    if each is None:
        return None
    try:
        return float(count * stated(each.value) / (parts * 10**12))
    except OverflowError:
        return math.inf

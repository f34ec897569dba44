"""Reads a device file or a table of energies: TOML in, a record out, or every fault of the file at once with its ``$.path``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import cattrs
from cattrs.gen import make_dict_structure_fn, override

from weighbridge.devices.between import OF_A_FILE, energies_twice, faults_between_entries
from weighbridge.devices.device import (
    CONTENTS,
    KERNEL_LIBRARIES,
    KINDS,
    OPERATIONS,
    PRECISIONS,
    AccessEnergy,
    Device,
    EnergyTable,
    Figure,
    Memory,
    OperationEnergy,
    Peak,
    Picojoules,
)
from weighbridge.devices.measured import OPERATOR_CLASSES, Amount, Efficiency, Measured, Power
from weighbridge.devices.timed import LANES, TIME_CLASSES, ClassRates, Timed
from weighbridge.devices.values import (
    Hook,
    amount,
    count,
    flag,
    list_of,
    name,
    one_of,
    picojoules,
    shown,
    tables,
    text,
    whole_number,
)
from weighbridge.handwritten import parse_toml
from weighbridge.toml_file import fault_lines, faulty, read_toml

__all__ = ["device_of", "read_device", "read_energy_table"]

_SHOWN_KEYS = 10
_FIGURE = '{ value = 1000, source = "where it stands" }'


def read_device(path: Path) -> Device:
    """The device that the TOML file at ``path`` describes.

    Raises ``BadSpec``: one line for a file that cannot be read, is no text or no TOML, or is larger than 1 MiB; else a
    line that sums up and a line for each fault (the first 100), whose path starts at ``$``, the file's top level.
    """
    return _device(_parse(path, "device file", "the name of a device of the catalogue"), str(path))


def device_of(content: bytes, where: str) -> Device:
    """The device that the bytes of a device file describe, which came from ``where``.  Raises ``BadSpec`` as ``read_device`` does."""
    return _device(parse_toml(content, where, "a device file"), where)


def _device(raw: Mapping[str, object], where: str) -> Device:
    device = _structured(raw, Device, faults_between_entries(raw), where, "device file")
    assert isinstance(device, Device)
    return device


def read_energy_table(path: Path) -> EnergyTable:
    """The table of energies that the TOML file at ``path`` holds.  Raises ``BadSpec`` as ``read_device`` does."""
    raw = _parse(path, "table of energies", "the name of a table: `weighbridge energy` lists them")
    faults = [f"$.{key}: is missing" for key in OF_A_FILE if key not in raw]
    table = _structured(raw, EnergyTable, [*faults, *energies_twice(raw, "$")], str(path), "table of energies")
    assert isinstance(table, EnergyTable)
    return table


def _structured(raw: Mapping[str, object], cls: type, faults: list[str], where: str, what: str) -> object:
    """``raw`` as a ``cls``; ``faults`` are those found between entries."""
    found: object = None
    try:
        found = _converter().structure(raw, cls)
    except (cattrs.ClassValidationError, cattrs.IterableValidationError) as error:
        faults = [*_faults_of(error, cls), *faults]
    if faults:
        raise faulty(faults, where, what)
    return found


def _parse(path: Path, what: str, other: str) -> Mapping[str, object]:
    return read_toml(path, what, f"give the path of a {what}, or {other}")


@cache
def _converter() -> cattrs.Converter:
    """Strict: unknown keys are faults, nothing is coerced, and each number is a table with its source."""
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    _register(converter, Figure, _FIGURE, value=whole_number, source=text, verified=flag, note=text, measured=flag)
    _register(converter, Picojoules, _FIGURE, value=picojoules, source=text, verified=flag, note=text)
    _register(converter, Peak, "a table", unit=text, precision=one_of(PRECISIONS))
    _register(converter, Memory, "a table", name=text, holds=list_of(one_of(CONTENTS), '["weights"]'))
    _register_energies(converter)
    _register_measured(converter)
    _register_timed(converter)
    entries = {
        "peaks": tables(converter.get_structure_hook(tuple[Peak, ...]), "[[peaks]]"),
        "memories": tables(converter.get_structure_hook(tuple[Memory, ...]), "[[memories]]"),
        "measured": tables(converter.get_structure_hook(tuple[Measured, ...]), "[[measured]]"),
        "timed": tables(converter.get_structure_hook(tuple[Timed, ...]), "[[timed]]"),
    }
    lines = {"title": text, "class_": text, "core": text, "notes": list_of(text, '["a sentence"]')}
    words = {"kind": one_of(KINDS), "kernel_library": one_of(KERNEL_LIBRARIES)}
    _register(converter, Device, "a table", name=name, **words, **lines, **entries)
    return converter


def _register_energies(converter: cattrs.Converter) -> None:
    precision, operation = one_of(PRECISIONS), one_of(OPERATIONS)
    _register(converter, OperationEnergy, "a table", operation=operation, precision=precision)
    _register(converter, AccessEnergy, "a table", level=text)
    entries = {
        "operations": tables(
            converter.get_structure_hook(tuple[OperationEnergy, ...]), "[[operations]] or [[energy.operations]]"
        ),
        "accesses": tables(
            converter.get_structure_hook(tuple[AccessEnergy, ...]), "[[accesses]] or [[energy.accesses]]"
        ),
    }
    lines = {"process": text, "title": text, "notes": list_of(text, '["a sentence"]')}
    _register(converter, EnergyTable, "a table", name=name, **lines, **entries)


def _register_measured(converter: cattrs.Converter) -> None:
    _register(converter, Amount, _FIGURE, value=amount, source=text, verified=flag, note=text)
    _register(converter, Efficiency, "a table", operators=one_of(OPERATOR_CLASSES))
    _register(converter, Power, "a table, [measured.power]")
    header = "[[measured.efficiencies]]"
    entries = {"efficiencies": tables(converter.get_structure_hook(tuple[Efficiency, ...]), header)}
    words = {"kernels": text, "precision": one_of(PRECISIONS), "conditions": text}
    _register(converter, Measured, "a table", **words, **entries)


def _register_timed(converter: cattrs.Converter) -> None:
    _register(converter, ClassRates, "a table", operators=one_of(TIME_CLASSES))
    words = dict.fromkeys(("runtime", "version", "mode", "conditions"), text)
    numbers = {"threads": count, "networks": count, "lanes": _lanes}
    entries = {"classes": tables(converter.get_structure_hook(tuple[ClassRates, ...]), "[[timed.classes]]")}
    _register(converter, Timed, "a table", precision=one_of(PRECISIONS), fuses=flag, **words, **numbers, **entries)


def _lanes(value: object, of: object) -> int:
    if value not in LANES or isinstance(value, bool):
        raise ValueError(f"must be one of {', '.join(map(str, LANES))}, not {shown(value)}")
    return count(value, of)


def _register(converter: cattrs.Converter, cls: type, expected: str, **hooks: Hook) -> None:
    overrides = {name: override(struct_hook=hook, rename=name.rstrip("_")) for name, hook in hooks.items()}
    structure: Callable[..., object] = make_dict_structure_fn(cls, converter, **overrides)  # type: ignore[arg-type]

    def read(value: object, of: object) -> object:
        if not isinstance(value, dict):
            raise ValueError(f"must be {expected}, not {shown(value)}")
        return structure(value, of)

    converter.register_structure_hook(cls, read)


def _faults_of(error: BaseException, cls: type) -> list[str]:
    """The faults that were found on the way to a ``cls``, each with its path."""
    hidden = OF_A_FILE if cls is Device else ()
    lines = fault_lines(error, lambda fault: _fault(fault, hidden))
    return [line.replace("$.class_:", "$.class:", 1) for line in lines]


def _fault(error: BaseException, hidden: Sequence[str]) -> str:
    """What is wrong; ``hidden`` are the keys that a table of energies does not have here."""
    if isinstance(error, KeyError):
        return "is missing"
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        keys = [field.name.rstrip("_") for field in dataclasses.fields(error.cl)]
        known = ", ".join(key for key in keys if error.cl is not EnergyTable or key not in hidden)
        extra = sorted(error.extra_fields)
        named = ", ".join(map(repr, extra[:_SHOWN_KEYS])) + (" and others" if len(extra) > _SHOWN_KEYS else "")
        return f"has no key {named}; the keys here are {known}"
    return str(error)

"""Reads a device file or a table of energies: TOML in, a record out, or every fault of the file at once with its ``$.path``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import cattrs
from cattrs.gen import make_dict_structure_fn, override

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
from weighbridge.handwritten import parse_toml
from weighbridge.toml_file import fault_lines, faulty, read_toml

__all__ = ["device_of", "read_device", "read_energy_table"]

Hook = Callable[[object, object], object]

_LARGEST_FIGURE = 10**24
_SMALLEST_ENERGY_PJ = 1e-9
_SMALLEST_AMOUNT = 1e-9
_MOST_ENTRIES = 64
_MOST_CHARACTERS = 2000
_SHOWN_KEYS = 10
_FIGURE = '{ value = 1000, source = "where it stands" }'
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_OF_A_FILE = ("name", "title")
"""What a table of energies has in a file of its own; one in a device's file is the device's."""


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
    device = _structured(raw, Device, _faults_between_entries(raw), where, "device file")
    assert isinstance(device, Device)
    return device


def read_energy_table(path: Path) -> EnergyTable:
    """The table of energies that the TOML file at ``path`` holds.  Raises ``BadSpec`` as ``read_device`` does."""
    raw = _parse(path, "table of energies", "the name of a table: `weighbridge energy` lists them")
    faults = [f"$.{key}: is missing" for key in _OF_A_FILE if key not in raw]
    table = _structured(raw, EnergyTable, [*faults, *_energies_twice(raw, "$")], str(path), "table of energies")
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


def _text(value: object, _: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text, not {_shown(value)}")
    if len(value) > _MOST_CHARACTERS or not value.isprintable():
        raise ValueError(f"must be one line of at most {_MOST_CHARACTERS} printable characters, not {_shown(value)}")
    return value


def _name(value: object, _: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"must be lower-case letters, digits, hyphens and dots, not {_shown(value)}")
    return value


def _flag(value: object, _: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {_shown(value)}")
    return value


def _above_zero(value: object, _: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"must be a number, not {_shown(value)}")
    if not 0 < value <= _LARGEST_FIGURE:
        raise ValueError(f"must be above 0 and at most 1e24, not {_shown(value)}")
    return value


def _number(value: object, of: object) -> int:
    number = _above_zero(value, of)
    if number != int(number):
        raise ValueError(f"must be a whole number, not {_shown(value)}")
    return int(number)


def _energy(value: object, of: object) -> float:
    number = _above_zero(value, of)
    if number < _SMALLEST_ENERGY_PJ:
        raise ValueError(f"must be at least {_SMALLEST_ENERGY_PJ} pJ, not {_shown(value)}")
    return number


def _amount(value: object, of: object) -> int | float:
    number = _above_zero(value, of)
    if number < _SMALLEST_AMOUNT:
        raise ValueError(f"must be at least {_SMALLEST_AMOUNT}, not {_shown(value)}")
    return number


def _one_of(words: Sequence[str]) -> Callable[[object, object], str]:
    def read(value: object, _: object) -> str:
        if value not in words:
            raise ValueError(f"must be one of {', '.join(words)}, not {_shown(value)}")
        return str(value)

    return read


def _list_of(item: Callable[[object, object], str], example: str) -> Callable[[object, object], tuple[str, ...]]:
    def read(value: object, of: object) -> tuple[str, ...]:
        found, faults = [], []
        for place, element in enumerate(_list(value, f"a list such as {example}")):
            try:
                found.append(item(element, of))
            except ValueError as fault:
                fault.add_note(cattrs.IterableValidationNote("", place, str))
                faults.append(fault)
        if faults:
            raise cattrs.IterableValidationError("", faults, tuple)
        return tuple(found)

    return read


def _list(value: object, expected: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"must be {expected}, not {_shown(value)}")
    if len(value) > _MOST_ENTRIES:
        raise ValueError(f"must have at most {_MOST_ENTRIES} entries, not {len(value)}")
    return value


def _shown(value: object) -> str:
    kinds = ((dict, "a table"), (list, "a list"), (bool, str(value).lower()))
    return next((text for kind, text in kinds if isinstance(value, kind)), f"{value!r:.100}")


@cache
def _converter() -> cattrs.Converter:
    """Strict: unknown keys are faults, nothing is coerced, and each number is a table with its source."""
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    _register(converter, Figure, _FIGURE, value=_number, source=_text, verified=_flag, note=_text)
    _register(converter, Picojoules, _FIGURE, value=_energy, source=_text, verified=_flag, note=_text)
    _register(converter, Peak, "a table", unit=_text, precision=_one_of(PRECISIONS))
    _register(converter, Memory, "a table", name=_text, holds=_list_of(_one_of(CONTENTS), '["weights"]'))
    _register_energies(converter)
    _register_measured(converter)
    entries = {
        "peaks": _list_then(converter.get_structure_hook(tuple[Peak, ...]), "[[peaks]]"),
        "memories": _list_then(converter.get_structure_hook(tuple[Memory, ...]), "[[memories]]"),
        "measured": _list_then(converter.get_structure_hook(tuple[Measured, ...]), "[[measured]]"),
    }
    lines = {"title": _text, "class_": _text, "core": _text, "notes": _list_of(_text, '["a sentence"]')}
    words = {"kind": _one_of(KINDS), "kernel_library": _one_of(KERNEL_LIBRARIES)}
    _register(converter, Device, "a table", name=_name, **words, **lines, **entries)
    return converter


def _register_energies(converter: cattrs.Converter) -> None:
    precision, operation = _one_of(PRECISIONS), _one_of(OPERATIONS)
    _register(converter, OperationEnergy, "a table", operation=operation, precision=precision)
    _register(converter, AccessEnergy, "a table", level=_text)
    entries = {
        "operations": _list_then(
            converter.get_structure_hook(tuple[OperationEnergy, ...]), "[[operations]] or [[energy.operations]]"
        ),
        "accesses": _list_then(
            converter.get_structure_hook(tuple[AccessEnergy, ...]), "[[accesses]] or [[energy.accesses]]"
        ),
    }
    lines = {"process": _text, "title": _text, "notes": _list_of(_text, '["a sentence"]')}
    _register(converter, EnergyTable, "a table", name=_name, **lines, **entries)


def _register_measured(converter: cattrs.Converter) -> None:
    _register(converter, Amount, _FIGURE, value=_amount, source=_text, verified=_flag, note=_text)
    _register(converter, Efficiency, "a table", operators=_one_of(OPERATOR_CLASSES))
    _register(converter, Power, "a table, [measured.power]")
    header = "[[measured.efficiencies]]"
    entries = {"efficiencies": _list_then(converter.get_structure_hook(tuple[Efficiency, ...]), header)}
    words = {"kernels": _text, "precision": _one_of(PRECISIONS), "conditions": _text}
    _register(converter, Measured, "a table", **words, **entries)


def _register(converter: cattrs.Converter, cls: type, expected: str, **hooks: Hook) -> None:
    overrides = {name: override(struct_hook=hook, rename=name.rstrip("_")) for name, hook in hooks.items()}
    structure: Callable[..., object] = make_dict_structure_fn(cls, converter, **overrides)  # type: ignore[arg-type]

    def read(value: object, of: object) -> object:
        if not isinstance(value, dict):
            raise ValueError(f"must be {expected}, not {_shown(value)}")
        return structure(value, of)

    converter.register_structure_hook(cls, read)


def _list_then(structure: Hook, header: str) -> Hook:
    def read(value: object, of: object) -> object:
        return structure(_list(value, f"a list of tables, {header}"), of)

    return read


def _faults_of(error: BaseException, cls: type) -> list[str]:
    """The faults that were found on the way to a ``cls``, each with its path."""
    hidden = _OF_A_FILE if cls is Device else ()
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


class _Once:
    """Collects the faults of keys that are there twice; the first path of each is told with the second."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._seen: dict[object, str] = {}

    def see(self, key: object, path: str, what: str) -> None:
        if key in self._seen:
            self.faults.append(f"{path}: {what}, as {self._seen[key]} does already")
        self._seen.setdefault(key, path)


def _faults_between_entries(raw: Mapping[str, object]) -> list[str]:
    """What is wrong between entries that are fine on their own: a rate or a memory given twice, more reserved than there is."""
    once = _Once()
    for path, peak in _tables_of(raw, "peaks"):
        unit, precision = peak.get("unit"), peak.get("precision")
        if isinstance(unit, str) and isinstance(precision, str):
            once.see(("peak", unit, precision), path, f"gives the rate of {unit!r} at {precision!r}")
    faults = [*once.faults, *_faults_between_memories(raw), *_faults_of_measurements(raw)]
    energy = raw.get("energy")
    return [*faults, *_faults_of_own_energies(raw, energy)] if isinstance(energy, dict) else faults


def _faults_between_memories(raw: Mapping[str, object]) -> list[str]:
    """A name or a content twice, and parts of a memory that are larger than the memory."""
    once = _Once()
    faults = once.faults
    for path, memory in _tables_of(raw, "memories"):
        if isinstance(name := memory.get("name"), str):
            once.see(name, path, f"has the name {name!r}")
        contents = _Once()
        holds = memory.get("holds")
        for content in holds[:_MOST_ENTRIES] if isinstance(holds, list) else ():
            if isinstance(content, str):
                contents.see(content, path, f"holds the {content}")
        faults += contents.faults
        size = _value_of(memory.get("bytes"))
        for key in ("reserved_bytes", "largest_block_bytes"):
            part = _value_of(memory.get(key))
            if size is not None and part is not None and part > size:
                faults.append(f"{path}.{key}: {part:,} B is more than the {size:,} B that there are")
    return faults


def _faults_of_measurements(raw: Mapping[str, object]) -> list[str]:
    """A library of kernels twice, a class of operators twice or none at all, and ranges that end before they begin."""
    once = _Once()
    faults = once.faults
    for path, one in _tables_of(raw, "measured"):
        kernels, precision = one.get("kernels"), one.get("precision")
        if isinstance(kernels, str) and isinstance(precision, str):
            once.see((kernels, precision), path, f"is of {kernels!r} at {precision!r}")
        if one.get("efficiencies") == []:
            faults.append(f"{path}.efficiencies: must have an entry at least")
        classes = _Once()
        for place, efficiency in _tables_of(one, "efficiencies", path):
            if isinstance(operators := efficiency.get("operators"), str):
                classes.see(operators, place, f"is of {operators!r}")
        faults += [*classes.faults, *_falling(one, ("least", "most"), path)]
        faults += _falling(one, ("least_macs", "most_macs"), path)
        if isinstance(power := one.get("power"), dict):
            faults += _falling(power, ("least_w", "mean_w", "most_w"), f"{path}.power")
    return faults


def _falling(table: Mapping[str, object], keys: Sequence[str], path: str) -> Iterator[str]:
    """A fault for each of ``keys`` whose number is below that of the key before it."""
    for lower, upper in pairwise(keys):
        low, high = _value_of(table.get(lower), _amount), _value_of(table.get(upper), _amount)
        if low is not None and high is not None and low > high:
            yield f"{path}.{upper}: {high} is below {lower}, {low}"


def _faults_of_own_energies(raw: Mapping[str, object], energy: Mapping[str, object]) -> list[str]:
    """A device's own table has the device's name, and its levels are the device's memories."""
    faults = [f"$.energy.{key}: is the device's own" for key in _OF_A_FILE if key in energy]
    memories = [memory.get("name") for _, memory in _tables_of(raw, "memories")]
    for path, access in _tables_of(energy, "accesses", "$.energy"):
        level = access.get("level")
        if isinstance(level, str) and level not in memories:
            named = ", ".join(repr(name) for name in memories) or "none"
            faults.append(f"{path}.level: must be one of the device's memories ({named}), not {level!r:.100}")
    return [*faults, *_energies_twice(energy, "$.energy")]


def _energies_twice(energy: Mapping[str, object], root: str) -> list[str]:
    once = _Once()
    for path, one in _tables_of(energy, "operations", root):
        operation, precision = one.get("operation"), one.get("precision")
        if isinstance(operation, str) and isinstance(precision, str):
            once.see((operation, precision), path, f"gives the energy of {operation!r} at {precision!r}")
    for path, access in _tables_of(energy, "accesses", root):
        if isinstance(level := access.get("level"), str):
            once.see(level, path, f"gives the energy of {level!r}")
    return once.faults


def _value_of(figure: object, read: Callable[[object, object], float] = _number) -> float | None:
    """The value of a figure; None of one that has a fault of its own."""
    try:
        return read(figure.get("value"), int) if isinstance(figure, dict) else None
    except ValueError:
        return None


def _tables_of(raw: Mapping[str, object], key: str, root: str = "$") -> Sequence[tuple[str, Mapping[str, object]]]:
    entries = raw.get(key)
    listed = entries[:_MOST_ENTRIES] if isinstance(entries, list) else []
    return [(f"{root}.{key}[{index}]", entry) for index, entry in enumerate(listed) if isinstance(entry, dict)]

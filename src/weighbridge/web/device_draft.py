"""A device as somebody fills it into a form: its file is made from that, and what is wrong with the file stands beside its field.

A field is named as the path of what it fills: ``peaks[0].ops_per_s.value`` is ``$.peaks[0].ops_per_s.value`` of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import tomli_w

from weighbridge.devices.device import Device
from weighbridge.devices.plain import device_tables
from weighbridge.errors import BadSpec
from weighbridge.handwritten import parse_toml
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import as_number
from weighbridge.written import BANDWIDTH_UNITS, BYTE_UNITS, OPS_UNITS, quantity

__all__ = ["MEMORY_FIGURES", "Draft", "Placed", "draft_of", "filled_with", "placed", "rows_of"]

Filled = Mapping[str, tuple[str, ...]]

MEMORY_FIGURES: Final = ("bytes", "bandwidth_bytes_per_s", "reserved_bytes", "largest_block_bytes")
_LINES: Final = ("name", "title", "class", "kind", "core", "kernel_library")
_SIZES: Final = {"": 1, **BYTE_UNITS}
_UNVERIFIED: Final = "unverified"
_MEASURED: Final = "measured"
"""What is ticked of a number."""
_ROW: Final = re.compile(r"(peaks|memories)\[([0-9]{1,3})\]\.(.+)")
_GROUPED: Final = re.compile(r"(?<=[0-9])_(?=[0-9])|(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
"""What groups of three digits have between them here and in TOML: ``1,048,576``, ``1_048_576``."""
_PATH: Final = re.compile(r"\$((?:\.\w+|\[[0-9]+\])*): (.*)", re.DOTALL)
_MEASURED_TABLES: Final = frozenset(("measured", "timed"))
_ONLY_MEASURED: Final = "must be [[measured]] and [[timed]] tables and nothing else"
_TIMED: Final = re.compile(r"^timed\b")
_LAST: Final = re.compile(r"(?:\.?\w+|\[[0-9]+\])$")


class Draft(NamedTuple):
    """What was typed, by field, rows that nobody filled left out and those behind them moved up; the ``content`` of the file that follows
    from it, and what is wrong with what is no part of such a file, by field.
    """

    filled: Filled
    content: bytes
    faults: tuple[str, ...] = ()


class Placed(NamedTuple):
    """A fault, and the field beside which it stands, "" where it has none."""

    field: str
    path: str
    what: str


def draft_of(fields: Filled) -> Draft:
    """The file that the fields of a form come to.  It is as good or as bad as they are: whoever reads device files says which."""
    filled = _moved_up({name: values for name, values in fields.items() if any(value.strip() for value in values)})
    tables: dict[str, Any] = {name: _one(filled, name) for name in _LINES if _one(filled, name)}
    notes = [line.strip() for line in _one(filled, "notes").splitlines() if line.strip()]
    found = {"notes": notes, "peaks": list(_peaks(filled)), "memories": list(_memories(filled))}
    tables |= {name: value for name, value in found.items() if value}
    faults: tuple[str, ...] = ()
    if energy := _one(filled, "energy"):
        try:
            tables["energy"] = dict(parse_toml(energy.encode(), "energy", "a table of energies"))
        except BadSpec as error:
            faults = (f"$.energy: {error.what}",)
    if measured := _one(filled, "measured"):
        try:
            given = parse_toml(measured.encode(), "measured", "a table of measurements")
        except BadSpec as error:
            faults = (*faults, f"$.measured: {error.what}")
        else:
            fitting = bool(given) and set(given) <= _MEASURED_TABLES
            tables |= given if fitting else {}
            faults = faults if fitting else (*faults, f"$.measured: {_ONLY_MEASURED}")
    return Draft(filled, tomli_w.dumps(tables).encode(), faults)


def filled_with(device: Device) -> Filled:
    """The fields of a form that is to begin as ``device``, under a name that is still to be given."""
    tables = device_tables(device)
    filled: dict[str, tuple[str, ...]] = {name: (str(tables[name]),) for name in _LINES if name in tables}
    filled |= {"name": ("",), "kind": (device.kind,), "notes": ("\n".join(device.notes),)}
    if "energy" in tables:
        filled["energy"] = (tomli_w.dumps(tables["energy"]),)
    if measured := {name: tables[name] for name in sorted(_MEASURED_TABLES) if name in tables}:
        filled["measured"] = (tomli_w.dumps(measured),)
    for group in ("peaks", "memories"):
        for place, row in enumerate(tables.get(group, ())):
            filled.update(_row_with(f"{group}[{place}]", row))
    return filled


def rows_of(filled: Filled, group: str) -> int:
    """How many rows of a group (``peaks``, ``memories``) something is filled into, in fields whose rows have no gap."""
    return 1 + max((int(found[2]) for found in _rows(filled) if found[1] == group), default=-1)


def placed(faults: Iterable[str], is_field: Callable[[str], bool]) -> tuple[Placed, ...]:
    """Each fault, a line that begins with its ``$.path``, with the nearest field that is on the way to it."""
    return tuple(_placed(fault, is_field) for fault in faults)


def _placed(fault: str, is_field: Callable[[str], bool]) -> Placed:
    found = _PATH.fullmatch(fault)
    if found is None:
        return Placed("", "", fault)
    path = found[1].removeprefix(".")
    field = _TIMED.sub(_MEASURED, path)  # both stand in one field
    return Placed(_nearest(field, is_field), path, found[2])


def _nearest(path: str, is_field: Callable[[str], bool]) -> str:
    while path:
        for name in (path, f"{path}.value"):
            if is_field(name):
                return name
        path = _LAST.sub("", path)
    return ""


def _one(filled: Filled, name: str) -> str:
    return filled.get(name, ("",))[-1].strip()


def _moved_up(filled: Filled) -> Filled:
    """The same fields, the rows of each group numbered from 0 without a gap; what is ticked of a number alone fills no row."""
    rows = {
        group: sorted({int(found[2]) for found in _rows(filled) if found[1] == group})
        for group in ("peaks", "memories")
    }
    moved = {name: values for name, values in filled.items() if not _ROW.fullmatch(name)}
    for found in map(_ROW.fullmatch, filled):
        if found and int(found[2]) in rows[found[1]]:
            moved[f"{found[1]}[{rows[found[1]].index(int(found[2]))}].{found[3]}"] = filled[found[0]]
    return moved


def _rows(filled: Filled) -> Iterator[re.Match[str]]:
    for name in filled:
        found = _ROW.fullmatch(name)
        if found and not found[3].endswith((_UNVERIFIED, _MEASURED)):
            yield found


def _peaks(filled: Filled) -> Iterator[dict[str, Any]]:
    for place in range(rows_of(filled, "peaks")):
        path = f"peaks[{place}]"
        words = {name: _one(filled, f"{path}.{name}") for name in ("unit", "precision")}
        figure = _figure(filled, f"{path}.ops_per_s", OPS_UNITS)
        yield {name: word for name, word in words.items() if word} | ({"ops_per_s": figure} if figure else {})


def _memories(filled: Filled) -> Iterator[dict[str, Any]]:
    for place in range(rows_of(filled, "memories")):
        path = f"memories[{place}]"
        name = _one(filled, f"{path}.name")
        memory: dict[str, Any] = {"name": name} if name else {}
        memory["holds"] = list(filled.get(f"{path}.holds", ()))
        for key in MEMORY_FIGURES:
            figure = _figure(filled, f"{path}.{key}", BANDWIDTH_UNITS if key == "bandwidth_bytes_per_s" else _SIZES)
            if figure:
                memory[key] = figure
        yield memory


def _figure(filled: Filled, path: str, units: Mapping[str, int]) -> dict[str, Any]:
    """A number with its source; {} where neither is there."""
    value, source, note = (_one(filled, f"{path}.{name}") for name in ("value", "source", "note"))
    if not (value or source or note):
        return {}
    found: dict[str, Any] = {"value": _number(_GROUPED.sub("", value), units)} if value else {}
    found |= {name: text for name, text in (("source", source), ("note", note)) if text}
    found |= {"verified": False} if _one(filled, f"{path}.{_UNVERIFIED}") else {}
    return found | ({"measured": True} if _one(filled, f"{path}.{_MEASURED}") else {})


def _number(text: str, units: Mapping[str, int]) -> int | float | str:
    """What cannot be read is the text, of which whoever reads the file says that it is no number."""
    value = quantity(text, units)
    return text if value is None else as_number(value)


def _row_with(path: str, row: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, value in row.items():
        if not isinstance(value, Mapping):
            yield (
                f"{path}.{name}",
                tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,),
            )
            continue
        for part in ("value", "source", "note"):
            if part in value:
                yield f"{path}.{name}.{part}", (f"{value[part]:,}" if part == "value" else value[part],)
        if value.get("verified") is False:
            yield f"{path}.{name}.{_UNVERIFIED}", ("yes",)
        if value.get("measured") is True:
            yield f"{path}.{name}.{_MEASURED}", ("yes",)

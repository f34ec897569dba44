"""Reads a file of published networks: TOML in, records out, or every fault of the file at once with its ``$.path``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Final

import cattrs
from cattrs.cols import namedtuple_dict_structure_factory
from cattrs.gen import override

from weighbridge.published.record import Conditions, Published
from weighbridge.toml_file import fault_lines, faulty, read_toml
from weighbridge.written import number, shown, whole

__all__ = ["read_published"]

Hook = Callable[[object, object], object]

_WHAT: Final = "file of published networks"
_OF_ALL: Final = ("source", "input")
"""What a file may say once for all its networks."""
_KEYS: Final = (*_OF_ALL, "networks")
_NAME: Final = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_LARGEST: Final = 10**24


def read_published(path: Path) -> tuple[Published, ...]:
    """The networks that the TOML file at ``path`` describes.

    Raises ``BadSpec``: one line for a file that cannot be read or is no TOML, else a line for each fault.
    """
    raw = read_toml(path, _WHAT, "name one that is there")
    common = {key: raw[key] for key in _OF_ALL if key in raw}
    faults = [f"$.{key}: is no key here; those are {', '.join(_OF_ALL)}, networks" for key in raw if key not in _KEYS]
    rows = raw.get("networks")
    if not isinstance(rows, list) or not rows:
        faults.append("$.networks: must be a list of tables, [[networks]]")
        rows = []
    found: list[Published] = []
    for place, row in enumerate(rows):
        try:
            whole_row = {**common, **row} if isinstance(row, Mapping) else row
            found.append(_converter().structure(whole_row, Published))
        except ValueError as error:
            faults.append(f"$.networks[{place}]: {error}")
        except cattrs.ClassValidationError as error:
            faults += fault_lines(error, _fault, f"$.networks[{place}]")
    faults += [fault for row in found for fault in _between(row)]
    if len({row.name for row in found}) < len(found):
        faults.append("$.networks: two have one name")
    if faults:
        raise faulty(faults, str(path), _WHAT)
    return tuple(found)


def _between(row: Published) -> Iterator[str]:
    """What is wrong between figures that are fine on their own."""
    is_timed = row.latency_s is not None or row.throughput_per_s is not None
    if is_timed and (row.conditions is None or row.conditions.batch is None):
        yield f"$.networks ({row.name}): a time has conditions, and a batch among them"
    if (row.quality is None) != (not row.quality_metric):
        yield f"$.networks ({row.name}): quality and quality_metric go together"


def _text(value: object, _: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"must be one line of printable text, not {shown(value)}")
    return value


def _name(value: object, _: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"must be lower-case letters and digits, joined by underscores, not {shown(value)}")
    return value


def _figure(value: object, _: object) -> Fraction:
    found = None if isinstance(value, str) else number(value)
    if found is None or not 0 < found <= _LARGEST:
        raise ValueError(f"must be a number above 0 and at most 1e24, not {shown(value)}")
    return found


def _batch(value: object, _: object) -> int:
    found = whole(value)
    if found is None or found < 1:
        raise ValueError(f"must be a whole number above 0, not {shown(value)}")
    return found


def _lines(value: object, _: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list of sentences, not {shown(value)}")
    return tuple(_text(line, str) for line in value)


@cache
def _converter() -> cattrs.Converter:
    """Strict: unknown keys are faults, nothing is coerced, and figures are the fractions that are written."""
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    _register(converter, Conditions, hardware=_text, runtime=_text, precision=_text, batch=_batch)
    hooks: dict[str, Hook] = dict.fromkeys(("title", "source", "input", "quality_metric"), _text)
    hooks |= dict.fromkeys(("macs", "flops", "latency_s", "throughput_per_s", "quality"), _figure)
    conditions = converter.get_structure_hook(Conditions)
    _register(converter, Published, name=_name, conditions=conditions, notes=_lines, **hooks)
    return converter


def _register(converter: cattrs.Converter, cls: type[tuple[object, ...]], **hooks: Hook) -> None:
    overrides = {name: override(struct_hook=hook) for name, hook in hooks.items()}
    structure = namedtuple_dict_structure_factory(cls, converter, True, True, **overrides)

    def read(value: object, of: object) -> object:
        if not isinstance(value, Mapping):
            raise ValueError(f"must be a table, not {shown(value)}")
        return structure(value, of)

    converter.register_structure_hook(cls, read)


def _fault(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return "is missing"
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = Published if error.cl is Published else Conditions
        extra = ", ".join(map(repr, sorted(error.extra_fields)))
        return f"has no key {extra}; the keys here are {', '.join(known._fields)}"
    return str(error)

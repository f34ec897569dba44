"""Reads a device file: TOML in, a ``Device`` out, or every fault of the file at once with its ``$.path``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import cattrs
from cattrs.gen import make_dict_structure_fn, override

from weighbridge.devices.device import ACTIVATIONS, KINDS, PRECISIONS, WEIGHTS, Device, Figure, Memory, Peak
from weighbridge.errors import BadSpec
from weighbridge.handwritten import MAX_FILE_BYTES, parse_toml

__all__ = ["read_device"]

Hook = Callable[[object, object], object]

_LARGEST_FIGURE = 10**24
_MOST_ENTRIES = 64
_MOST_CHARACTERS = 2000
_SHOWN_FAULTS = 100
_SHOWN_KEYS = 10
_FIGURE = '{ value = 1000, source = "where it stands" }'
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def read_device(path: Path) -> Device:
    """The device that the TOML file at ``path`` describes.

    Raises ``BadSpec``: one line for a file that cannot be read, is no text or no TOML, or is larger than 1 MiB; else a
    line that sums up and a line for each fault (the first 100), whose path starts at ``$``, the file's top level.
    """
    raw = _parse(path)
    faults = _faults_between_entries(raw)
    try:
        device = _converter().structure(raw, Device)
    except (cattrs.ClassValidationError, cattrs.IterableValidationError) as error:
        faults = [*_faults_of(error), *faults]
    if faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        hidden = len(faults) - _SHOWN_FAULTS
        shown = [*faults[:_SHOWN_FAULTS], f"and {hidden} more"] if hidden > 0 else faults
        raise BadSpec(f"the device file has {count}", where=str(path), details=shown)
    return device


def _parse(path: Path) -> Mapping[str, object]:
    hint = "give the path of a device file, or the name of a device of the catalogue"
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # opening a pipe would wait for its writer
            raise BadSpec("the device file is no regular file", where=str(path), hint=hint)
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or error
        raise BadSpec(f"the device file cannot be read: {reason}", where=str(path), hint=hint) from None
    return parse_toml(content, str(path), "a device file")


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


def _number(value: object, _: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"must be a number, not {_shown(value)}")
    if not 0 < value <= _LARGEST_FIGURE:
        raise ValueError(f"must be above 0 and at most 1e24, not {_shown(value)}")
    if value != int(value):
        raise ValueError(f"must be a whole number, not {_shown(value)}")
    return int(value)


def _precision(value: object, _: object) -> str:
    if value not in PRECISIONS:
        raise ValueError(f"must be one of {', '.join(PRECISIONS)}, not {_shown(value)}")
    return str(value)


def _kind(value: object, _: object) -> str:
    if value not in KINDS:
        raise ValueError(f"must be one of {', '.join(KINDS)}, not {_shown(value)}")
    return str(value)


def _list_of(item: Callable[[object, object], str], example: str) -> Callable[[object, object], tuple[str, ...]]:
    def read(value: object, of: object) -> tuple[str, ...]:
        return tuple(item(element, of) for element in _list(value, f"a list such as {example}"))

    return read


def _list(value: object, expected: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"must be {expected}, not {_shown(value)}")
    if len(value) > _MOST_ENTRIES:
        raise ValueError(f"must have at most {_MOST_ENTRIES} entries, not {len(value)}")
    return value


def _content(value: object, _: object) -> str:
    if value not in (WEIGHTS, ACTIVATIONS):
        raise ValueError(f'must hold "{WEIGHTS}" or "{ACTIVATIONS}" or both, not {_shown(value)}')
    return str(value)


def _shown(value: object) -> str:
    kinds = ((dict, "a table"), (list, "a list"), (bool, str(value).lower()))
    return next((text for kind, text in kinds if isinstance(value, kind)), f"{value!r:.100}")


@cache
def _converter() -> cattrs.Converter:
    """Strict: unknown keys are faults, nothing is coerced, and each number is a table with its source."""
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    _register(converter, Figure, _FIGURE, value=_number, source=_text, verified=_flag, note=_text)
    _register(converter, Peak, "a table", unit=_text, precision=_precision)
    _register(converter, Memory, "a table", name=_text, holds=_list_of(_content, '["weights"]'))
    entries = {
        "peaks": _list_then(converter.get_structure_hook(tuple[Peak, ...]), "[[peaks]]"),
        "memories": _list_then(converter.get_structure_hook(tuple[Memory, ...]), "[[memories]]"),
    }
    lines = {"title": _text, "class_": _text, "core": _text, "notes": _list_of(_text, '["a sentence"]')}
    _register(converter, Device, "a table", name=_name, kind=_kind, **lines, **entries)
    return converter


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


def _faults_of(error: BaseException) -> list[str]:
    faults = []
    for line in cattrs.transform_error(error, format_exception=_fault):
        what, _, path = line.rpartition(" @ ")
        faults.append(f"{path.replace('$.class_', '$.class')}: {what}")
    return faults


def _fault(error: BaseException, _: object) -> str:
    if isinstance(error, KeyError):
        return "is missing"
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = ", ".join(field.name.rstrip("_") for field in dataclasses.fields(error.cl))
        extra = sorted(error.extra_fields)
        named = ", ".join(map(repr, extra[:_SHOWN_KEYS])) + (" and others" if len(extra) > _SHOWN_KEYS else "")
        return f"has no key {named}; the keys here are {known}"
    return str(error)


def _faults_between_entries(raw: Mapping[str, object]) -> list[str]:
    """What is wrong between entries that are fine on their own: a rate or a memory given twice, more reserved than there is."""
    faults: list[str] = []
    seen: dict[object, str] = {}

    def once(key: object, path: str, what: str) -> None:
        if key in seen:
            faults.append(f"{path}: {what}, as {seen[key]} does already")
        seen.setdefault(key, path)

    for path, peak in _tables_of(raw, "peaks"):
        unit, precision = peak.get("unit"), peak.get("precision")
        if isinstance(unit, str) and isinstance(precision, str):
            once(("peak", unit, precision), path, f"gives the rate of {unit!r} at {precision!r}")
    for path, memory in _tables_of(raw, "memories"):
        if isinstance(name := memory.get("name"), str):
            once(("name", name), path, f"has the name {name!r}")
        holds = memory.get("holds")
        for content in holds[:_MOST_ENTRIES] if isinstance(holds, list) else ():
            if isinstance(content, str):
                once(("holds", content), path, f"holds the {content}")
        size, reserved = _value_of(memory.get("bytes")), _value_of(memory.get("reserved_bytes"))
        if size is not None and reserved is not None and reserved > size:
            faults.append(f"{path}.reserved_bytes: {reserved:,} B is more than the {size:,} B that there are")
    return faults


def _value_of(figure: object) -> int | None:
    value = figure.get("value") if isinstance(figure, dict) else None
    return value if isinstance(value, int) else None


def _tables_of(raw: Mapping[str, object], key: str) -> Sequence[tuple[str, Mapping[str, object]]]:
    entries = raw.get(key)
    listed = entries[:_MOST_ENTRIES] if isinstance(entries, list) else []
    return [(f"$.{key}[{index}]", entry) for index, entry in enumerate(listed) if isinstance(entry, dict)]

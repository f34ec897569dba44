"""Reads the file of budgets: ``weighbridge.toml``, or ``[tool.weighbridge]`` of ``pyproject.toml``, with every fault at once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from weighbridge.budgets.language import budget_of
from weighbridge.budgets.record import Budget, ModelBudgets
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.toml_file import fault_lines, faulty, read_toml
from weighbridge.written import shown, whole

__all__ = ["Budgets", "named", "nearest_file", "read_budgets"]

_OWN: Final = "weighbridge.toml"
_PROJECT: Final = "pyproject.toml"
_BASELINE: Final = "weighbridge-baseline.json"
_WHAT: Final = "file of budgets"
_EXAMPLE: Final = f'write {_OWN}: [models.NAME], source = "model.onnx", budgets = ["macs <= 30 M"]'
_KEYS: Final = ("baseline", "defaults", "models")
_MOST_ENTRIES: Final = 1000
_MOST_CHARACTERS: Final = 500
_SHOWN_KEYS: Final = 6
_LARGEST: Final = 10**18
"""Of a size: as large as one on the command line."""
_NOT_OF_WEIGH: Final = ("source", "on", "budgets")
"""Keys of a model that are no option of ``weigh`` beside the devices."""


class Budgets(NamedTuple):
    """The models of a file with their budgets, where its baseline is, and the file itself; both paths are from the working folder."""

    models: tuple[ModelBudgets, ...]
    baseline: Path
    path: Path


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a file says of a model, or of all of them; None where it says nothing.  The names are the keys."""

    source: str | None = None
    on: tuple[str, ...] | None = None
    batch: int | None = None
    sequence: int | None = None
    dims: Mapping[str, int] | None = None
    input: tuple[str, ...] | None = None
    precision: str | None = None
    weight_bits: tuple[str | int, ...] | None = None
    activation_bits: int | None = None
    reserve: tuple[str, ...] | None = None
    energy: str | None = None
    train: str | None = None
    as_written: bool | None = None
    budgets: tuple[Budget, ...] | None = None


def read_budgets(path: Path | None = None) -> Budgets:
    """The budgets of the file at ``path``, or of the first that is found from the working folder upwards.

    Sources, device files and tables of energies are relative to the file.  What ``[defaults]`` say holds for every model that
    does not say otherwise; budgets there hold beside a model's own.

    Raises ``BadSpec``: no such file, one that cannot be read, and a line for every fault in it, with its ``$.path``.
    """
    found = nearest_file(Path.cwd()) if path is None else path
    if found.is_dir():
        raise BadSpec("this is a folder", where=str(found), hint=f"name the file in it, such as {found / _OWN}")
    tables = read_toml(found, _WHAT, _EXAMPLE)
    root = "$"
    if found.name == _PROJECT:
        own = _of_project(tables, found)
        if own is None:
            hint = "add [tool.weighbridge.models.NAME] with source and budgets"
            raise BadSpec("there are no budgets in it: it has no [tool.weighbridge]", where=str(found), hint=hint)
        tables, root = own, "$.tool.weighbridge"
    elif "tool" in tables and "models" not in tables:
        hint = "write [models.NAME] in place of [tool.weighbridge.models.NAME]"
        raise BadSpec(f"only {_PROJECT} has its tables below tool.weighbridge", where=str(found), hint=hint)
    return _Reader(found, root).read(tables)


def named(budgets: Budgets, names: Sequence[str]) -> tuple[ModelBudgets, ...]:
    """The models of these names, in the order of the file; all of them without names.  Raises ``BadSpec`` for others."""
    known = [model.name for model in budgets.models]
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise BadSpec(f"there is no model {shown(name)} in it", where=str(budgets.path), hint=hint)
    return tuple(model for model in budgets.models if not names or model.name in names)


def nearest_file(start: Path) -> Path:
    """The file of budgets that is nearest, from the folder ``start`` upwards.

    Raises ``BadSpec`` where there is none, where two stand beside each other, and for a ``pyproject.toml`` that cannot be read.
    """
    here = start.resolve()
    for folder in (here, *here.parents):
        own, project = folder / _OWN, folder / _PROJECT
        is_own = os.path.lexists(own)  # also a link to nowhere, which is not to be passed by
        in_project = project.is_file() and _of_project(read_toml(project, _WHAT, _EXAMPLE), project) is not None
        if is_own and in_project:
            what = f"there are budgets in {_OWN} and in {_PROJECT} beside it"
            raise BadSpec(what, where=str(_from_here(folder)), hint="keep them in one, or name it with --budgets")
        if is_own or in_project:
            return _from_here(own if is_own else project)
    place = "here" if here == Path.cwd() else f"in {_from_here(here)}"
    what = f"there is no {_OWN}, and no {_PROJECT} with [tool.weighbridge], {place} or in a folder above"
    raise BadSpec(what, hint=f"name the file with --budgets, or {_EXAMPLE}")


def _from_here(path: Path) -> Path:
    try:
        return Path(os.path.relpath(path))
    except ValueError:  # on another drive
        return path


def _of_project(tables: Mapping[str, Any], path: Path) -> Mapping[str, Any] | None:
    """The part of a project's file that is ours; None where there is none.  Raises ``BadSpec`` where it is no table."""
    tool = tables.get("tool")
    own = tool.get("weighbridge") if isinstance(tool, Mapping) else None
    if own is None or isinstance(own, Mapping):
        return own
    hint = "write [tool.weighbridge], with single brackets"
    raise BadSpec(f"must be a table, not {_kind(own)}", where=f"{_from_here(path)}: $.tool.weighbridge", hint=hint)


class _Reader:
    """Collects the faults of one file.  ``root`` is the path of its tables."""

    def __init__(self, path: Path, root: str) -> None:
        self._path = path
        self._root = root
        self._faults: list[str] = []

    def read(self, tables: Mapping[str, Any]) -> Budgets:
        """Raises ``BadSpec`` with all faults."""
        self._faults += (f"{self._root}: {_no_key(key, _KEYS)}" for key in tables if key not in _KEYS)
        defaults = self._entry(tables.get("defaults", {}), f"{self._root}.defaults")
        if defaults is not None and defaults.source is not None:
            self._faults.append(f"{self._root}.defaults.source: is for each model to say")
        models = tuple(self._models(tables.get("models"), defaults or _Entry()))
        baseline = self._of_hook(partial(_text, tables.get("baseline", _BASELINE)), f"{self._root}.baseline")
        if self._faults:
            raise faulty(self._faults, str(self._path), _WHAT)
        return Budgets(models, self._path.parent / str(baseline), self._path)

    def _models(self, models: object, defaults: _Entry) -> Iterator[ModelBudgets]:
        where = f"{self._root}.models"
        if not isinstance(models, Mapping) or not models:
            said = (
                "is missing"
                if models is None
                else "has no model"
                if models == {}
                else f"must be tables, not {_kind(models)}"
            )
            self._faults.append(f"{where}: {said}; {_EXAMPLE}")
            return
        for name, table in models.items():
            inside = f"{where}.{_key(name)}"
            self._of_hook(partial(_text, name), inside)
            entry = self._entry(table, inside)
            if entry is None:
                continue
            if entry.source is None:
                self._faults.append(
                    f"{inside}.source: is missing: the file or the network, as `weighbridge weigh` takes it"
                )
            budgets = (*(defaults.budgets or ()), *(entry.budgets or ()))
            if not budgets:
                self._faults.append(f'{inside}.budgets: is missing: what it may cost, such as ["macs <= 30 M"]')
            yield self._model(name, entry, defaults, budgets)

    def _model(self, name: str, entry: _Entry, defaults: _Entry, budgets: tuple[Budget, ...]) -> ModelBudgets:
        said = {
            field.name: getattr(defaults, field.name)
            if getattr(entry, field.name) is None
            else getattr(entry, field.name)
            for field in fields(_Entry)
        }
        options = {key: value for key, value in said.items() if value is not None and key not in _NOT_OF_WEIGH}
        weighed_with = ", ".join(f"{key} = {json.dumps(options[key])}" for key in sorted(options))
        folder, source = self._path.parent, entry.source or ""
        if "energy" in options:
            options["energy"] = _file_from(folder, options["energy"])
        on = tuple(_file_from(folder, device) for device in said["on"] or ())
        return ModelBudgets(name, _source_from(folder, source), budgets, on, options, source, weighed_with)

    def _entry(self, table: object, where: str) -> _Entry | None:
        """The record of a table, None where it has faults."""
        if not isinstance(table, Mapping):
            self._faults.append(f"{where}: must be a table, not {_kind(table)}")
            return None
        found: _Entry | None = self._of_hook(partial(_converter().structure, table, _Entry), where)
        return found

    def _of_hook(self, hook: Callable[[], Any], where: str) -> Any:
        """What ``hook`` makes, or None and its faults."""
        import cattrs

        try:
            return hook()
        except cattrs.BaseValidationError as error:
            self._faults += fault_lines(error, _told, where)
        except ValueError as error:
            self._faults.append(f"{where}: {error}")
        return None


def _told(fault: BaseException) -> str:
    import cattrs

    if isinstance(fault, cattrs.ForbiddenExtraKeysError):
        known = [field.name for field in fields(_Entry)]
        return _no_keys(sorted(fault.extra_fields), known)
    return str(fault)


def _no_keys(keys: Sequence[str], known: Sequence[str]) -> str:
    """What is said of all keys of a table that do not exist: of many the first, and the keys that there are once."""
    told = [_no_key(key, known) for key in keys[:_SHOWN_KEYS]]
    told = [one if one == told[-1] else one.partition("; the keys")[0] for one in told]
    return ", ".join(told) + (f", and {len(keys) - _SHOWN_KEYS:,} more" if len(keys) > _SHOWN_KEYS else "")


def _no_key(key: str, known: Sequence[str]) -> str:
    near = get_close_matches(key, known, 1)
    meant = f"did you mean {near[0]!r}?" if near else f"the keys here are {', '.join(known)}"
    return f"has no key {shown(key)}; {meant}"


def _key(name: str) -> str:
    """``name`` as a key of TOML."""
    is_bare = name.isascii() and name.replace("-", "_").isidentifier()
    return name if is_bare else shown(name)


def _kind(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return str(value).lower() if isinstance(value, bool) else shown(value)


@cache
def _converter() -> Any:
    """Strict: unknown keys are faults, and nothing is coerced."""
    import cattrs
    from cattrs.gen import make_dict_structure_fn, override

    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    words, counts = ("source", "precision", "energy", "train"), ("batch", "sequence", "activation_bits")
    hooks: dict[str, Callable[[object, object], object]] = {
        **dict.fromkeys(words, _text),
        **dict.fromkeys(counts, _count),
        **dict.fromkeys(("on", "input", "reserve"), _list_of(_text)),
        "weight_bits": _list_of(_bits),
        "dims": _dims,
        "as_written": _flag,
        "budgets": _list_of(_budget),
    }
    overrides: Any = {name: override(struct_hook=hook) for name, hook in hooks.items()}
    converter.register_structure_hook(_Entry, make_dict_structure_fn(_Entry, converter, **overrides))
    return converter


def _text(value: object, _: object = None) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be text, not {_kind(value)}")
    if len(value) > _MOST_CHARACTERS or not value.isprintable():
        raise ValueError(f"must be one line of at most {_MOST_CHARACTERS} printable characters, not {shown(value)}")
    return value


def _count(value: object, _: object = None) -> int:
    number = whole(value)
    if number is None or not 1 <= number <= _LARGEST:
        raise ValueError(f"must be a whole number from 1 to {_LARGEST:,}, not {_kind(value)}")
    return number


def _bits(value: object, _: object = None) -> str | int:
    return value if isinstance(value, str) else _count(value)


def _flag(value: object, _: object = None) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {_kind(value)}")
    return value


def _budget(value: object, _: object = None) -> Budget:
    return budget_of(_text(value))


def _dims(value: object, _: object = None) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a table such as {{ seq = 128 }}, not {_kind(value)}")
    return dict(_each(value.items(), _count, str))


def _list_of(item: Callable[[object], object]) -> Callable[[object, object], tuple[object, ...]]:
    """Reads a list, or what would be the only one in it."""

    def read(value: object, _: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            return (item(value),)
        if len(value) > _MOST_ENTRIES:
            raise ValueError(f"must have at most {_MOST_ENTRIES} entries, not {len(value)}")
        return tuple(found for _, found in _each(enumerate(value), item, int))

    return read


def _each(entries: Any, item: Callable[[object], Any], key_type: type) -> list[tuple[Any, Any]]:
    """Every entry read, with its key.  Raises all their faults together."""
    import cattrs

    found, faults = [], []
    for key, value in entries:
        try:
            found.append((key, item(value)))
        except (ValueError, BadSpec) as fault:
            fault.add_note(cattrs.IterableValidationNote("", key, key_type))
            faults.append(fault)
    if faults:
        raise cattrs.IterableValidationError("", faults, tuple)
    return found


def _file_from(folder: Path, name: str) -> str:
    """A device or a table of energies: the path of a file is relative to ``folder``, a name is a name."""
    from weighbridge.devices.catalogue import path_of

    return name if path_of(name) is None else str(folder / name)


def _source_from(folder: Path, source: str) -> str:
    """``source`` with its path, if it has one, relative to ``folder``."""
    from weighbridge.sources import is_named_model
    from weighbridge.textbook import names

    if folder == Path() or not source:
        return source
    scheme, _, rest = source.partition(":")
    if is_named_model(source):
        return f"{scheme}:{folder / rest.strip()}" if scheme == "transformers" else source
    joined = folder / source
    return source if scheme.strip() in names() and not joined.is_file() else str(joined)

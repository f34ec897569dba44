"""Plans of compression: what is asked of each layer, as TOML; every fault of a file at once, with its ``$.path``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final

import cattrs
from cattrs.gen import make_dict_structure_fn, override

from weighbridge.compression.published import PublishedTotal, Rounding
from weighbridge.compression.rules import Published, TargetRule, checked
from weighbridge.errors import BadSpec
from weighbridge.handwritten import MAX_FILE_BYTES, parse_toml
from weighbridge.named_tuple import NamedTuple
from weighbridge.written import number, shown

__all__ = ["Plan", "plan_names", "read_plan"]

_FOLDER: Final = Path(__file__).parent / "plans"
_HINT: Final = "give the name of a plan that comes with weighbridge, or the path of a file"
_MOST_LAYERS: Final = 10_000
_MOST_CHARACTERS: Final = 2000
_MOST_FAULTS: Final = 100
_LARGEST: Final = 10**15
_RULES: Final = ("keep", "codebook_bits", "index_bits", "huffman_value_bits", "huffman_index_bits", "fillers")
_KEY: Final = re.compile(r"\[(['\"])(.*?)\1\]")
"""How cattrs writes the key of a mapping in a path."""


class Plan(NamedTuple):
    """What is asked of the layers of a network, and what is published of the outcome."""

    name: str
    title: str
    rules: tuple[TargetRule, ...]
    published: PublishedTotal | None


@dataclasses.dataclass(frozen=True)
class _Rounding:
    keep: Any = 0
    huffman_bits: Any = 0


@dataclasses.dataclass(frozen=True)
class _Total:
    dense_mb: Any = None
    compressed_mb: Any = None
    percent: Any = None
    ratio: Any = None
    pruned_ratio: Any = None
    rounding: _Rounding = _Rounding()


@dataclasses.dataclass(frozen=True)
class _Layer:
    keep: Any = None
    codebook_bits: Any = None
    index_bits: Any = None
    huffman_value_bits: Any = None
    huffman_index_bits: Any = None
    fillers: Any = None
    published_percent: Any = None


@dataclasses.dataclass(frozen=True)
class _File:
    name: str
    layers: Mapping[str, _Layer]
    title: str = ""
    source: str = ""
    published: _Total | None = None


def plan_names() -> tuple[str, ...]:
    """The plans that come with weighbridge."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def read_plan(name: str) -> Plan:
    """The plan that ``name`` names: one that comes with weighbridge, or a TOML file.

    Raises ``BadSpec`` for a name that is neither, and for all the faults of a file, a line each.
    """
    path = _path(name)
    raw = _parsed(path, name)
    try:
        found = _converter().structure(raw, _File)
    except cattrs.BaseValidationError as error:
        faults = _faults(error)
        hidden = len(faults) - _MOST_FAULTS
        details = [*faults[:_MOST_FAULTS], f"and {hidden} more"] if hidden > 0 else faults
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise BadSpec(f"the plan has {count}", where=name, details=details) from None
    return _plan(found, name)


def _path(name: str) -> Path:
    if name in plan_names():
        return _FOLDER / f"{name}.toml"
    path = Path(name)
    try:
        if path.is_file():
            return path
    except (OSError, ValueError):
        pass
    from difflib import get_close_matches

    near = get_close_matches(name, plan_names(), 1)
    hint = f"did you mean {near[0]}?" if near else f"{_HINT}: {', '.join(plan_names())}"
    raise BadSpec("there is neither a plan of this name nor such a file", where=name, hint=hint)


def _parsed(path: Path, name: str) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadSpec(f"the plan cannot be read: {error.strerror or error}", where=name, hint=_HINT) from None
    return parse_toml(content, name, "a plan of compression")


def _plan(found: _File, name: str) -> Plan:
    rules = [
        TargetRule(target, field, getattr(layer, field), f"{name}: $.layers.{target}.{field}")
        for target, layer in found.layers.items()
        for field in _RULES
        if getattr(layer, field) is not None
    ]
    digits = _digits(found)
    rules += [
        TargetRule(
            target,
            "published",
            Published(layer.published_percent[0], layer.published_percent[1], digits),
            f"{name}: $.layers.{target}",
        )
        for target, layer in found.layers.items()
        if layer.published_percent is not None
    ]
    return Plan(found.name, found.title, tuple(rules), _published(found))


def _published(found: _File) -> PublishedTotal | None:
    total = found.published
    if total is None:
        return None
    rounding = Rounding(Fraction(total.rounding.keep), Fraction(total.rounding.huffman_bits))
    return PublishedTotal(
        found.source or found.name,
        total.dense_mb,
        total.compressed_mb,
        total.percent,
        total.ratio,
        total.pruned_ratio,
        rounding,
    )


def _digits(found: _File) -> tuple[int, int]:
    """Decimal places of the two published columns: as many as any layer has there, as a last 0 is not seen in a number."""
    columns = [layer.published_percent for layer in found.layers.values() if layer.published_percent is not None]
    before, after = ([_places(one[place]) for one in columns] for place in (0, 1))
    return max(before, default=0), max(after, default=0)


def _places(value: Any) -> int:
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    return places


@cache
def _converter() -> cattrs.Converter:
    """Strict: unknown keys are faults, nothing is coerced."""
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    numbers = {field.name: _amount for field in dataclasses.fields(_Rounding)}
    _register(converter, _Rounding, "{ keep = 0.005, huffman_bits = 0.05 }", numbers)
    amounts = {field.name: _amount for field in dataclasses.fields(_Total) if field.name != "rounding"}
    _register(converter, _Total, "a table, [published]", amounts)
    _register(
        converter,
        _Layer,
        "a table, [layers.NAME]",
        {**{name: _rule(name) for name in _RULES}, "published_percent": _two},
    )
    texts = dict.fromkeys(("name", "title", "source"), _text)
    layers = converter.get_structure_hook(Mapping[str, _Layer])
    _register(converter, _File, "a plan", {**texts, "layers": _tables(layers)})
    return converter


def _register(
    converter: cattrs.Converter, cls: type, expected: str, hooks: Mapping[str, Callable[..., object]]
) -> None:
    overrides = {name: override(struct_hook=hook) for name, hook in hooks.items()}
    structure: Callable[..., object] = make_dict_structure_fn(cls, converter, **overrides)  # type: ignore[arg-type]

    def read(value: object, of: object) -> object:
        if not isinstance(value, dict):
            raise ValueError(f"must be {expected}, not {_kind(value)}")
        return structure(value, of)

    converter.register_structure_hook(cls, read)


def _tables(structure: Callable[..., object]) -> Callable[..., object]:
    def read(value: object, of: object) -> object:
        if not isinstance(value, dict) or not value:
            raise ValueError(f"must be tables, [layers.NAME], not {_kind(value)}")
        if len(value) > _MOST_LAYERS:
            raise ValueError(f"must be at most {_MOST_LAYERS:,} tables, not {len(value):,}")
        return structure(value, of)

    return read


def _rule(field: str) -> Callable[..., object]:
    def read(value: object, _: object) -> object:
        if not isinstance(value, (int, float)):
            raise ValueError(f"must be a number, not {_kind(value)}")
        try:
            return checked(field, value)
        except BadSpec as error:
            raise ValueError(error.what) from None

    return read


def _amount(value: object, _: object) -> object:
    found = number(value) if isinstance(value, (int, float)) else None
    if found is None or not 0 <= found <= _LARGEST:
        raise ValueError(f"must be a number, 0 or more, not {_kind(value)}")
    return found


def _two(value: object, of: object) -> object:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"must be two numbers, before and after Huffman coding, not {_kind(value)}")
    return tuple(_amount(one, of) for one in value)


def _text(value: object, _: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > _MOST_CHARACTERS or not value.isprintable():
        raise ValueError(f"must be one line of text, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    return "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(value)


def _faults(error: BaseException) -> list[str]:
    faults = []
    for line in cattrs.transform_error(error, format_exception=lambda fault, _: _fault(fault)):
        what, _, path = line.rpartition(" @ ")
        faults.append(_KEY.sub(r".\2", path) + f": {what}")
    return faults


def _fault(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return "is missing"
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = ", ".join(field.name for field in dataclasses.fields(error.cl))
        extra = ", ".join(map(repr, sorted(error.extra_fields)[:10]))
        return f"has no key {extra}; the keys here are {known}"
    return str(error)

"""Several networks side by side as JSON, and back; reports are as they are alone, and all that follows from the models is found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from weighbridge.errors import BadSpec
from weighbridge.published import Conditions, Published
from weighbridge.report.comparison import SCHEMA, Comparison, Model, comparison_of
from weighbridge.report.json import from_plain as report_from_plain
from weighbridge.report.json import plain
from weighbridge.report.json import to_plain as report_to_plain
from weighbridge.units import as_number
from weighbridge.written import number, shown

__all__ = ["from_plain", "to_plain"]

_FIGURES: Final = ("macs", "flops", "latency_s", "throughput_per_s", "quality")
_WORDS: Final = ("name", "title", "source", "input", "quality_metric")
_RATES: Final = 10**6
"""The largest denominator of a frame rate that is told from the number it is saved as, 30000/1001 among them."""


def to_plain(found: Comparison) -> dict[str, object]:
    """Dicts, lists, ints, finite floats, strings, booleans and None, under the names that docs/json.md has."""
    return {
        "schema": found.schema,
        "tool": found.tool,
        "models": [_model_to_plain(model) for model in found.models],
        "metrics": plain(found.metrics, []),
        "differences": plain(found.differences, []),
        "fronts": plain(found.fronts, []),
        "deadline": plain(found.deadline, []),
        "notes": list(found.notes),
    }


def _model_to_plain(model: Model) -> dict[str, object]:
    return {
        "name": model.name,
        "source": model.source,
        "report": None if model.report is None else report_to_plain(model.report),
        "published": None if model.published is None else _published_to_plain(model.published),
    }


def _published_to_plain(found: Published) -> dict[str, object]:
    figures = {name: as_number(value) for name in _FIGURES if (value := getattr(found, name)) is not None}
    made: dict[str, object] = plain({**found._asdict(), **figures}, [])
    return made


def from_plain(data: object) -> Comparison:
    """Read what ``to_plain`` made; all but the models, the frame rate and the notes is found again.  Raises ``BadSpec``."""
    if not isinstance(data, Mapping) or not {"models", "differences", "fronts"} <= data.keys():
        raise BadSpec("this is no saved comparison: it has no models, differences and fronts", where="$")
    if data.get("schema") != SCHEMA:
        what = f"the comparison has schema {shown(data.get('schema'))}"
        raise BadSpec(what, where="$.schema", hint=f"this version reads schema {SCHEMA}")
    models = [_model(one, f"$.models[{place}]") for place, one in enumerate(_list(data["models"], "$.models"))]
    if len(models) < 2 or len({model.name for model in models}) < len(models):
        raise BadSpec("two models or more of different names belong here", where="$.models")
    found = comparison_of(models, tool=_text(data.get("tool"), "$.tool"), fps=_fps(data.get("deadline")))
    notes = _list(data.get("notes", []), "$.notes")
    return replace(found, notes=tuple(_text(note, f"$.notes[{place}]") for place, note in enumerate(notes)))


def _model(data: object, path: str) -> Model:
    given = _object(data, path)
    name, source = (_text(given.get(key), f"{path}.{key}") for key in ("name", "source"))
    report, published = given.get("report"), given.get("published")
    if (report is None) == (published is None):
        raise BadSpec("either a report or a published network belongs here", where=path)
    if report is None:
        return Model(name, source, None, _published(published, f"{path}.published"))
    try:
        return Model(name, source, report_from_plain(report))
    except BadSpec as error:
        where = f"{path}.report{error.where.removeprefix('$')}"
        raise BadSpec(error.what, where=where, hint=error.hint) from None


def _published(data: object, path: str) -> Published:
    given = _object(data, path)
    words: dict[str, Any] = {name: _text(given.get(name), f"{path}.{name}") for name in _WORDS}
    figures: dict[str, Any] = {name: _figure(given.get(name), f"{path}.{name}") for name in _FIGURES}
    notes = _list(given.get("notes", []), f"{path}.notes")
    conditions = given.get("conditions")
    return Published(
        **words,
        **figures,
        conditions=None if conditions is None else _conditions(conditions, f"{path}.conditions"),
        notes=tuple(_text(note, f"{path}.notes[{place}]") for place, note in enumerate(notes)),
    )


def _conditions(data: object, path: str) -> Conditions:
    given = _object(data, path)
    batch = given.get("batch")
    if batch is not None and (not isinstance(batch, int) or not number(batch) or batch < 0):
        raise BadSpec(f"must be a batch size or null, not {shown(batch)}", where=f"{path}.batch")
    hardware, runtime, precision = (
        _text(given.get(name), f"{path}.{name}") for name in ("hardware", "runtime", "precision")
    )
    return Conditions(hardware, runtime, precision, batch)


def _fps(data: object) -> Fraction | None:
    """The frame rate: the simplest number that is saved as the one that is there."""
    if data is None:
        return None
    rate = _figure(_object(data, "$.deadline").get("fps"), "$.deadline.fps")
    if not rate:
        raise BadSpec("a frame rate above 0 belongs here", where="$.deadline.fps")
    simple = rate.limit_denominator(_RATES)
    return simple if float(simple) == float(rate) else rate


def _figure(value: object, path: str) -> Fraction | None:
    if value is None:
        return None
    found = number(value) if isinstance(value, (int, float)) else None
    if found is None or found < 0:
        raise BadSpec(f"must be a finite number from 0 on or null, not {shown(value)}", where=path)
    return found


def _object(data: object, path: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise BadSpec(f"must be an object, not {shown(data)}", where=path)
    return data


def _list(data: object, path: str) -> list[Any]:
    if not isinstance(data, (list, tuple)):
        raise BadSpec(f"must be a list, not {shown(data)}", where=path)
    return list(data)


def _text(data: object, path: str) -> str:
    if not isinstance(data, str):
        raise BadSpec(f"must be text, not {shown(data)}", where=path)
    return data

"""The baseline file: what models cost when somebody last agreed to it, laid out so that a change of it can be reviewed like code.

Models stand in alphabetical order; of each, every figure, every layer and every peak has a line of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from weighbridge.budgets.judge import figures_of
from weighbridge.budgets.record import BaselineModel
from weighbridge.errors import BadSpec, printable
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.figures import WORDS, Value
from weighbridge.report.json import layout, plain, record_of
from weighbridge.report.json_text import parsed
from weighbridge.report.layers import Layer, LayerFigures, layers_of
from weighbridge.report.record import Report
from weighbridge.written import shown

__all__ = ["SCHEMA", "baseline_of", "from_text", "read_baseline", "to_text"]

SCHEMA: Final = 1
"""Grows only when something is renamed or removed; additions leave it as it is."""
_WHAT: Final = "baseline"
_MOST_BYTES: Final = 1 << 28
_OPENED: Final = 4
"""Levels of objects with a line for each key: the file, its models, one of them, its peaks."""
_AGAIN: Final = "restore it, or remove it and run `weighbridge check --update`"


class _Figure(NamedTuple):
    name: str
    device: str | None
    unit: str
    value: int | float | str | None
    exact: bool


class _Layer(NamedTuple):
    """A layer on a line; the fields behind the name are those of ``LayerFigures``."""

    name: str
    operator: str
    output: Shape | None
    weights: int | None
    nonzero_weights: int | None
    weight_bytes: int | None
    macs: int | None
    output_bytes: int | None


class _Model(NamedTuple):
    source: str
    weighed_with: str
    figures: tuple[_Figure, ...]
    layers: tuple[_Layer, ...]
    peak_nodes: Mapping[str, str]


class _File(NamedTuple):
    schema: int
    models: Mapping[str, _Model]


def baseline_of(report: Report, source: str, weighed_with: str = "") -> BaselineModel:
    """What the baseline keeps of a model; ``source`` and ``weighed_with``, its options, as the file of budgets has them."""
    nodes = report.memory.peak_node
    return BaselineModel(
        source,
        figures_of(report),
        layers_of(report.nodes),
        {policy: node for policy, node in nodes.items() if node is not None},
        weighed_with,
    )


def to_text(models: Mapping[str, BaselineModel]) -> str:
    """The JSON text of a baseline: ASCII, the same for the same models in whatever order they come."""
    kept = {name: _plain(models[name]) for name in sorted(models)}
    return layout(plain(_File(SCHEMA, kept), []), _OPENED)


def from_text(text: str | bytes) -> Mapping[str, BaselineModel]:
    """The models of a baseline by name.

    Raises ``BadSpec`` for another schema, and with the ``$.path`` for what is damaged: no JSON, a key that is missing or there twice, a
    number below 0, too large or none, a figure that is there twice or in no unit of ours.
    """
    data = parsed(text, _WHAT)
    if not isinstance(data, Mapping) or "schema" not in data:
        raise BadSpec("this is no baseline: it has no schema", where="$", hint=_AGAIN)
    if data["schema"] != SCHEMA or isinstance(data["schema"], bool):
        hint = f"this version reads schema {SCHEMA}; {_AGAIN}"
        raise BadSpec(f"the baseline has schema {shown(data['schema'])}", where="$.schema", hint=hint)
    found = record_of(_File, data, _WHAT)
    return {name: _model(model, f"$.models.{name}") for name, model in found.models.items()}


def read_baseline(path: Path) -> Mapping[str, BaselineModel]:
    """The models of the baseline at ``path``; none where there is no such file.

    Raises ``BadSpec`` with the path for a file that cannot be read, and what ``from_text`` raises.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # opening a pipe would wait for its writer
            raise BadSpec("the baseline is no regular file", where=str(path), hint="name another file for it")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return {}
    except IsADirectoryError:
        raise BadSpec("this is a folder", where=str(path), hint="name a file for the baseline") from None
    except (OSError, ValueError) as error:
        raise BadSpec(f"the baseline cannot be read: {_said(error)}", where=str(path)) from None
    if len(content) > _MOST_BYTES:
        raise BadSpec("this is too large for a baseline", where=str(path), hint=_AGAIN)
    try:
        return from_text(content)
    except BadSpec as error:
        raise BadSpec(error.what, where=_inside(path, error.where), hint=error.hint or _AGAIN) from None


def _inside(path: Path, where: str) -> str:
    return f"{path}: {where}" if where else str(path)


def _said(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _plain(model: BaselineModel) -> _Model:
    figures = (_Figure(name, device, *value) for (name, device), value in model.figures.items())
    layers = (_Layer(layer.name, *layer.figures) for layer in model.layers)
    return _Model(model.source, model.weighed_with, tuple(figures), tuple(layers), model.peak_nodes)


def _model(model: _Model, path: str) -> BaselineModel:
    figures: dict[tuple[str, str | None], Value] = {}
    for place, figure in enumerate(model.figures):
        fault = _fault(figure) or ("is there twice" if (figure.name, figure.device) in figures else "")
        if fault:
            where = f"{path}.figures[{place}]"
            raise BadSpec(f"{printable(figure.name, 60)} {fault}", where=where, hint=_AGAIN)
        figures[figure.name, figure.device] = Value(figure.unit, figure.value, figure.exact)
    layers = tuple(Layer(layer.name, LayerFigures(*layer[1:])) for layer in model.layers)
    return BaselineModel(model.source, figures, layers, model.peak_nodes, model.weighed_with)


def _fault(figure: _Figure) -> str:
    """What is wrong with a figure that has all its keys; "" if nothing is."""
    if figure.unit not in ("", "B", "s", "J"):
        return f"has the unit {shown(figure.unit)}: it must be B, s, J, or none"
    if isinstance(figure.value, str) != (figure.name in WORDS) and figure.value is not None:
        return f"cannot be {shown(figure.value)}"
    if isinstance(figure.value, float) and figure.unit in ("", "B"):
        return f"must be a whole number, not {shown(figure.value)}"
    return ""

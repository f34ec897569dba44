"""Several networks side by side: every figure with its ratio to the first, the layers that differ, and which no other beats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.published import Published
from weighbridge.report.figures import NOTHING, Value, quotient, values_of
from weighbridge.report.fronts import Front, fronts_of
from weighbridge.report.layers import LayerChange, layers_of
from weighbridge.report.matching import differences
from weighbridge.report.missed import Deadlines, deadlines_of
from weighbridge.report.published_figures import are_comparable, is_of_times, published_values
from weighbridge.report.record import Report

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["SCHEMA", "Comparison", "Difference", "Metric", "Model", "comparison_of"]

SCHEMA: Final = 1


class Model(NamedTuple):
    """A side of a comparison: its name there, no two alike, the source as it was written ("" of an object), and either a report or
    what somebody published.
    """

    name: str
    source: str
    report: Report | None
    published: Published | None = None


class Metric(NamedTuple):
    """One figure of every model, or of it on ``device``; ``values``, ``exact`` and ``ratios`` are in the order of the models.

    ``unit`` is "" for counts and words, else B, s, J, 1/s or what a quality is in.  None is unknown, or a figure that the model does not
    have.  Unless ``exact`` a value is a lower bound; a published one is as it was published.  ``ratios`` are to the first model that is
    weighed, of published figures to the first that is published; None where a side is unknown or no number, where it would divide
    by 0, and of times unless all but the network, or all but the hardware of one network, was the same.
    """

    name: str
    unit: str
    device: str | None
    values: tuple[int | float | str | None, ...]
    exact: tuple[bool, ...]
    ratios: tuple[float | None, ...]


class Difference(NamedTuple):
    """How the layers of the model ``name`` differ from those of ``against``, the first that is weighed.

    ``layers`` are those that differ, in the order in which they run, ``before`` being ``against``; ``same`` is the number of those that
    both have alike, and ``renamed`` has those of them that are called otherwise, before and after.
    """

    name: str
    against: str
    layers: tuple[LayerChange, ...]
    same: int
    renamed: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Several networks side by side, weighed or published.

    ``metrics`` has every figure of every model, ``differences`` the layers of each later weighed one that differ from those of the
    first, ``fronts`` the models that no other beats, and ``deadline`` the frames missed where a rate was asked for.  The attributes
    have the names of the JSON.
    """

    tool: str
    models: tuple[Model, ...]
    metrics: tuple[Metric, ...]
    differences: tuple[Difference, ...]
    fronts: tuple[Front, ...]
    deadline: Deadlines | None = None
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA

    def metric(self, name: str, device: str | None = None) -> Metric:
        """The metric of this name.  Raises ``KeyError``."""
        for one in self.metrics:
            if (one.name, one.device) == (name, device):
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings, as the JSON has them."""
        from weighbridge.report.comparison_json import to_plain

        return to_plain(self)

    def to_json(self) -> str:
        """The JSON text: ASCII, ints exact however large, no NaN and no infinity."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Comparison:
        """The comparison that ``to_dict`` made ``data`` of.  Raises ``BadSpec`` with the ``$.path`` of what does not fit."""
        from weighbridge.report.comparison_json import from_plain

        return from_plain(data)

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """The comparison that was saved as ``text``.  Raises ``BadSpec``."""
        from weighbridge.report.comparison_json import from_plain
        from weighbridge.report.json_text import parsed

        return from_plain(parsed(text))

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(printable(model.name, 60) for model in self.models)}>"

    def __str__(self) -> str:
        """The page as text, 100 columns wide."""
        from weighbridge.report.comparison_page import text
        from weighbridge.report.terminal import Look

        return text(self, Look(100))


def comparison_of(models: Sequence[Model], *, tool: str, fps: Fraction | None = None) -> Comparison:
    """Compare ``models``, the first being what the others are compared with; ``fps`` asks for the frames that each misses."""
    return Comparison(
        tool=tool,
        models=tuple(models),
        metrics=tuple(_metrics(models)),
        differences=tuple(_differences(models)),
        fronts=tuple(fronts_of(models)),
        deadline=None if fps is None else deadlines_of(models, fps),
        notes=tuple(dict.fromkeys(_notes(models))),
    )


def _metrics(models: Sequence[Model]) -> Iterator[Metric]:
    """What is weighed, then what is published."""
    weighed = [{} if model.report is None else values_of(model.report) for model in models]
    for name, device in dict.fromkeys(key for values in weighed for key in values):
        yield _metric(name, device, [values.get((name, device), NOTHING) for values in weighed], _first(models, False))
    published = [{} if model.published is None else published_values(model.published) for model in models]
    for name, unit in dict.fromkeys(key for values in published for key in values):
        metric = _metric(name, None, [values.get((name, unit), NOTHING) for values in published], _first(models, True))
        yield metric._replace(ratios=_of_comparable(metric, models)) if is_of_times(name) else metric


def _first(models: Sequence[Model], published: bool) -> int:
    """The place of what all of a kind is compared with."""
    return next(place for place, model in enumerate(models) if (model.published is not None) == published)


def _metric(name: str, device: str | None, values: Sequence[Value], base: int) -> Metric:
    return Metric(
        name,
        next((value.unit for value in values if value.unit), ""),
        device,
        tuple(value.value for value in values),
        tuple(value.exact and value.value is not None for value in values),
        tuple(quotient(value.value, values[base].value) for value in values),
    )


def _of_comparable(metric: Metric, models: Sequence[Model]) -> tuple[float | None, ...]:
    """The ratios of times, where they have one."""
    base = models[_first(models, True)].published
    assert base is not None
    return tuple(
        ratio if model.published is not None and are_comparable(base, model.published) else None
        for model, ratio in zip(models, metric.ratios, strict=True)
    )


def _differences(models: Sequence[Model]) -> Iterator[Difference]:
    weighed = [(model.name, layers_of(model.report.nodes)) for model in models if model.report is not None]
    for name, layers in weighed[1:]:
        against, before = weighed[0]
        yield Difference(name, against, *differences(before, layers))


def _notes(models: Sequence[Model]) -> Iterator[str]:
    """Where published figures are from, and what is known about them."""
    for model in models:
        found = model.published
        if found is not None:
            yield f"{model.name}: source: {found.source}"
            yield from (f"{model.name}: {note}" for note in found.notes)

"""A network before and after changes: every metric side by side, with the ratio, and the layers that differ."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from weighbridge.counts import NodeFacts
from weighbridge.errors import printable
from weighbridge.graph import Shape
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.record import OnDevice, Report, by_device

__all__ = ["LayerChange", "LayerFigures", "Metric", "Step", "WhatIf", "compared", "layer_changes", "values_of"]

SCHEMA: Final = 1
_Number = int | float | str | None


class Value(NamedTuple):
    """A figure of one report; ``exact`` is False of a lower bound."""

    unit: str
    value: _Number
    exact: bool


class Metric(NamedTuple):
    """One figure of the network, or of it on ``device``, before and after the changes.

    ``unit`` is "" for counts and words, else B, s or J.  None is unknown.  ``ratio`` is after / before and ``times_smaller`` its
    inverse; each is None where a side is unknown or no number, and where it would divide by 0.  Unless ``exact_before`` or
    ``exact_after`` that side is a lower bound, and unless ``exact`` the ratio is not one of exact figures: with a lower bound before
    it is an upper bound, with one after a lower bound, with two neither.
    """

    name: str
    unit: str
    device: str | None
    before: int | float | str | None
    after: int | float | str | None
    ratio: float | None
    times_smaller: float | None
    exact: bool
    exact_before: bool
    exact_after: bool


class LayerFigures(NamedTuple):
    """A layer on one side; None is unknown."""

    operator: str
    output: Shape | None
    weights: int | None
    nonzero_weights: int | None
    weight_bytes: int | None
    macs: int | None
    output_bytes: int | None


class LayerChange(NamedTuple):
    """A layer that differs; ``before`` is None of one that is new, ``after`` of one that is gone."""

    name: str
    before: LayerFigures | None
    after: LayerFigures | None


class Step(NamedTuple):
    """What a step changed, and the network after it."""

    changes: tuple[str, ...]
    report: Report


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf:
    """A network before and after changes.

    ``metrics`` has every figure of both, ``layers`` those that differ, in the order in which they run; ``steps`` each step by itself
    where they were asked for, ``notes`` what a change left as it was, and why.  The attributes have the names of the JSON.
    """

    tool: str
    source: str
    changes: tuple[str, ...]
    before: Report
    after: Report
    metrics: tuple[Metric, ...]
    layers: tuple[LayerChange, ...]
    steps: tuple[Step, ...] = ()
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
        from weighbridge.report.what_if_json import to_plain

        return to_plain(self)

    def to_json(self) -> str:
        """The JSON text: ASCII, ints exact however large, no NaN and no infinity."""
        from weighbridge.report.json import layout

        return layout(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> WhatIf:
        """The comparison that ``to_dict`` made ``data`` of.  Raises ``BadSpec`` with the ``$.path`` of what does not fit."""
        from weighbridge.report.what_if_json import from_plain

        return from_plain(data)

    @classmethod
    def from_json(cls, text: str) -> WhatIf:
        """The comparison that was saved as ``text``.  Raises ``BadSpec``."""
        from weighbridge.report.json_text import parsed
        from weighbridge.report.what_if_json import from_plain

        return from_plain(parsed(text))

    def __repr__(self) -> str:
        ratios = (f"{name} x {one.ratio:.4g}" for name in ("parameters", "macs") if (one := self.metric(name)).ratio)
        return (
            f"<WhatIf {printable(self.before.network.name)} {printable(' '.join(self.changes))}: {', '.join(ratios)}>"
        )

    def __str__(self) -> str:
        """The page as text, 100 columns wide."""
        from weighbridge.report.terminal import Look
        from weighbridge.report.what_if_page import text

        return text(self, Look(100))


def compared(before: Report, after: Report) -> tuple[Metric, ...]:
    """Every metric of two reports; one that a side lacks is unknown there."""
    old, new = values_of(before), values_of(after)
    return tuple(_metric(*key, old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new)))


def _metric(name: str, device: str | None, before: Value | None, after: Value | None) -> Metric:
    one, other = before or Value("", None, False), after or Value("", None, False)
    return Metric(
        name,
        one.unit or other.unit,
        device,
        one.value,
        other.value,
        _quotient(other.value, one.value),
        _quotient(one.value, other.value),
        one.exact and other.exact and None not in (one.value, other.value),
        one.exact and one.value is not None,
        other.exact and other.value is not None,
    )


def _quotient(a: _Number, b: _Number) -> float | None:
    """``a`` / ``b`` of numbers; None where there is none, or none that a float holds."""
    if a is None or isinstance(a, str) or not b or isinstance(b, str):
        return None
    try:
        return float(Fraction(a) / Fraction(b))
    except OverflowError:
        return None


def values_of(report: Report) -> Mapping[tuple[str, str | None], Value]:
    """The figures of a report by name and device, in the order in which they are shown."""
    found: dict[tuple[str, str | None], Value] = {}
    found |= {(name, None): value for name, value in (*_facts(report), *_memory(report), *_energy(report))}
    for device, on in by_device(report).items():
        found |= {(name, device): value for name, value in _on(on)}
    return found


def _facts(report: Report) -> Iterator[tuple[str, Value]]:
    facts, exact = report.facts, report.facts.exact
    for name in ("parameters", "weights", "nonzero_parameters"):
        yield name, Value("", getattr(facts, name), exact)
    for name in ("parameter_bytes", "weight_bytes"):
        yield name, Value("B", getattr(facts, name), exact)
    yield "deployed_parameters", Value("", facts.deployed_parameters, exact)
    yield "deployed_bytes", Value("B", facts.deployed_bytes, exact)
    for name in ("macs", "flops", "nonzero_macs"):
        yield name, Value("", getattr(facts, name), exact)
    yield "other_operations", Value("", sum(facts.work) - facts.work.macs, facts.work_exact)
    activations = facts.activations
    yield "activations.total", Value("", activations.total, activations.total is not None)
    yield "activations.total_bytes", Value("B", activations.total_bytes, activations.total_bytes is not None)


def _memory(report: Report) -> Iterator[tuple[str, Value]]:
    memory = report.memory
    for policy, size in memory.peak_bytes.items():
        if policy not in memory.inapplicable:
            yield f"peak_bytes.{policy}", Value("B", size, size is not None)
    if memory.variable_bytes:
        yield "variable_bytes", Value("B", memory.variable_bytes, memory.exact)
    plan = memory.training
    if plan is not None:
        for name in ("saved_bytes", "peak_activation_bytes"):
            yield f"training.{name}", Value("B", getattr(plan, name), plan.exact)
        for name in ("gradient_bytes", "optimiser_bytes"):
            yield f"training.{name}", Value("B", getattr(plan, name), getattr(plan, name) is not None)
        yield "training.total_bytes", Value("B", plan.total_bytes, plan.exact and plan.total_bytes is not None)


def _energy(report: Report) -> Iterator[tuple[str, Value]]:
    bill = report.energy
    if bill is not None:
        yield "energy.arithmetic_j", Value("J", bill.arithmetic_j, bill.exact)
        yield from ((f"energy.{one.level}_j", Value("J", one.total_j, bill.exact)) for one in bill.levels)


def _on(on: OnDevice) -> Iterator[tuple[str, Value]]:
    """The figures of a network on one device.  A verdict is certain, whatever it rests on, unless it is ``unknown``."""
    yield "verdict", Value("", on.fit.verdict, on.fit.verdict != "unknown")
    for region in on.fit.regions:
        yield f"needed_bytes.{region.name}", Value("B", region.needed_bytes, region.exact)
        yield f"short_bytes.{region.name}", Value("B", region.short_bytes, region.exact)
    latency = on.latency
    yield "floor_s", Value("s", latency.floor_s, latency.exact)
    yield "layerwise_s", Value("s", latency.layerwise_s, latency.layerwise_exact)
    yield "bound", Value("", latency.bound, latency.exact)
    if on.energy is not None:
        yield "energy_j", Value("J", on.energy.total_j, on.energy.exact)


def layer_changes(before: Sequence[NodeFacts], after: Sequence[NodeFacts]) -> tuple[LayerChange, ...]:
    """The layers whose figures differ, by name, in the order in which they run; what is gone stands where it was, and its parts
    behind it.
    """
    old, new = {node.name: _figures(node) for node in before}, {node.name: _figures(node) for node in after}
    parts = _parts(new, old.keys() - new.keys())
    names: list[str] = []
    places = iter(new)
    for name in old:
        if name in new:
            for other in places:
                names.append(other)
                if other == name:
                    break
        else:
            names += (name, *parts[name])
    names += places
    return tuple(
        LayerChange(name, old.get(name), new.get(name))
        for name in dict.fromkeys(names)
        if old.get(name) != new.get(name)
    )


def _parts(names: Iterable[str], gone: Collection[str]) -> Mapping[str, list[str]]:
    """Of each layer that is gone the names that begin with its own and a dot, in their order."""
    places = {name: place for place, name in enumerate(names)}
    ordered = sorted(places)  # where they stand together, in front of what goes on with the character behind the dot
    return {
        name: sorted(
            ordered[bisect_left(ordered, f"{name}.") : bisect_left(ordered, f"{name}/")], key=places.__getitem__
        )
        for name in gone
    }


def _figures(node: NodeFacts) -> LayerFigures:
    operator = " + ".join((node.operator, *node.fused))
    return LayerFigures(
        operator, node.output, node.weights, node.nonzero_weights, node.weight_bytes, node.macs, node.output_bytes
    )

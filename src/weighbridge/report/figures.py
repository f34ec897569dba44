"""Every figure of a report by its name, for whoever sets two reports side by side or holds one to a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from weighbridge.errors import printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.headlines import lower_bound
from weighbridge.report.record import OnDevice, Report, by_device
from weighbridge.units import exact, joules, rough_joules, rough_ratio, rough_seconds, seconds, significant

__all__ = [
    "EXPECTED_BEGINNINGS",
    "EXPECTED_S",
    "NOTHING",
    "PEAK",
    "WORDS",
    "Value",
    "cell",
    "is_rough",
    "label",
    "quotient",
    "ratio_cell",
    "values_of",
]

PEAK: Final = "peak_bytes."
"""Begins the name of a peak; the memory policy ends it."""
EXPECTED_S: Final = "expected_s."
"""Begins the name of an expected time; the library of kernels ends it."""
EXPECTED_BEGINNINGS: Final = (EXPECTED_S, "expected_most_s.", "expected_energy_j.", "expected_most_energy_j.")
"""Begin the names of what is expected where kernels were measured, and of the most of it; the library ends them."""
WORDS: Final = ("verdict", "bound")
"""Figures that are words."""
_UNKNOWN: Final = "?"
_LABELS: Final[Mapping[str, str]] = {
    "nonzero_parameters": "nonzero parameters",
    "parameter_bytes": "model size",
    "weight_bytes": "weights, bytes",
    "deployed_parameters": "deployed parameters",
    "deployed_bytes": "deployed size",
    "macs": "MACs",
    "flops": "FLOPs = OPs",
    "nonzero_macs": "nonzero MACs",
    "other_operations": "other operations",
    "activations.total": "activations",
    "activations.total_bytes": "activations, bytes",
    "variable_bytes": "variables",
    "training.saved_bytes": "training, saved",
    "training.peak_activation_bytes": "training, activations",
    "training.gradient_bytes": "training, gradients",
    "training.optimiser_bytes": "training, optimiser",
    "training.total_bytes": "training, total",
    "floor_s": "latency floor",
    "layerwise_s": "layer by layer",
    "energy_j": "energy",
    "published.macs": "MACs, published",
    "published.flops": "FLOPs, published",
    "published.latency_s": "latency, measured",
    "published.throughput_per_s": "a second, measured",
    "published.quality": "quality, published",
}
_BEGINNINGS: Final = (
    ("needed_bytes.", "needed of "),
    ("short_bytes.", "short of "),
    ("energy.", "energy, "),
    ("expected_s.", "expected time, "),
    ("expected_most_s.", "expected time at most, "),
    ("expected_energy_j.", "expected energy, "),
    ("expected_most_energy_j.", "expected energy at most, "),
)


class Value(NamedTuple):
    """A figure of one report: ``unit`` is "" for counts and words, else B, s or J; None is unknown; ``exact`` is False of a lower
    bound, and of what is unknown.
    """

    unit: str
    value: int | float | str | None
    exact: bool


NOTHING: Final = Value("", None, False)
"""A figure that a report does not have."""


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
    if memory.variable_bytes != 0:
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
    for one in on.expected:
        if one.time_s is not None:
            yield f"expected_s.{one.kernels}", Value("s", one.time_s, True)
            yield f"expected_most_s.{one.kernels}", Value("s", one.most_s, one.most_s is not None)
        if one.energy_j is not None:
            yield f"expected_energy_j.{one.kernels}", Value("J", one.energy_j, True)
            most_j = one.most_energy_j
            yield f"expected_most_energy_j.{one.kernels}", Value("J", most_j, most_j is not None)
    if on.energy is not None:
        yield "energy_j", Value("J", on.energy.total_j, on.energy.exact)


def quotient(a: float | str | None, b: float | str | None) -> float | None:
    """``a`` / ``b`` of numbers; None where there is none, or none that a float holds."""
    if a is None or isinstance(a, str) or not b or isinstance(b, str):
        return None
    try:
        return float(Fraction(a) / Fraction(b))
    except OverflowError:
        return None


def label(name: str) -> str:
    """What people call a figure: ``floor_s`` is the latency floor."""
    if name.startswith(PEAK):
        return f"peak, {name.removeprefix(PEAK)}"
    for beginning, words in _BEGINNINGS:
        if name.startswith(beginning):
            return printable(f"{words}{name.removeprefix(beginning).removesuffix('_j')}", 40)
    return _LABELS.get(name, name)


def is_rough(name: str) -> bool:
    """Whether a figure is an estimate that is known to some tens of percent, as expected times and energies are."""
    return name.startswith(EXPECTED_BEGINNINGS)


def cell(value: float | str | None, unit: str, is_exact: bool, doubt: str = "", name: str = "") -> str:
    """A figure with its unit, ``>=`` in front of a lower bound, ``?`` where it is unknown; ``doubt`` stands before times and energies.

    Of one that is rough by its ``name`` two digits are shown.
    """
    if value is None:
        return _UNKNOWN
    if isinstance(value, str):
        return printable(value, 40)
    if unit == "s":
        return f"{doubt}{lower_bound((rough_seconds if is_rough(name) else seconds)(value), is_exact)}"
    if unit == "J":
        return f"{doubt}{lower_bound((rough_joules if is_rough(name) else joules)(value), is_exact)}"
    return lower_bound(f"{exact(int(value))}{' B' if unit else ''}", is_exact)


def ratio_cell(ratio: float | None, over: Value, under: Value, name: str = "") -> str:
    """``ratio`` of ``over`` to ``under``: an upper bound where ``under`` is a lower one, a lower where ``over`` is, ``*`` where both are.

    "" where it would be of words or divide by 0, ``?`` where it is unknown.  Of figures that are rough by their ``name`` it has two digits.
    """
    if isinstance(over.value, str) or isinstance(under.value, str):
        return ""
    if ratio is None:
        return "" if over.value == 0 or under.value == 0 else _UNKNOWN
    shown = rough_ratio(ratio) if is_rough(name) else significant(ratio)
    if over.exact and under.exact:
        return "1" if over.value == under.value else shown
    if over.exact or under.exact:
        return f"{'<=' if over.exact else '>='} {shown}"
    return f"* {shown}"

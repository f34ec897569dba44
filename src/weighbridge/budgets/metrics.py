"""What a budget can be on: the figures of a report by name, with their units and whether they are of a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.memory import POLICIES
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.figures import EXPECTED_BEGINNINGS, PEAK
from weighbridge.written import shown

__all__ = ["VERDICT", "Metric", "metric_named", "nearest"]

VERDICT: Final = "verdict"
"""The figure that ``fits on DEVICE`` is a limit on."""
_FIT: Final = "write `fits on DEVICE`"


class Metric(NamedTuple):
    """``unit`` is "" of a count, else B, s or J; ``of_device`` says whether it is another on each device."""

    name: str
    unit: str
    of_device: bool = False


_COUNTS: Final = (
    "parameters",
    "weights",
    "nonzero_parameters",
    "deployed_parameters",
    "macs",
    "flops",
    "nonzero_macs",
    "other_operations",
    "activations.total",
)
_BYTES: Final = (
    "parameter_bytes",
    "weight_bytes",
    "deployed_bytes",
    "activations.total_bytes",
    "variable_bytes",
    "training.saved_bytes",
    "training.peak_activation_bytes",
    "training.gradient_bytes",
    "training.optimiser_bytes",
    "training.total_bytes",
)
_METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        *(Metric(name, "") for name in _COUNTS),
        *(Metric(name, "B") for name in _BYTES),
        *(Metric(f"{PEAK}{policy}", "B") for policy in POLICIES),
        Metric("energy.arithmetic_j", "J"),
        Metric("floor_s", "s", of_device=True),
        Metric("layerwise_s", "s", of_device=True),
        Metric("energy_j", "J", of_device=True),
    )
}
_REGIONS: Final = (Metric("needed_bytes.", "B", of_device=True), Metric("short_bytes.", "B", of_device=True))
"""Beginnings of names that a memory region of the device ends."""
_EXPECTED: Final = tuple(
    Metric(beginning, "s" if beginning.endswith("_s.") else "J", of_device=True) for beginning in EXPECTED_BEGINNINGS
)
"""Beginnings of names that a library of kernels ends, with which networks were measured on the device."""
_LEVEL: Final = ("energy.", "_j")
"""What is before and behind the level of memory in the name of its energy."""
_TIMES: Final = "floor_s, the least time that a device can take, or expected_s.KERNELS, which is expected of kernels that were measured"
_EVERYDAY: Final = (
    ("latency", _TIMES),
    ("time", _TIMES),
    ("expected", "expected_s.KERNELS, the time expected with a library of kernels, or expected_most_s.KERNELS"),
    ("energy", "energy_j, or energy.arithmetic_j by a table of energies"),
    ("flash", "needed_bytes.flash, what that memory of a device has to hold"),
    ("ram", "needed_bytes.SRAM, what that memory of a device has to hold, or peak_bytes"),
    ("memory", "peak_bytes, or needed_bytes.REGION, what a memory of a device has to hold"),
    ("peak", "peak_bytes"),
    ("size", "deployed_bytes, or parameter_bytes"),
)
"""What people call figures that are near to no name of a metric, and what they mean."""

_NEAR: Final = 0.8


def metric_named(name: str) -> Metric:
    """The figure of this name.

    A region or a level of memory is not looked at, as only a device or a table of energies says which there are.  Raises ``BadSpec``
    with the nearest name, and for a figure that is a word, which has no limit.
    """
    found = _METRICS.get(name)
    if found is not None:
        return found
    for beginning in (*_REGIONS, *_EXPECTED):
        if name.startswith(beginning.name) and name != beginning.name:
            return beginning._replace(name=name)
    before, behind = _LEVEL
    if name.startswith(before) and name.endswith(behind) and len(name) > len(before + behind):
        return Metric(name, "J")
    if name in (VERDICT, "bound"):
        raise BadSpec(
            f"{name} is a word and has no limit", hint=_FIT if name == VERDICT else "limit floor_s in its place"
        )
    if name.startswith(PEAK):
        policy = name.removeprefix(PEAK)
        raise BadSpec(f"there is no memory policy {shown(policy)}", hint=nearest(policy, POLICIES, "the policies are"))
    names = (PEAK.removesuffix("."), *_METRICS, *_open())
    raise BadSpec(
        f"there is no metric {shown(name)}", hint=_meant(name, names) or nearest(name, names, "the metrics are")
    )


def _open() -> Iterator[str]:
    """Names that something of the device ends, with what that is in capitals."""
    yield from (f"{one.name}REGION" for one in _REGIONS)
    yield from (f"{one.name}KERNELS" for one in _EXPECTED)


def _meant(name: str, known: tuple[str, ...]) -> str:
    """A hint for a word of every day; "" of another, and where a name is nearer than by chance."""
    said = _plain(name).replace(".", "_").split("_")
    if get_close_matches(_plain(name), map(_plain, known), 1, _NEAR):
        return ""
    return next(
        (f"did you mean {metric}?" for word, metric in _EVERYDAY if any(part.endswith(word) for part in said)), ""
    )


def nearest(name: str, known: tuple[str, ...], otherwise: str) -> str:
    """A hint with the name that was meant, else with all of them behind ``otherwise``."""
    plain, by_plain = _plain(name), {_plain(one): one for one in known}
    near = get_close_matches(plain, by_plain, 1) or [one for one in by_plain if plain and one.startswith(plain)]
    return f"did you mean {by_plain[near[0]]}?" if near else f"{otherwise} {', '.join(known)}"


def _plain(name: str) -> str:
    return name.lower().replace(" ", "_")

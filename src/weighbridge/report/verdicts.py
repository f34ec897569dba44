"""What a report says about each device: does it fit, by how many bytes not, and what no implementation can beat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from weighbridge.errors import printable
from weighbridge.report.headlines import lower_bound
from weighbridge.report.page import RegionLine, Verdict
from weighbridge.report.record import OnDevice, Report
from weighbridge.units import exact, seconds, short

if TYPE_CHECKING:
    from weighbridge.estimates import Conditions, Latency, Region

__all__ = ["verdicts"]

_FITS, _DOES_NOT_FIT = "fits", "does not fit"


def verdicts(report: Report) -> tuple[Verdict, ...]:
    """One verdict a device, in the order they were asked for."""
    return tuple(_verdict(on) for on in report.on)


def _verdict(on: OnDevice) -> Verdict:
    return Verdict(
        device=printable(on.device),
        verdict=on.fit.verdict,
        sentence=_sentence(on),
        regions=tuple(_region(region) for region in on.fit.regions),
        times=tuple(_times(on.latency, on.conditions)),
        conditions=_conditions(on.conditions),
        notes=tuple(printable(note, 400) for note in on.notes),
    )


def _sentence(on: OnDevice) -> str:
    short_of = [region for region in on.fit.regions if region.verdict == _DOES_NOT_FIT]
    if not short_of:
        return on.fit.verdict
    parts = [f"{_missing_bytes(region)} of {printable(region.name)}{_set_by(region)}" for region in short_of]
    return f"{_DOES_NOT_FIT}: short by {' and '.join(parts)}"


def _missing_bytes(region: Region) -> str:
    return "?" if region.short_bytes is None else lower_bound(f"{exact(region.short_bytes)} B", region.exact)


def _set_by(region: Region) -> str:
    return f" (the peak is at {printable(region.peak_node, 60)})" if region.peak_node else ""


def _region(region: Region) -> RegionLine:
    needed = "unknown" if region.needed_bytes is None else lower_bound(f"{exact(region.needed_bytes)} B", region.exact)
    reserved = f", {exact(region.reserved_bytes)} B reserved" if region.reserved_bytes else ""
    sentence = f"{' and '.join(region.holds)}: {needed} of {exact(region.available_bytes)} B{reserved}"
    fits = {_FITS: True, _DOES_NOT_FIT: False}.get(region.verdict)
    return RegionLine(printable(region.name), sentence, region.ratio, fits)


def _times(latency: Latency, conditions: Conditions) -> Iterator[str]:
    precision = conditions.precision or "this precision"
    if latency.floor_s is None:
        yield f"latency floor unknown: no peak rate at {precision} is known"
    else:
        bound = f", bound by {latency.bound}" if latency.bound else ""
        yield f"latency floor {lower_bound(seconds(latency.floor_s), latency.exact)}{bound}: nothing on this device is faster"
    if latency.compute_s is not None and latency.peak_ops_per_s:
        yield f"compute {seconds(latency.compute_s)}: 2 x MACs at {short(latency.peak_ops_per_s)}OPS ({printable(latency.unit or '')})"
    if latency.memory_s is not None:
        yield f"memory {seconds(latency.memory_s)}: weights, inputs and outputs moved once"


def _conditions(conditions: Conditions) -> str:
    batch = "batch unknown" if conditions.batch is None else f"batch {conditions.batch:,}"
    runtime = conditions.runtime or "no runtime: a bound from the data sheet, not a measurement"
    parts = (conditions.hardware, conditions.precision or "precision unknown", batch, runtime)
    return ", ".join(printable(part) for part in parts)

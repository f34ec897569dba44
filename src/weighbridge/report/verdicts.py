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
    from weighbridge.estimates import Conditions, Region

__all__ = ["verdicts"]

_FITS, _DOES_NOT_FIT = "fits", "does not fit"


def verdicts(report: Report) -> tuple[Verdict, ...]:
    """One verdict a device, in the order they were asked for."""
    return tuple(_verdict(on, report) for on in report.on)


def _verdict(on: OnDevice, report: Report) -> Verdict:
    from weighbridge.estimates.latency import NO_LATENCY

    model = "deployed model" if report.network.graph == "deployed" else "model as written"
    regions = tuple(_region(region, model) for region in on.fit.regions)
    reasons = [note.removeprefix(NO_LATENCY) for note in on.notes if note.startswith(NO_LATENCY)]
    no_floor = printable(reasons[0], 400) if reasons else "the reason was not kept"
    return Verdict(
        device=printable(on.device),
        verdict=on.fit.verdict,
        brief=_brief(on, regions),
        sentence=_sentence(on),
        regions=regions,
        times=tuple(_times(on, no_floor)),
        conditions=_conditions(on.conditions),
        notes=tuple(printable(note, 400) for note in on.notes if not note.startswith(NO_LATENCY)),
    )


def _brief(on: OnDevice, regions: tuple[RegionLine, ...]) -> str:
    """``board: does not fit (flash 5,817%)``: the memories that are too small, or all if none is."""
    shown = [line for line in regions if on.fit.verdict != _DOES_NOT_FIT or line.fits is False]
    exact_of = {printable(region.name): region.exact for region in on.fit.regions}
    parts = [f"{line.name} {lower_bound(line.percent, exact_of[line.name])}" for line in shown]
    of = f" ({', '.join(parts)})" if parts else ""
    return f"{printable(on.device)}: {on.fit.verdict}{of}"


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


def _region(region: Region, model: str) -> RegionLine:
    needed = "unknown" if region.needed_bytes is None else lower_bound(f"{exact(region.needed_bytes)} B", region.exact)
    reserved = f", {exact(region.reserved_bytes)} B reserved" if region.reserved_bytes else ""
    holds = " and ".join(model if what == "weights" else what for what in region.holds)
    sentence = f"{holds}: {needed} of {exact(region.available_bytes)} B{reserved}"
    fits = {_FITS: True, _DOES_NOT_FIT: False}.get(region.verdict)
    return RegionLine(printable(region.name), sentence, region.ratio, fits)


def _times(on: OnDevice, no_floor: str) -> Iterator[str]:
    latency = on.latency
    compute = memory = ""
    if latency.compute_s is not None and latency.peak_ops_per_s:
        compute = f"2 x MACs at {short(latency.peak_ops_per_s)}OPS ({printable(latency.unit or '')})"
    if latency.memory_s is not None:
        memory = "weights, inputs and outputs moved once"
    if latency.floor_s is None:
        yield f"latency floor unknown: {no_floor}"
    else:
        if_it_fitted, meaning = " even if it fitted", ""
        if on.fit.verdict != _DOES_NOT_FIT:
            if_it_fitted, meaning = "", "nothing on this device is faster"
        floor = f"latency floor {lower_bound(seconds(latency.floor_s), latency.exact)}{if_it_fitted}"
        if compute and not memory:
            yield f"{floor}: {compute}{f'; {meaning}' if meaning else ''}"
            return
        yield f"{floor}{f', bound by {latency.bound}' if latency.bound else ''}{f': {meaning}' if meaning else ''}"
    if compute and latency.compute_s:
        yield f"compute {seconds(latency.compute_s)}: {compute}"
    if memory and latency.memory_s:
        yield f"memory {seconds(latency.memory_s)}: {memory}"


def _conditions(conditions: Conditions) -> str:
    batch = "batch unknown" if conditions.batch is None else f"batch {conditions.batch:,}"
    runtime = conditions.runtime or "no runtime: a bound from the data sheet, not a measurement"
    parts = (conditions.hardware, conditions.precision or "precision unknown", batch, runtime)
    return ", ".join(printable(part) for part in parts)

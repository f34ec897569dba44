"""What a report says about each device: does it fit, by how many bytes not, and what no implementation can beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from weighbridge.errors import printable
from weighbridge.report.costs import batches, charge_sentence, region_percent, slowest_layers, summary, word
from weighbridge.report.expectations import expected_lines, missed_lines
from weighbridge.report.headlines import lower_bound, rate_sentence
from weighbridge.report.page import Brief, RegionLine, Verdict
from weighbridge.report.patched_verdict import patched_lines
from weighbridge.report.peaks import LIVE
from weighbridge.report.record import OnDevice, Report
from weighbridge.units import decimal_bytes, exact, joules, seconds, significant

if TYPE_CHECKING:
    from weighbridge.estimates import Latency, Need, Region

__all__ = ["DETAILED", "briefs", "conditions_of", "floor_basis", "verdicts"]

DETAILED = 3
"""So many devices are shown one by one, more only in a table."""

_BASES = {
    "measured": "measured peaks, not a measurement of this network",
    "data sheet and measured": "the data sheet and measured peaks, not a measurement of this network",
}
"""What a floor rests on where it is not the data sheet alone, by the ``figures`` of the latency."""
_FITS, _DOES_NOT_FIT = "fits", "does not fit"
_RUNTIME = "the runtime's own data"


def briefs(report: Report) -> tuple[Brief, ...]:
    """A line for each device; where there are many, one for all of them."""
    if len(report.on) <= DETAILED:
        return tuple(Brief(_brief(on), word(on.fit.verdict)) for on in report.on)
    verdicts_given = {word(on.fit.verdict) for on in report.on}
    return (Brief(summary(report.on), verdicts_given.pop() if len(verdicts_given) == 1 else ""),)


def verdicts(report: Report, all_rows: bool = False) -> tuple[Verdict, ...]:
    """One verdict a device, in the order they were asked for; with ``all_rows`` the times of every layer."""
    return tuple(_verdict(on, report, all_rows) for on in report.on)


def _verdict(on: OnDevice, report: Report, all_rows: bool) -> Verdict:
    from weighbridge.estimates.latency import NO_LATENCY

    model = "deployed model" if report.network.graph == "deployed" else "model as written"
    regions = tuple(_region(region, model) for region in on.fit.regions)
    reasons = [note.removeprefix(NO_LATENCY) for note in on.notes if note.startswith(NO_LATENCY)]
    said = report.energy.notes if report.energy else ()
    no_floor = printable(reasons[0], 400) if reasons else "the reason was not kept"
    return Verdict(
        device=printable(on.device),
        verdict=word(on.fit.verdict),
        sentence=_sentence(on),
        regions=regions,
        times=(
            *patched_lines(on),
            *_times(on, no_floor),
            *expected_lines(on),
            *_rates(on),
            *_deadline(on),
            *missed_lines(on),
            *_energy(on),
        ),
        conditions=conditions_of(on),
        notes=tuple(printable(note, 400) for note in on.notes if note not in said and not note.startswith(NO_LATENCY)),
        grids=tuple(grid for grid in (slowest_layers(on, all_rows), batches(on)) if grid is not None),
    )


def _brief(on: OnDevice) -> str:
    """``board: does not fit (flash 5,817%)``: the memories that are too small, or all if none is."""
    shown = [one for one in on.fit.regions if on.fit.verdict != _DOES_NOT_FIT or one.verdict == _DOES_NOT_FIT]
    parts = [f"{printable(region.name)} {region_percent(region)}" for region in shown]
    of = f" ({', '.join(parts)})" if parts else ""
    return f"{printable(on.device)}: {word(on.fit.verdict)}{of}{_trains(on)}"


def _trains(on: OnDevice) -> str:
    """Whether there is room to train, and for how many samples at once; "" where nobody asked."""
    found = on.training
    if found is None:
        return ""
    if found.largest_batch == 0:
        return "; trains with no batch"
    most = "" if found.largest_batch is None else f", batch {exact(found.largest_batch)} at most"
    return f"; training {word(found.verdict)}{most}"


def _sentence(on: OnDevice) -> str:
    short_of = [region for region in on.fit.regions if region.verdict == _DOES_NOT_FIT]
    if not short_of:
        unsure = [region for region in on.fit.regions if _excess(region)]
        return "; ".join((word(on.fit.verdict), *(f"{printable(region.name)} {_doubt(region)}" for region in unsure)))
    parts = [f"{_missing_bytes(region)} of {printable(region.name)}{_set_by(region)}" for region in short_of]
    return f"{_DOES_NOT_FIT}: short by {' and '.join(parts)}"


def _excess(region: Region) -> int:
    """The bytes that an estimate adds beyond what a region of unknown verdict has, where all but the estimate has room."""
    if region.verdict in (_FITS, _DOES_NOT_FIT) or not region.exact or region.estimated_bytes is None:
        return 0
    return (region.needed_bytes or 0) + region.estimated_bytes - region.available_bytes


def _doubt(region: Region) -> str:
    """What an estimate leaves open, in both numbers."""
    small = f"is {exact(_excess(region))} B too small"
    estimated = f"the {exact(region.estimated_bytes or 0)} B that {_RUNTIME} are estimated at"
    if region.needed_bytes is None:
        return f"{small} for {estimated}"
    return f"has room for the {exact(region.needed_bytes)} B that are certain, and {small} with {estimated}"


def _missing_bytes(region: Region) -> str:
    return "?" if region.short_bytes is None else lower_bound(f"{exact(region.short_bytes)} B", region.exact)


def _set_by(region: Region) -> str:
    return f" (the peak is at {printable(region.peak_node, 60)})" if region.peak_node else ""


def _region(region: Region, model: str) -> RegionLine:
    """What lies in a region, what that needs, what the region has."""
    certain = [_named(what, region, model) for what in region.holds if what != "persistent"]
    runtime = next((need for need in region.contents if need.estimated), None)
    has = f"of {exact(region.available_bytes)} B{_cut(region)}"
    if not certain and runtime is not None:
        sentence = f"{_RUNTIME}: {'unknown' if runtime.bytes is None else _estimate(runtime)} {has}"
    else:
        needed = (
            "unknown" if region.needed_bytes is None else lower_bound(f"{exact(region.needed_bytes)} B", region.exact)
        )
        sentence = f"{' and '.join(certain)}: {needed} {has}"
        if runtime is not None:
            sentence += f"; beside it {_RUNTIME}, {_estimate(runtime)}"
    if region.uncounted:
        sentence += f"; {printable(' and '.join(region.uncounted), 80)} not counted"
    fits = {_FITS: True, _DOES_NOT_FIT: False}.get(region.verdict)
    if region.weight_ratio and region.weight_ratio > 1:
        sentence += f"; the weights alone {significant(region.weight_ratio)} times as much"
    return RegionLine(printable(region.name), sentence, region.ratio, fits)


def _named(what: str, region: Region, model: str) -> str:
    """A content as a page calls it; activations with their policy where it is not the usual one, and what lives on in them."""
    if what != "activations" or region.policy in (None, LIVE):
        return model if what == "weights" else printable(what, 40)
    variable = next((need.variable_bytes for need in region.contents if need.content == what), None)
    lasting = f", {exact(variable)} B of variable tensors included" if variable else ""
    return f"{what} ({printable(region.policy or '', 40)}{lasting})"


def _estimate(need: Need) -> str:
    return "of unknown size" if need.bytes is None else f"estimated at {exact(need.bytes)} B"


def _cut(region: Region) -> str:
    """Why a region offers less than it has."""
    reserved = f", {exact(region.reserved_bytes)} B reserved" if region.reserved_bytes else ""
    is_cut = region.largest_block_bytes is not None and region.available_bytes == region.largest_block_bytes
    return f", its largest block{reserved}" if is_cut else reserved


def _times(on: OnDevice, no_floor: str) -> Iterator[str]:
    latency = on.latency
    compute = memory = ""
    if latency.compute_s is not None and latency.peak_ops_per_s:
        compute = rate_sentence(latency.peak_ops_per_s, latency.unit)
    if latency.memory_s is not None:
        memory = f"what must be read or written, moved once{_ways(on)}"
    if latency.floor_s is None:
        yield f"latency floor unknown: {no_floor}"
    else:
        if_it_fitted, meaning = " even if it fitted", ""
        if on.fit.verdict != _DOES_NOT_FIT:
            if_it_fitted, meaning = "", "nothing on this device is faster"
        floor = f"latency floor {lower_bound(seconds(latency.floor_s), latency.exact)}{if_it_fitted}"
        if compute and not memory:
            yield f"{floor}: {compute}{f'; {meaning}' if meaning else ''}"
            yield from _layerwise(on)
            return
        yield f"{floor}{f', bound by {word(latency.bound)}' if latency.bound else ''}{f': {meaning}' if meaning else ''}"
    if compute and latency.compute_s:
        yield f"compute {seconds(latency.compute_s)}: {compute}"
    if memory and latency.memory_s:
        yield f"memory {seconds(latency.memory_s)}: {memory}"
    yield from _layerwise(on)
    if latency.intensity_ops_per_byte is not None and latency.ridge_ops_per_byte is not None:
        intensity, ridge = significant(latency.intensity_ops_per_byte), significant(latency.ridge_ops_per_byte)
        yield f"operational intensity {intensity} operations a byte, ridge point {ridge}: above it computing binds"


def _ways(on: OnDevice) -> str:
    """The memories that the bytes go through, where there are several, with the bandwidths that are known."""
    rates = [
        f"{printable(region.name, 40)} at {decimal_bytes(region.bandwidth_bytes_per_s)}/s"
        for region in on.fit.regions
        if region.bandwidth_bytes_per_s and {"weights", "activations"} & set(region.holds)
    ]
    return f", through {' and '.join(rates)}" if rates and len(on.fit.regions) > 1 else ""


def _layerwise(on: OnDevice) -> Iterator[str]:
    latency = on.latency
    if latency.layerwise_s is None:
        return
    bounds = Counter(word(time.bound) for time in on.nodes or () if time.time_s)
    parts = [f"{exact(count)} by {bound}" for bound, count in bounds.items() if bound]
    bound = f"; bound {' and '.join(parts)}" if parts else ""
    time = lower_bound(seconds(latency.layerwise_s), latency.layerwise_exact)
    layers = f"{exact(bounds.total())} {'layer' if bounds.total() == 1 else 'layers'}"
    yield f"layer by layer {time}: the sum of the floors of {layers}{bound}"


def _rates(on: OnDevice) -> Iterator[str]:
    """Throughput, where it is of one batch size: of several there is a table."""
    points = on.throughput.by_batch if on.throughput else ()
    if [point.batch for point in points] == [on.conditions.batch] and points[0].per_s:
        yield f"throughput at most {significant(points[0].per_s)} a second: batch {exact(points[0].batch)} over the floor"


def _deadline(on: OnDevice) -> Iterator[str]:
    deadline = on.deadline
    if deadline is None:
        return
    head = f"at {significant(deadline.fps)} frames a second, {seconds(deadline.deadline_s)} each"
    if deadline.frames_missed is None:
        yield f"{head}: frames missed are unknown, as the floor is"
        return
    layers = deadline.layerwise_frames_missed
    so = "" if layers is None else f" ({exact(layers)} layer by layer)"
    if deadline.frames_missed:
        yield f"{head}: at least {exact(deadline.frames_missed)} missed while one inference runs{so}"
    else:
        yield f"{head}: the floor misses none{so}; what really runs may"


def _energy(on: OnDevice) -> Iterator[str]:
    energy = on.energy
    if energy is None:
        return
    parts = [
        f"{printable(part)} {'unknown' if value is None else lower_bound(joules(value), energy.exact)}"
        for part, value in energy.by.items()
    ]
    total = "unknown" if energy.total_j is None else lower_bound(joules(energy.total_j), energy.exact)
    batch = on.conditions.batch
    run = "an inference" if batch in (None, 1) else f"a run of batch {exact(batch or 0)}"
    yield f"energy {total} {run}: {', '.join(parts)}"
    if energy.charge is not None:
        yield f"charge {charge_sentence(energy.charge, run)}"


def conditions_of(on: OnDevice) -> str:
    """Hardware, precision, batch and runtime, without which a time means nothing."""
    conditions = on.conditions
    batch = "batch unknown" if conditions.batch is None else f"batch {conditions.batch:,}"
    runtime = conditions.runtime or f"no runtime: a bound from {floor_basis(on.latency)}"
    parts = (conditions.hardware, conditions.precision or "precision unknown", batch, runtime)
    return ", ".join(printable(part) for part in parts)


def floor_basis(latency: Latency) -> str:
    """What a floor rests on, and what it is not."""
    return _BASES.get(latency.figures, "the data sheet, not a measurement")

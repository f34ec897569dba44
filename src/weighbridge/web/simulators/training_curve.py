"""What training holds over the batch: where activations overtake the parameters, and where the memory of a device ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from weighbridge.devices.device import Device
from weighbridge.estimates import TrainingFit, largest_batch
from weighbridge.memory.training.records import TrainingPlan
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import known_total
from weighbridge.report.charts.theme import MUTED, PALETTE
from weighbridge.report.headlines import lower_bound
from weighbridge.training import fits
from weighbridge.units import exact
from weighbridge.web.figures import UNKNOWN, size, sized, words
from weighbridge.web.simulator import Figure, Plot, Readout

__all__ = ["LARGEST_BATCH", "Curve", "chart", "curve", "notes", "readouts", "sentences"]

LARGEST_BATCH: Final = 65_536
"""What every textbook network takes."""
_LEAST_END: Final = 64
_FAR: Final = 4_096
_ROOM: Final = 5 / 4
"""How far the chart goes beyond where something crosses."""

PlanAt = Callable[[int], TrainingPlan]


class Curve(NamedTuple):
    """``overtakes`` is the least batch at which more is kept than the parameters have, None where none that there can be does.

    ``plans`` are those that the chart goes through, by batch; ``fit`` is what a ``device`` has room for.
    """

    batch: int
    plans: Mapping[int, TrainingPlan]
    overtakes: int | None
    device: Device | None
    fit: TrainingFit | None


def curve(batch: int, plan_at: PlanAt, device: Device | None) -> Curve:
    """The curve around ``batch``.  Raises what ``plan_at`` does."""
    plan = plan_at(batch)
    fit = None if device is None else next(fits(plan, (device,), plan_at))
    overtakes = _overtakes(plan.parameter_bytes, plan_at)
    end = _end(batch, overtakes, fit)
    batches = sorted({1, batch, end, *([overtakes] if overtakes is not None and overtakes <= end else [])})
    return Curve(batch, {one: plan_at(one) for one in batches}, overtakes, device, fit)


def _overtakes(parameter_bytes: int | None, plan_at: PlanAt) -> int | None:
    if parameter_bytes is None:
        return None

    def kept(batch: int) -> int:
        return parameter_bytes + 1 if batch > LARGEST_BATCH else plan_at(batch).saved_bytes

    found = largest_batch(kept, parameter_bytes)
    return None if found is None or found >= LARGEST_BATCH else found + 1


def _end(batch: int, overtakes: int | None, fit: TrainingFit | None) -> int:
    """A power of two to which the chart goes: what it shows of crossings is below it, unless they are far away."""
    crossings = (overtakes, fit.largest_batch if fit else None)
    near = [int(one * _ROOM) for one in crossings if one is not None and one <= max(_FAR, batch)]
    least = max(batch, _LEAST_END, *near, 2)
    return min(LARGEST_BATCH, 1 << (least - 1).bit_length())


def readouts(found: Curve) -> Iterator[Readout]:
    """Where the curve crosses something."""
    group, overtakes = "Over the batch", found.overtakes
    shown = "at none" if overtakes is None else exact(overtakes)
    yield Readout(
        "overtakes_at", "activations overtake at", overtakes, f"{shown}", "the batch at which more is kept", group
    )
    if found.fit is None or found.device is None:
        return
    fit, group = found.fit, f"On {found.device.title}"
    region = "the memory that has to hold what training writes" if fit.region is None else f"of {fit.region}"
    yield size("available_bytes", "room", fit.available_bytes, group, region)
    needed = UNKNOWN if fit.needed_bytes is None else lower_bound(sized(fit.needed_bytes), fit.exact)
    yield Readout(
        "needed_bytes", "needed", fit.needed_bytes, needed, "all but what is frozen and lies elsewhere", group
    )
    yield words("verdict", "verdict", fit.verdict, group)
    largest = UNKNOWN if fit.largest_batch is None else exact(fit.largest_batch)
    yield Readout(
        "largest_batch", "largest batch that fits", fit.largest_batch, largest, "0 if not even one does", group
    )


def sentences(found: Curve) -> Iterator[str]:
    """Where the curve crosses something, in words."""
    if found.overtakes is None:
        yield "at no batch is more kept for the backward pass than the parameters have"
    elif found.overtakes == 1:
        yield "more is kept than the parameters have from the first input on"
    else:
        yield f"from a batch of {exact(found.overtakes)} on, more is kept than the parameters have"
    if found.fit is not None and found.device is not None and found.fit.largest_batch is not None:
        largest = found.fit.largest_batch
        said = f"a batch of {exact(largest)} is the largest that fits" if largest else "not even one input fits"
        yield f"on {found.device.title}, {said}"


def notes(found: Curve) -> Iterator[str]:
    """What the fit leaves open, and what is not sure about the memory."""
    if found.fit is None or found.device is None:
        return
    yield from found.fit.notes
    for memory in found.device.memories:
        if memory.name == found.fit.region and not all(figure.verified for figure in memory.size_figures):
            yield f"the size of {memory.name} of {found.device.name} is not verified"


_PARTS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "parameters": (("parameter_bytes",), PALETTE[0]),
    "gradients": (("gradient_bytes",), PALETTE[1]),
    "optimiser": (("optimiser_bytes",), PALETTE[2]),
    "statistics, copy in 32 bits": (("buffer_bytes", "master_bytes"), MUTED),
    "activations": (("peak_activation_bytes",), PALETTE[3]),
}
"""What is held: the fields that it is the sum of, and its colour; together they are the total."""


def chart(found: Curve) -> Plot:
    """What training holds, stacked over the batch; exact at the batches that were planned, with straight lines between."""
    room = None if found.fit is None else found.fit.available_bytes
    rows: list[Mapping[str, Figure]] = [
        {
            "batch": batch,
            "part": part,
            "order": order,
            "bytes": known_total(getattr(plan, field) for field in fields),
            "room": room,
            "here": found.batch,
        }
        for batch, plan in found.plans.items()
        for order, (part, (fields, _)) in enumerate(_PARTS.items())
    ]
    ends = [f"{exact(one)}: {_total(found.plans[one])}" for one in (min(found.plans), max(found.plans))]
    planned = ", ".join(exact(one) for one in found.plans)
    line = "" if room is None else f"; the line is at {exact(room)} B"
    said = f"at a batch of {' and of '.join(ends)}{line}; planned at {planned}, with straight lines between"
    return Plot("curve", "What training holds over the batch", _spec(has_room=room is not None), tuple(rows), said)


def _total(plan: TrainingPlan) -> str:
    return UNKNOWN if plan.total_bytes is None else lower_bound(sized(plan.total_bytes), plan.exact)


_BATCH: Final = {"field": "batch", "type": "quantitative", "title": "batch", "scale": {"nice": False}}
_AREAS: Final[Mapping[str, Any]] = {
    "mark": {"type": "area", "opacity": 0.85},
    "encoding": {
        "x": _BATCH,
        "y": {"field": "bytes", "type": "quantitative", "title": "bytes", "axis": {"format": "~s"}, "stack": True},
        "order": {"field": "order"},
        "color": {
            "field": "part",
            "type": "nominal",
            "scale": {"domain": list(_PARTS), "range": [colour for _, colour in _PARTS.values()]},
            "legend": {"title": None, "orient": "bottom", "columns": 3},
        },
        "tooltip": [
            {"field": "part", "type": "nominal"},
            {"field": "batch", "type": "quantitative", "format": ","},
            {"field": "bytes", "type": "quantitative", "title": "B", "format": ","},
        ],
    },
}
_HERE: Final[Mapping[str, Any]] = {
    "mark": {"type": "rule", "color": "currentColor", "strokeWidth": 2},
    "encoding": {"x": {"aggregate": "max", "field": "here", "type": "quantitative"}},
}
_LINE: Final[Mapping[str, Any]] = {
    "mark": {"type": "rule", "color": "currentColor", "strokeDash": [6, 4], "strokeWidth": 2},
    "encoding": {"y": {"aggregate": "max", "field": "room", "type": "quantitative"}},
}


def _spec(*, has_room: bool) -> Mapping[str, Any]:
    layers = [_AREAS, _HERE, *([_LINE] if has_room else [])]
    return {"data": {"name": "curve"}, "width": 600, "height": 240, "layer": layers}

"""One count on many devices: the same operations and bytes, and floors that lie orders of magnitude apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from weighbridge.devices.device import Device
from weighbridge.estimates import Demand, Expected, Latency, expected, fit, latency, placed
from weighbridge.report.charts.theme import MUTED, PALETTE
from weighbridge.report.expectations import EXPECTED_NOTE, expected_time
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.headlines import lower_bound
from weighbridge.units import exact, seconds, short, significant
from weighbridge.web.controls import Control, State
from weighbridge.web.demands import Asking, asking, batch_number, device, precision_choice
from weighbridge.web.figures import UNKNOWN, doubt
from weighbridge.web.networks import TEXTBOOK, Networks, network_choice
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["DEVICES", "devices"]

DEVICES: Final = (
    "nrf52840",
    "stm32f746",
    "stm32h743",
    "esp32-s3",
    "ethos-u55-256",
    "coral-edge-tpu",
    "raspberry-pi-5",
    "jetson-nano",
    "jetson-agx-orin",
    "rtx-4090",
    "a100",
    "h100",
)
"""From a microcontroller to a server."""
_COMPUTE, _MEMORY, _OPEN = "compute", "memory", "not known"

Found = tuple[Device, Latency, str, tuple[Expected, ...]]
"""A device, the floor on it, whether the network fits, and what it is expected to take with kernels that were measured there."""


def devices(networks: Networks = TEXTBOOK) -> Simulator:
    """The simulator, with those of ``networks`` to choose; its presets are networks at the precisions that most of the
    devices have a rate for.
    """
    return Simulator(
        "dozen",
        "One count, a dozen devices",
        "What does one and the same count come to in time, from a microcontroller to a server?",
        "The count is the network's and no device changes it. The floor divides it by what a data sheet offers; a device that states "
        "no rate at this precision has none. The axis is logarithmic: each number below it is ten times the one before.",
        tuple(_controls(networks)),
        partial(_answer, asking(networks)),
        (
            Preset("AlexNet at int8", {"network": "alexnet", "precision": "int8"}),
            Preset("MCUNet at int8", {"network": "mcunet_in3", "precision": "int8"}),
            Preset("ResNet-50 at float16, batch 32", {"network": "resnet50", "precision": "float16", "batch": 32}),
        ),
    )


def _controls(networks: Networks) -> Iterator[Control]:
    yield network_choice("alexnet", networks=networks)
    yield batch_number()
    yield precision_choice("int8")


def _answer(ask: Asking, state: State) -> Answer:
    precision = str(state["precision"])
    asked = ask(str(state["network"]), int(state["batch"]), precision)
    needs = asked.needs
    found: list[Found] = []
    for one in map(device, DEVICES):
        lying = placed(needs, one)
        times = expected(needs, one, lying, precision, asked.batch)
        found.append((one, latency(needs, lying, precision), fit(needs, one).verdict, times))
    timed = sorted((one for one in found if one[1].floor_s is not None), key=lambda one: -_floor(one))
    readouts = (*_asked(needs), *(_readout(one) for one in found))
    notes = (
        "a tilde stands before what rests on a figure that is not verified",
        "a floor is the least a device can take, whether or not the network fits; this network was measured nowhere",
        *([EXPECTED_NOTE] if any(map(_times, found)) else []),
    )
    said, plots = tuple(_sentences(timed, found)), tuple(_plot(timed))
    return Answer(readouts, said, plots, (_table(found, precision),), unused=asked.unused, notes=notes)


def _asked(needs: Demand) -> Iterator[Readout]:
    group = "The count"
    shown = lower_bound(exact(needs.ops), needs.ops_exact)
    yield Readout("ops", "operations", needs.ops, shown, "2 x MACs", group)
    moved = needs.stored_read_bytes + needs.input_bytes + needs.output_bytes
    shown = lower_bound(f"{exact(moved)} B", needs.moved_exact)
    yield Readout("moved_bytes", "bytes to move", moved, shown, "each weight, input and output once", group)


def _readout(one: Found) -> Readout:
    made, floor, *_ = one
    bound = _bound(floor)
    meaning = f"bound by {bound}" if bound else "what binds is not known"
    return Readout(f"{made.name}.floor_s", made.title, floor.floor_s, _time(floor), meaning, "The floor on each device")


def _time(floor: Latency) -> str:
    unsure = "" if floor.verified else "~"
    return UNKNOWN if floor.floor_s is None else lower_bound(f"{unsure}{seconds(floor.floor_s)}", floor.exact)


def _times(one: Found) -> tuple[str, ...]:
    """The expected times with their ranges."""
    return tuple(expected_time(each) for each in one[3] if each.time_s is not None)


def _bound(floor: Latency) -> str | None:
    """Which time is longer, computing or moving; of two lower bounds nobody knows."""
    return floor.bound if floor.exact else None


def _floor(one: Found) -> float:
    return one[1].floor_s or 0.0


def _sentences(timed: Sequence[Found], found: Sequence[Found]) -> Iterator[str]:
    if len(timed) > 1 and all(floor.exact for _, floor, *_ in timed):
        slowest, fastest = timed[0], timed[-1]
        unsure = "" if slowest[1].verified and fastest[1].verified else "~"
        times = f"{unsure}{significant(_floor(slowest) / _floor(fastest))}"
        yield f"the floor on {slowest[0].title} is {times} times that on {fastest[0].title}"
    without = [made.name for made, floor, *_ in found if floor.floor_s is None]
    if without:
        yield f"no rate is stated at this precision for {', '.join(without)}: no time is known there"


def _table(found: Sequence[Found], precision: str) -> Grid:
    expects = any(map(_times, found))
    columns = (
        Column("device"),
        Column("peak, ops/s", True),
        Column("floor", True),
        *([Column("expected", True)] if expects else []),
        Column("bound by"),
        Column("fits"),
    )
    rows = []
    for one in found:
        made, floor, verdict, _ = one
        peak = made.peak(precision)
        rate = UNKNOWN if peak is None else f"{doubt(peak.ops_per_s)}{short(peak.ops_per_s.value)}"
        times = [" or ".join(_times(one)) or UNKNOWN] if expects else []
        rows.append(GridRow((made.name, rate, _time(floor), *times, _bound(floor) or UNKNOWN, verdict)))
    return Grid("All of them", columns, tuple(rows))


def _plot(timed: Sequence[Found]) -> Iterator[Plot]:
    rows = tuple(
        {"device": made.name, "floor_ms": 1000 * (floor.floor_s or 0), "bound": _bound(floor) or _OPEN}
        for made, floor, *_ in timed
    )
    if rows:
        said = f"{timed[0][0].name} takes at least {_time(timed[0][1])}, {timed[-1][0].name} at least {_time(timed[-1][1])}"
        typed: tuple[Mapping[str, Figure], ...] = rows
        yield Plot("floors", "Floors on a logarithmic axis", _FLOORS, typed, said)


_FLOORS: Final[Mapping[str, Any]] = {
    "data": {"name": "floors"},
    "width": 640,
    "height": {"step": 24},
    "mark": {"type": "point", "filled": True, "size": 140, "opacity": 1},
    "encoding": {
        "x": {
            "field": "floor_ms",
            "type": "quantitative",
            "title": "milliseconds, each number ten times the one before",
            "scale": {"type": "log", "nice": True},
            "axis": {"format": ",~g"},
        },
        "y": {"field": "device", "type": "nominal", "title": None, "sort": None, "axis": {"grid": True}},
        "color": {
            "field": "bound",
            "type": "nominal",
            "title": "bound by",
            "legend": {"orient": "top"},
            "scale": {"domain": [_COMPUTE, _MEMORY, _OPEN], "range": [PALETTE[1], PALETTE[2], MUTED]},
        },
        "tooltip": [
            {"field": "device", "type": "nominal"},
            {"field": "floor_ms", "type": "quantitative", "title": "floor, ms"},
            {"field": "bound", "type": "nominal", "title": "bound by"},
        ],
    },
}

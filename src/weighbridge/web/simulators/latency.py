"""Latency: what the network asks over what the hardware offers, twice, and the longer of the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from weighbridge.devices.device import Device
from weighbridge.estimates import Demand, Estimate, Latency, estimate, utilisation
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE
from weighbridge.report.expectations import basis, expected_time, no_time_lines
from weighbridge.report.headlines import lower_bound
from weighbridge.report.verdicts import floor_basis
from weighbridge.units import decimal_bytes, exact, seconds, short, significant, stated
from weighbridge.web.controls import Choice, Control, Number, State, Switch
from weighbridge.web.demands import Asking, asking, batch_number, device, device_choices, precision_choice
from weighbridge.web.figures import doubt
from weighbridge.web.networks import TEXTBOOK, Networks, network_choice
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["latency"]

_UNKNOWN: Final = "?"
_DEVICES: Final = ("one", "other")
_NETWORK, _HARDWARE = "network: numerator", "hardware: denominator"
_COMPUTING, _MOVING = "computing", "moving bytes"
_LEAST: Final = "some counts of the network are lower bounds, and so are the times: the floors hold, and which is longer is not known"
_BOUND: Final = {"compute": _COMPUTING, "memory": _MOVING}


def latency(networks: Networks = TEXTBOOK) -> Simulator:
    """The simulator, with those of ``networks`` to choose; its presets are one network on two boards, at batch 1 and 64, and
    on a microcontroller.
    """
    boards = {"one": "jetson-agx-orin", "other": "jetson-nano", "precision": "float16"}
    return Simulator(
        "latency",
        "Latency",
        "How long does one inference take at the least, and does computing or moving bytes decide it?",
        "Above each line stands what the network asks, below it what the hardware offers. Operations over their peak rate is one "
        "time, bytes over the bandwidth another; both go on at once, so the longer one is the floor. It is no measurement: what is "
        "measured is longer, and the floor over it is the utilisation. Where others measured kernels on a device, what the network is "
        "expected to take with them stands beside the floor, with a range.",
        tuple(_controls(networks)),
        partial(_answer, asking(networks)),
        (
            Preset("AlexNet on two boards", {"network": "alexnet", **boards}),
            Preset("ResNet-50 on two boards", {"network": "resnet50", **boards}),
            Preset("ResNet-50 at batch 64: computing decides", {"network": "resnet50", "batch": 64, **boards}),
            Preset(
                "MCUNet on a microcontroller and on a GPU",
                {"network": "mcunet_in3", "precision": "int8", "one": "stm32f746", "other": "a100"},
            ),
        ),
    )


def _controls(networks: Networks) -> Iterator[Control]:
    yield network_choice("alexnet", networks=networks)
    yield batch_number()
    yield precision_choice("float16")
    yield Choice("one", "first device", "jetson-agx-orin", device_choices())
    yield Choice("other", "second device", "jetson-nano", device_choices())
    yield Switch("is_measured", "a time was measured", False, "On the first device, of this network and batch.")
    yield Number("measured_ms", "measured time", 5, 0.000001, 10**9, 1000, step=0.1, unit="ms")


def _answer(ask: Asking, state: State) -> Answer:
    precision = str(state["precision"])
    asked = ask(str(state["network"]), int(state["batch"]), precision)
    needs = asked.needs
    made = {one: device(str(state[one])) for one in _DEVICES}
    found = {one: estimate(needs, made[one], precision, asked.batch) for one in _DEVICES}
    offers = {one: _offer(made[one], precision) for one in _DEVICES}
    readouts = [*_asked(needs), *(readout for one in _DEVICES for readout in _offered(one, found[one], offers[one]))]
    notes = [f"{one.conditions.hardware}: {note}" for one in found.values() for note in one.notes]
    notes += (f"{one.conditions.hardware}: {line}" for one in found.values() for line in no_time_lines(one))
    if not all(one.latency.exact for one in found.values()):
        notes.append(_LEAST)
    sentences = [*_sentences(found)]
    if state["is_measured"]:
        measured, said = _measured(found["one"], float(stated(float(state["measured_ms"])) / 1000))
        readouts += measured
        sentences += said
    plots = (_fractions(needs, found, offers), *(plot for one in _DEVICES for plot in _bars(one, found[one])))
    unused = (*asked.unused, *(() if state["is_measured"] else ("measured_ms",)))
    return Answer(tuple(readouts), tuple(sentences), plots, unused=unused, notes=tuple(dict.fromkeys(notes)))


def _asked(needs: Demand) -> Iterator[Readout]:
    group = "Asked by the network"
    least = "" if needs.ops_exact else ">= "
    yield Readout("ops", "operations", needs.ops, f"{least}{exact(needs.ops)}", "2 x MACs", group)
    least = "" if needs.moved_exact else ">= "
    stored, running = needs.stored_read_bytes, needs.input_bytes + needs.output_bytes
    for name, label, value, meaning in (
        ("stored_read_bytes", "weights read", stored, "weights and all else that is stored, each byte once"),
        ("running_bytes", "inputs and outputs", running, "read and written; what is in between may stay on the chip"),
    ):
        yield Readout(name, label, value, f"{least}{exact(value)} B", meaning, group)


class _Offer(NamedTuple):
    """What a device offers, as it is written: ``bandwidths`` by memory, and a tilde before what is not verified."""

    peak: str
    bandwidths: Mapping[str, str]


def _offer(made: Device, precision: str) -> _Offer:
    peak = made.peak(precision)
    rates = ((memory.name, memory.bandwidth_bytes_per_s) for memory in made.memories)
    return _Offer(
        _UNKNOWN if peak is None else f"{doubt(peak.ops_per_s)}{short(peak.ops_per_s.value)}",
        {name: _UNKNOWN if rate is None else f"{doubt(rate)}{decimal_bytes(rate.value)}" for name, rate in rates},
    )


def _offered(one: str, found: Estimate, offer: _Offer) -> Iterator[Readout]:
    group = found.conditions.hardware
    floor = found.latency
    peak = floor.peak_ops_per_s
    shown = _UNKNOWN if peak is None else f"{offer.peak} operations a second"
    meaning = "" if floor.unit is None else f"of the {floor.unit} at {found.conditions.precision}, dense"
    yield Readout(f"{one}.peak_ops_per_s", "peak rate", peak, shown, meaning, group)
    for region in found.fit.regions:
        rate = region.bandwidth_bytes_per_s
        shown = _UNKNOWN if rate is None else f"{offer.bandwidths[region.name]} a second"
        name = f"{one}.bandwidth_bytes_per_s.{region.name}"
        yield Readout(name, f"bandwidth of {region.name}", rate, shown, f"holds {' and '.join(region.holds)}", group)
    for name, label, value, meaning in (
        ("compute_s", _COMPUTING, floor.compute_s, "operations over the peak rate"),
        ("memory_s", _MOVING, floor.memory_s, "bytes over the bandwidth of their memory"),
        (
            "floor_s",
            "floor",
            floor.floor_s,
            f"the longer of the two that are known: from {floor_basis(floor)}",
        ),
    ):
        yield Readout(f"{one}.{name}", label, value, _time(value, found), meaning, group)
    bound = _bound(floor)
    yield Readout(f"{one}.bound", "bound by", bound, bound or _UNKNOWN, "which of the two is longer", group)
    yield from _expected(one, found, group)
    ridge = floor.ridge_ops_per_byte
    at = _UNKNOWN if floor.intensity_ops_per_byte is None else significant(floor.intensity_ops_per_byte)
    shown = _UNKNOWN if ridge is None else f"{_unsure(found)}{significant(ridge)} ops/byte"
    meaning = f"where both times are equal; the network has {at} ops/byte"
    yield Readout(f"{one}.ridge_ops_per_byte", "ridge", ridge, shown, meaning, group)
    yield Readout(
        f"{one}.verdict", "room for it", found.fit.verdict, found.fit.verdict, "in the device's memories", group
    )


def _expected(one: str, found: Estimate, group: str) -> Iterator[Readout]:
    """What is expected with each library of kernels that was measured there: no floor, and no measurement of this network."""
    for each in found.expected:
        if each.time_s is not None:
            label, meaning = f"expected, {each.kernels}", basis(each)
            yield Readout(f"{one}.expected_s.{each.kernels}", label, each.time_s, expected_time(each), meaning, group)


def _time(value: float | None, found: Estimate) -> str:
    return _UNKNOWN if value is None else lower_bound(f"{_unsure(found)}{seconds(value)}", found.latency.exact)


def _unsure(*found: Estimate) -> str:
    """The tilde before what rests on a figure of a device that is not verified."""
    return "" if all(one.latency.verified for one in found) else "~"


def _bound(floor: Latency) -> str | None:
    """Which of the two times is longer; of two lower bounds nobody knows."""
    return floor.bound if floor.exact else None


def _sentences(found: Mapping[str, Estimate]) -> Iterator[str]:
    for one in found.values():
        name, floor = one.conditions.hardware, one.latency
        bound = _bound(floor)
        if bound is None:
            yield f"on {name} it is not known whether computing or moving bytes takes longer"
        else:
            yield f"on {name} {_BOUND[bound]} takes longer: it is {bound}-bound"
    first, second = found.values()
    if (
        first.device != second.device and _bound(first.latency) and _bound(second.latency)
    ):  # both floors have both times
        times = f"{_unsure(first, second)}{significant(_floor(second) / _floor(first))}"
        yield f"the floor on {second.conditions.hardware} is {times} times that on {first.conditions.hardware}"


def _floor(found: Estimate) -> float:
    assert found.latency.floor_s, "what is bound by one of its times has a floor"
    return found.latency.floor_s


def _measured(found: Estimate, measured_s: float) -> tuple[list[Readout], list[str]]:
    """The utilisation, and what it says: above 1 it says that something is other than it was given."""
    group, floor_s = f"Measured on {found.conditions.hardware}", found.latency.floor_s
    part = utilisation(floor_s, measured_s)
    times = None if floor_s is None else measured_s / floor_s
    readouts = [
        Readout("measured_s", "measured", measured_s, seconds(measured_s), "as it was entered", group),
        Readout(
            "utilisation",
            "utilisation",
            part,
            _UNKNOWN
            if part is None
            else lower_bound(f"{_unsure(found)}{significant(100 * part)} %", found.latency.exact),
            "floor over measured time",
            group,
        ),
        Readout(
            "measured_per_floor",
            "measured over floor",
            times,
            _UNKNOWN
            if times is None
            else f"{'' if found.latency.exact else '<= '}{_unsure(found)}{significant(times)}",
            "its inverse: often 2 to 10, and much more for small layers on large machines",
            group,
        ),
    ]
    if part is not None and part > 1:
        said = (
            "the measured time is below the floor, which no device is: the measurement, its conditions or a figure of the data "
            "sheet is another than said here"
        )
        return readouts, [said]
    return readouts, []


def _fractions(needs: Demand, found: Mapping[str, Estimate], offers: Mapping[str, _Offer]) -> Plot:
    moved = needs.stored_read_bytes + needs.input_bytes + needs.output_bytes
    rows: list[Mapping[str, Figure]] = []
    for order, (name, one) in enumerate(found.items()):
        of: Mapping[str, Figure] = {"device": one.conditions.hardware, "order": order}
        peak = one.latency.peak_ops_per_s
        over = _UNKNOWN if peak is None else f"{offers[name].peak} ops/s"
        for x, above, below, time in (
            (0, f"{short(needs.ops)} ops", over, one.latency.compute_s),
            (1, decimal_bytes(moved), _bandwidth(one, offers[name]), one.latency.memory_s),
        ):
            is_floor = time is not None and time == one.latency.floor_s
            says = f"= {_time(time, one)}{', the floor' if is_floor else ''}"
            rows.append({**of, "x": x, "y": 1, "part": _NETWORK, "text": above})
            rows.append({**of, "x": x, "y": -1, "part": _HARDWARE, "text": below})
            rows.append({**of, "x": x + 0.27, "y": 0, "part": "time", "text": says})
    said = (
        f"{one.conditions.hardware}: computing {_time(one.latency.compute_s, one)}, "
        f"moving bytes {_time(one.latency.memory_s, one)}"
        for one in found.values()
    )
    return Plot("fractions", "What is asked over what is offered", _FRACTIONS, tuple(rows), "; ".join(said))


def _bandwidth(found: Estimate, offer: _Offer) -> str:
    """That of the memory; several have each their own, which stand among the readouts."""
    rates = [region.bandwidth_bytes_per_s for region in found.fit.regions]
    if len(rates) > 1 and any(rates):
        return f"{len(rates)} bandwidths"
    return f"{offer.bandwidths[found.fit.regions[0].name]}/s" if rates and rates[0] is not None else _UNKNOWN


def _bars(name: str, found: Estimate) -> Iterator[Plot]:
    """Two bars that begin together and lie over each other: they do not add up, the longer is the floor."""
    floor = found.latency
    rows: list[Mapping[str, Figure]] = [
        {"part": part, "ms": time * 1000}
        for part, time in ((_COMPUTING, floor.compute_s), (_MOVING, floor.memory_s))
        if time is not None
    ]
    bound = _bound(floor)
    said = (
        f"{_BOUND[bound]} reaches {_time(floor.floor_s, found)}" if bound else "which of the two is longer is not known"
    )
    title = f"Both at once on {found.conditions.hardware}"
    if rows:
        spec = {**_BARS, "data": {"name": f"bars_{name}"}}
        yield Plot(f"bars_{name}", title, spec, tuple(rows), said)


_ROW: Final[Mapping[str, Any]] = {
    "field": "device",
    "type": "nominal",
    "title": None,
    "sort": {"field": "order", "op": "min"},
    "header": {"labelOrient": "top", "labelAnchor": "start", "labelFontSize": 12},
}
_FRACTIONS: Final[Mapping[str, Any]] = {
    "data": {"name": "fractions"},
    "facet": {"row": _ROW},
    "spec": {
        "width": 700,
        "height": 90,
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": [-0.28, 1.9], "zero": False}},
            "y": {"field": "y", "type": "quantitative", "axis": None, "scale": {"domain": [-2, 2]}},
        },
        "layer": [
            {
                "mark": {"type": "text", "fontSize": 19, "fontWeight": "bold"},
                "transform": [{"filter": "datum.part !== 'time'"}],
                "encoding": {
                    "text": {"field": "text"},
                    "color": {
                        "field": "part",
                        "type": "nominal",
                        "title": None,
                        "legend": {"orient": "top"},
                        "scale": {"domain": [_NETWORK, _HARDWARE], "range": [PALETTE[0], ACCENT]},
                    },
                },
            },
            {
                "mark": {"type": "text", "fontSize": 14, "align": "left", "color": "currentColor"},
                "transform": [{"filter": "datum.part === 'time'"}],
                "encoding": {"text": {"field": "text"}},
            },
            {
                "mark": {"type": "rule", "color": MUTED, "strokeWidth": 2},
                "transform": [
                    {"filter": f"datum.part === '{_NETWORK}'"},
                    {"calculate": "datum.x - 0.24", "as": "begin"},
                    {"calculate": "datum.x + 0.24", "as": "end"},
                ],
                "encoding": {
                    "x": {"field": "begin", "type": "quantitative"},
                    "x2": {"field": "end"},
                    "y": {"datum": 0, "type": "quantitative"},
                },
            },
        ],
    },
}
_BARS: Final[Mapping[str, Any]] = {
    "width": 700,
    "height": 44,
    "mark": {"type": "bar", "opacity": 0.8},
    "encoding": {
        "x": {"field": "ms", "type": "quantitative", "title": "milliseconds", "stack": None, "axis": {"tickCount": 8}},
        "size": {"condition": {"test": f"datum.part === '{_COMPUTING}'", "value": 38}, "value": 16},
        "color": {
            "field": "part",
            "type": "nominal",
            "title": None,
            "legend": {"orient": "top"},
            "scale": {"domain": [_COMPUTING, _MOVING], "range": [PALETTE[1], PALETTE[2]]},
        },
        "tooltip": [
            {"field": "part", "type": "nominal"},
            {"field": "ms", "type": "quantitative", "title": "milliseconds"},
        ],
    },
}

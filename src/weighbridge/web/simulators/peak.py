"""The peak sweep: a network runs layer by layer, and what is alive at each step is compared with an SRAM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final

from weighbridge.devices.device import ACTIVATIONS
from weighbridge.errors import BadSpec
from weighbridge.estimates.needs import DOES_NOT_FIT, FITS, Need, Room, room
from weighbridge.memory import ARENA, IN_PLACE, NHCWB16, POLICIES, MemoryPlan, TensorSpan
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.peaks import LIVE, peaks
from weighbridge.report.record import Report
from weighbridge.units import exact
from weighbridge.web.boards import OWN, Budget, board_choice, board_named, budget_of
from weighbridge.web.controls import Choice, Control, Number, State
from weighbridge.web.figures import UNKNOWN, count, size, sized, words
from weighbridge.web.networks import network_choice, weighed
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["peak"]

_KIB: Final = 1024
_MOST_STEPS: Final = 73
"""Of all textbook networks, in ResNet-50."""
_POLICIES: Final[Mapping[str, str]] = {
    LIVE: "live: everything still to be read, residuals too",
    "pair": "pair: what the layer reads and writes",
    "held": "held: live, and the input of each block until it is done",
    f"{LIVE}{IN_PLACE}": "live, written in place where that can be",
    f"pair{IN_PLACE}": "pair, written in place where that can be",
    f"held{IN_PLACE}": "held, written in place where that can be",
    ARENA: "arena_tflm: as TensorFlow Lite Micro packs it",
    NHCWB16: "nhcwb16_vela: as Vela lays it out for an Ethos-U",
}
"""The policies that have a figure at every step of a textbook network."""


def peak() -> Simulator:
    """The simulator; its presets are AlexNet's two first steps, and networks whose peak is not where one looks for it."""
    return Simulator(
        "peak",
        "Peak memory, layer by layer",
        "At which layer are most bytes alive, and is there room for them?",
        "While a layer runs, what it reads and what it writes are in memory, and whatever a later layer still has to read. Move the "
        "step and see what comes and goes; the largest step is the peak, and the peak is what has to fit.",
        tuple(_controls()),
        _answer,
        (
            Preset("AlexNet at conv1, its peak", {"network": "alexnet", "step": 1}),
            Preset("AlexNet at pool1: the image is gone", {"network": "alexnet", "step": 2}),
            Preset("ResNet-18: a residual is still to be read", {"network": "resnet18", "step": 4}),
            Preset(
                "MobileNetV2, depthwise in place, 256 KiB",
                {"network": "mobilenet_v2", "step": 4, "policy": f"pair{IN_PLACE}", "budget_kib": 256},
            ),
            Preset("MCUNet for 512 KiB", {"network": "mcunet_in4", "step": 4, "on": "stm32h743"}),
        ),
    )


def _controls() -> Iterator[Control]:
    yield network_choice("alexnet")
    yield Number(
        "step",
        "step",
        1,
        1,
        _MOST_STEPS,
        meaning="The layer that runs; beyond the last one the run is over, and the last one is shown.",
        plays=True,
    )
    yield Number("bits", "bit width", 8, 1, 64, 32, unit="bits", meaning="Of every weight and every activation.")
    yield Choice("policy", "policy", LIVE, _POLICIES, "What is called alive while a layer runs.")
    yield board_choice(OWN, "no device: the budget below")
    yield Number("budget_kib", "SRAM budget", 320, 1, 2**30, 1024, unit="KiB", meaning="In units of 1,024 B.")


class _Sweep(NamedTuple):
    """A network at one of its steps: ``place`` counts from 0."""

    report: Report
    policy: str
    place: int
    budget: Budget

    @property
    def memory(self) -> MemoryPlan:
        return self.report.memory

    @property
    def profile(self) -> tuple[int | None, ...]:
        return self.memory.profile[self.policy]

    @property
    def running(self) -> tuple[int | None, ...]:
        """The largest up to each step; None from the first unknown on."""
        return tuple(accumulate(self.profile, _larger))

    @property
    def alive(self) -> tuple[TensorSpan, ...]:
        """What ``live`` has in memory at this step."""
        return tuple(one for one in self.memory.tensors if one.first <= self.place <= one.last)

    def name(self, place: int) -> str:
        return self.report.nodes[place].name

    def room_for(self, alive_bytes: int | None) -> Room:
        need = Need(ACTIVATIONS, alive_bytes, self.memory.exact and alive_bytes is not None, policy=self.policy)
        return room([need], self.budget.available_bytes)


def _answer(state: State) -> Answer:
    report, policy = weighed(str(state["network"]), int(state["bits"])), str(state["policy"])
    if policy not in report.memory.profile:
        reason = report.memory.inapplicable.get(policy, "it has no profile here")
        raise BadSpec(f"{policy} does not apply: {reason}", where="policy", hint="choose another policy, or other bits")
    place = min(int(state["step"]), len(report.nodes)) - 1
    sweep = _Sweep(report, policy, place, _budget(state))
    return Answer(
        (*_here(sweep), *_whole(sweep)),
        tuple(_sentences(sweep, is_over=int(state["step"]) > len(report.nodes))),
        (_bars(sweep), _lives(sweep)),
        (_table(sweep),),
        unused=("budget_kib",) if state["on"] != OWN else (),
        notes=(*_assumptions(sweep), *sweep.budget.notes),
    )


def _budget(state: State) -> Budget:
    if state["on"] == OWN:
        return Budget(int(state["budget_kib"]) * _KIB, "the SRAM budget")
    return budget_of(board_named(str(state["on"])), ACTIVATIONS)


def _here(sweep: _Sweep) -> Iterator[Readout]:
    group = "At this step"
    node = sweep.report.nodes[sweep.place]
    alive, so_far = sweep.profile[sweep.place], sweep.running[sweep.place]
    yield words("node", "layer", node.name, group, f"{node.operator}, step {sweep.place + 1} of {len(sweep.profile)}")
    yield size("alive_bytes", "alive", alive, group, f"under the policy {sweep.policy}")
    yield count("alive_tensors", "tensors alive", len(sweep.alive), group, f"under the policy {LIVE}")
    yield size("running_peak_bytes", "peak so far", so_far, group, "the largest of the steps up to this one")
    at = None if so_far is None else sweep.name(sweep.profile.index(so_far))
    yield words("running_peak_node", "reached at", at, group)


def _whole(sweep: _Sweep) -> Iterator[Readout]:
    group = "Of the whole run"
    memory, policy = sweep.memory, sweep.policy
    found = sweep.room_for(memory.peak_bytes[policy])
    yield size("peak_bytes", "peak", memory.peak_bytes[policy], group)
    yield words("peak_node", "set by", memory.peak_node[policy], group)
    yield size("available_bytes", "room", sweep.budget.available_bytes, group, sweep.budget.title)
    yield words("verdict", "verdict", found.verdict, group, "the peak beside the room; nothing else is in it")
    yield size("short_bytes", "too many", found.short_bytes, group)
    over = [sweep.room_for(alive).verdict for alive in sweep.profile]
    steps = None if None in sweep.profile else over.count(DOES_NOT_FIT)
    yield count("steps_over", "steps above it", steps, group, f"of {len(over)}")


def _sentences(sweep: _Sweep, *, is_over: bool) -> Iterator[str]:
    steps, alive = len(sweep.profile), sweep.profile[sweep.place]
    over = "the run is over; at its end, " if is_over else ""
    shown = UNKNOWN if alive is None else exact(alive)
    yield f"{over}{sweep.name(sweep.place)}, step {sweep.place + 1} of {steps}, has {shown} B alive"
    top = sweep.memory.peak_bytes[sweep.policy]
    found = sweep.room_for(top)
    said = {
        FITS: f"the peak fits {sweep.budget.title}",
        DOES_NOT_FIT: f"the peak does not fit {sweep.budget.title}: {exact(found.short_bytes or 0)} B too many",
    }
    yield said.get(found.verdict, f"whether the peak fits {sweep.budget.title} is unknown")


def _assumptions(sweep: _Sweep) -> Iterator[str]:
    """What the policy calls alive, and what holds of all of them."""
    others = {policy.removesuffix(IN_PLACE) for policy in POLICIES} - {sweep.policy.removesuffix(IN_PLACE)}
    if not sweep.policy.endswith(IN_PLACE):
        others.add(f"*{IN_PLACE}")
    for topic, said in peaks(sweep.memory).assumptions:
        if topic not in others:
            yield f"{topic}: {said}"


def _table(sweep: _Sweep) -> Grid:
    rows = tuple(
        GridRow(
            (
                one.name,
                UNKNOWN if one.bytes is None else exact(one.bytes),
                sweep.name(one.first),
                sweep.name(one.last),
            )
        )
        for one in sweep.alive
    )
    columns = (Column("tensor"), Column("bytes", is_number=True), Column("from"), Column("until"))
    together, alive = sweep.memory.profile[LIVE][sweep.place], sweep.profile[sweep.place]
    shown = [UNKNOWN if value is None else exact(value) for value in (together, alive)]
    notes = [f"together {shown[0]} B"]
    if together != alive:
        notes.append(f"{sweep.policy} calls {shown[1]} B alive here")
    return Grid(f"Alive while {sweep.name(sweep.place)} runs, under the policy {LIVE}", columns, rows, tuple(notes))


_STATES: Final = {"this step": ACCENT, "other steps": PALETTE[0], "peak so far": PALETTE[1], "room": MUTED}
_COLOURS: Final = {
    "type": "nominal",
    "scale": {"domain": list(_STATES), "range": list(_STATES.values())},
    "legend": {"title": None, "orient": "bottom"},
}
_STEPS: Final = {"field": "step", "type": "ordinal", "title": "step", "axis": {"labelAngle": 0}}


def _bars(sweep: _Sweep) -> Plot:
    running = sweep.running
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "step": place + 1,
            "node": node.name,
            "alive_bytes": sweep.profile[place],
            "state": "this step" if place == sweep.place else "other steps",
            "running_peak_bytes": running[place] if place <= sweep.place else None,
            "room_bytes": sweep.budget.available_bytes,
        }
        for place, node in enumerate(sweep.report.nodes)
    )
    top, at = sweep.memory.peak_bytes[sweep.policy], sweep.memory.peak_node[sweep.policy]
    said = "the peak is not known" if top is None else f"the peak is {sized(top)}, at {at}"
    here = sweep.profile[sweep.place]
    shown = UNKNOWN if here is None else exact(here)
    return Plot(
        "alive",
        "Bytes alive at each step",
        _BARS,
        rows,
        f"a bar a step; {sweep.name(sweep.place)} has {shown} B, {said}; the line is at {exact(sweep.budget.available_bytes)} B",
    )


_BARS: Final[Mapping[str, Any]] = {
    "data": {"name": "alive"},
    "width": 700,
    "height": 240,
    "layer": [
        {
            "mark": {"type": "bar"},
            "encoding": {
                "x": _STEPS,
                "y": {
                    "field": "alive_bytes",
                    "type": "quantitative",
                    "title": "bytes alive",
                    "axis": {"format": "~s"},
                },
                "color": {"field": "state", **_COLOURS},
                "tooltip": [
                    {"field": "step", "type": "ordinal"},
                    {"field": "node", "type": "nominal", "title": "layer"},
                    {"field": "alive_bytes", "type": "quantitative", "title": "alive (B)", "format": ","},
                    {"field": "running_peak_bytes", "type": "quantitative", "title": "peak so far (B)", "format": ","},
                ],
            },
        },
        {
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
            "encoding": {
                "x": _STEPS,
                "y": {"field": "running_peak_bytes", "type": "quantitative"},
                "color": {"datum": "peak so far", **_COLOURS},
            },
        },
        {
            "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2},
            "encoding": {
                "y": {"aggregate": "max", "field": "room_bytes", "type": "quantitative"},
                "color": {"datum": "room", **_COLOURS},
            },
        },
    ],
}


def _lives(sweep: _Sweep) -> Plot:
    """A bar for each tensor, from the step that makes it to the last that reads it."""
    alive = {one.name for one in sweep.alive}
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "tensor": one.name,
            "begin": one.first + 0.5,
            "end": one.last + 1.5,
            "bytes": one.bytes,
            "state": "this step" if one.name in alive else "other steps",
        }
        for one in sweep.memory.tensors
    )
    named = ", ".join(one.name for one in sweep.alive)
    return Plot(
        "lives",
        "From when to when each tensor is alive",
        _LIVES,
        rows,
        f"a bar a tensor, under the policy {LIVE}, from the step that makes it to the last that reads it; at step "
        f"{sweep.place + 1}: {named}",
    )


_LIVES: Final[Mapping[str, Any]] = {
    "data": {"name": "lives"},
    "width": 600,
    "height": {"step": 13},
    "mark": {"type": "bar"},
    "encoding": {
        "x": {
            "field": "begin",
            "type": "quantitative",
            "title": "step",
            "scale": {"zero": False, "nice": False},
            "axis": {"tickMinStep": 1, "format": "d"},
        },
        "x2": {"field": "end"},
        "y": {"field": "tensor", "type": "nominal", "sort": None, "title": None},
        "color": {
            "field": "state",
            "type": "nominal",
            "scale": {"domain": ["this step", "other steps"], "range": [ACCENT, PALETTE[0]]},
            "legend": None,
        },
        "tooltip": [
            {"field": "tensor", "type": "nominal"},
            {"field": "bytes", "type": "quantitative", "title": "B", "format": ","},
        ],
    },
}


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)

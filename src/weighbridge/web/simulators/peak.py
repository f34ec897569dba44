"""The peak sweep: a network runs layer by layer, and what is alive at each step is compared with an SRAM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Final

from weighbridge.devices.device import ACTIVATIONS
from weighbridge.errors import BadSpec
from weighbridge.estimates.needs import DOES_NOT_FIT, FITS
from weighbridge.memory import ARENA, IN_PLACE, NHCWB16, POLICIES
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.peaks import LIVE, peaks
from weighbridge.units import exact
from weighbridge.web.boards import OWN, Budget, board_choice, board_named, budget_of
from weighbridge.web.controls import Choice, Control, Number, State
from weighbridge.web.figures import UNKNOWN, count, size, words
from weighbridge.web.networks import TEXTBOOK, Networks, network_choice
from weighbridge.web.simulator import Answer, Preset, Readout, Simulator
from weighbridge.web.simulators.peak_charts import bars, lives
from weighbridge.web.sweep import Planned, Sweep, planned

__all__ = ["peak"]

_KIB: Final = 1024
_MOST_STEPS: Final = 5_000
"""Of all networks that can be chosen; the slider ends at the last step of the one that is."""
_LARGEST_BATCH: Final = 65_536
_PLANS: Final = 16
"""Plans that are kept, of a network in a batch and a width: what a step does not change."""
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


def peak(networks: Networks = TEXTBOOK) -> Simulator:
    """The simulator, with those of ``networks`` to choose; its presets are AlexNet's two first steps, and networks whose peak is not
    where one looks for it.
    """
    kept = lru_cache(_PLANS)(partial(planned, networks))
    return Simulator(
        "peak",
        "Peak memory, layer by layer",
        "At which layer are most bytes alive, and is there room for them?",
        "While a layer runs, what it reads and what it writes are in memory, and whatever a later layer still has to read. Move the "
        "step and see what comes and goes; the largest step is the peak, and the peak is what has to fit.",
        tuple(_controls(networks)),
        partial(_answer, kept),
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


def _controls(networks: Networks) -> Iterator[Control]:
    yield network_choice("alexnet", networks=networks)
    yield Number(
        "step",
        "step",
        1,
        1,
        _MOST_STEPS,
        meaning="The layer that runs; beyond the last one the run is over, and the last one is shown.",
        plays=True,
    )
    meaning = "Inputs at once; a file that has a batch of its own keeps it."
    yield Number("batch", "batch", 1, 1, _LARGEST_BATCH, 64, meaning=meaning)
    yield Number("bits", "bit width", 8, 1, 64, 32, unit="bits", meaning="Of every weight and every activation.")
    yield Choice("policy", "policy", LIVE, _POLICIES, "What is called alive while a layer runs.")
    yield board_choice(OWN, "no device: the budget below")
    yield Number("budget_kib", "SRAM budget", 320, 1, 2**30, 1024, unit="KiB", meaning="In units of 1,024 B.")


def _answer(kept: Callable[..., Planned], state: State) -> Answer:
    policy = str(state["policy"])
    found = kept(str(state["network"]), int(state["batch"]), int(state["bits"]), of_runtimes=policy in (ARENA, NHCWB16))
    if policy not in found.memory.profile:
        reason = found.memory.inapplicable.get(policy, "it has no profile here")
        raise BadSpec(f"{policy} does not apply: {reason}", where="policy", hint="choose another policy, or other bits")
    steps = len(found.steps)
    sweep = Sweep(found.steps, found.memory, policy, min(int(state["step"]), steps) - 1, _budget(state))
    return Answer(
        (*_here(sweep), *_whole(sweep)),
        tuple(_sentences(sweep, is_over=int(state["step"]) > steps)),
        (bars(sweep), lives(sweep)),
        (_table(sweep),),
        unused=tuple(_unused(state, found)),
        reaches={"step": steps},
        notes=(*_assumptions(sweep), *found.memory.notes, *sweep.budget.notes),
    )


def _unused(state: State, found: Planned) -> Iterator[str]:
    if not found.takes_batch:
        yield "batch"
    if state["on"] != OWN:
        yield "budget_kib"


def _budget(state: State) -> Budget:
    if state["on"] == OWN:
        return Budget(int(state["budget_kib"]) * _KIB, "the SRAM budget")
    return budget_of(board_named(str(state["on"])), ACTIVATIONS)


def _here(sweep: Sweep) -> Iterator[Readout]:
    group = "At this step"
    node = sweep.steps[sweep.place]
    alive, so_far = sweep.profile[sweep.place], sweep.running[sweep.place]
    yield words("node", "layer", node.name, group, f"{node.operator}, step {sweep.place + 1} of {len(sweep.profile)}")
    yield size("alive_bytes", "alive", alive, group, f"under the policy {sweep.policy}")
    yield count("alive_tensors", "tensors alive", len(sweep.alive), group, f"under the policy {LIVE}")
    yield size("running_peak_bytes", "peak so far", so_far, group, "the largest of the steps up to this one")
    at = None if so_far is None else sweep.name(sweep.profile.index(so_far))
    yield words("running_peak_node", "reached at", at, group)


def _whole(sweep: Sweep) -> Iterator[Readout]:
    group = "Of the whole run"
    memory, policy = sweep.memory, sweep.policy
    found = sweep.room_for(memory.peak_bytes[policy])
    yield size("peak_bytes", "peak", memory.peak_bytes[policy], group)
    yield words("peak_node", "set by", memory.peak_node[policy], group)
    yield size("available_bytes", "room", sweep.budget.available_bytes, group, sweep.budget.title)
    yield words("verdict", "verdict", found.verdict, group, "the peak beside the room; nothing else is in it")
    yield size("short_bytes", "too many", found.short_bytes, group)
    times = Counter(sweep.profile)  # of a thousand steps many have the same alive
    over = sum(number for alive, number in times.items() if sweep.room_for(alive).verdict == DOES_NOT_FIT)
    yield count("steps_over", "steps above it", None if None in times else over, group, f"of {len(sweep.profile)}")


def _sentences(sweep: Sweep, *, is_over: bool) -> Iterator[str]:
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


def _assumptions(sweep: Sweep) -> Iterator[str]:
    """What the policy calls alive, and what holds of all of them."""
    others = {policy.removesuffix(IN_PLACE) for policy in POLICIES} - {sweep.policy.removesuffix(IN_PLACE)}
    if not sweep.policy.endswith(IN_PLACE):
        others.add(f"*{IN_PLACE}")
    for topic, said in peaks(sweep.memory).assumptions:
        if topic not in others:
            yield f"{topic}: {said}"


def _table(sweep: Sweep) -> Grid:
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

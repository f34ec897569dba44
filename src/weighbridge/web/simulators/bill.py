"""A network's bill: the energy of its arithmetic and of what it fetches, and how long a battery pays for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from typing import Any, Final

from weighbridge.devices.catalogue import find_energy
from weighbridge.devices.device import EnergyTable
from weighbridge.estimates import Battery, Bill, LevelEnergy
from weighbridge.estimates import bill as billed
from weighbridge.report.charts.theme import PALETTE
from weighbridge.report.costs import bill as table_of
from weighbridge.report.headlines import lower_bound
from weighbridge.units import exact, in_full, joules, significant, stated
from weighbridge.web.controls import Choice, Control, Number, State, Switch
from weighbridge.web.demands import Asking, asking, batch_number
from weighbridge.web.figures import UNKNOWN, count
from weighbridge.web.networks import TEXTBOOK, Networks, network_choice
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["bill"]

_TABLE: Final = "45nm"
_DRAM, _SRAM = "DRAM", "SRAM"
_PRECISIONS: Final = ("float32", "int32", "float16", "int8")
"""Those of the table, and two that it has no operation of."""
_PARTS: Final = {"arithmetic": PALETTE[0], "weights": PALETTE[3], "activations": PALETTE[2]}


def bill(networks: Networks = TEXTBOOK) -> Simulator:
    """The simulator, with those of ``networks`` to choose; its presets are AlexNet from one memory and from the other."""
    return Simulator(
        "bill",
        "A network's bill",
        "What does an inference draw, and how many does a battery pay for?",
        "The bill has two parts: the multiplications and additions of all MACs, and every weight and activation fetched once. "
        "Move what is fetched from DRAM to SRAM and see which part was the larger.",
        tuple(_controls(networks)),
        partial(_answer, asking(networks)),
        (
            Preset("AlexNet, from DRAM", {"network": "alexnet"}),
            Preset("AlexNet, from SRAM", {"network": "alexnet", "from_sram": True}),
            Preset(
                "AlexNet with int8: the table has no operation of 8 bits", {"network": "alexnet", "precision": "int8"}
            ),
            Preset("AlexNet, a batch of 32 shares what is fetched of the weights", {"network": "alexnet", "batch": 32}),
            Preset("MobileNetV2, from DRAM", {"network": "mobilenet_v2"}),
        ),
    )


def _controls(networks: Networks) -> Iterator[Control]:
    yield network_choice("alexnet", networks=networks)
    precisions = {name: name for name in _PRECISIONS}
    yield Choice("precision", "precision", "float32", precisions, "Of weights, of activations and of the arithmetic.")
    yield Switch(
        "from_sram",
        "from SRAM, not DRAM",
        False,
        "Where weights and activations are fetched from, as if all had room there.",
    )
    yield batch_number()
    yield Number(
        "capacity_mah", "battery", 2000, 1, 10**9, 10_000, unit="mAh", is_log=True, meaning="What it holds when full."
    )
    yield Number(
        "voltage_v", "voltage", 3.7, 0.1, 10**6, 24, step=0.1, unit="V", meaning="Charge is energy over voltage."
    )


@cache
def _table() -> EnergyTable:
    return find_energy(_TABLE)


def _answer(ask: Asking, state: State) -> Answer:
    precision = str(state["precision"])
    battery = Battery(Fraction(int(state["capacity_mah"])), stated(float(state["voltage_v"])))
    needs, batch, unused = ask(str(state["network"]), int(state["batch"]), precision)
    found = billed(needs, _table(), precision, battery, batch)
    levels = {level.level: level for level in found.levels}
    level = levels[_SRAM if state["from_sram"] else _DRAM]
    every = table_of(found)
    return Answer(
        (*_parts(found, level), *_whole(found, level, batch), *_charge(found, level, battery)),
        (_sentence(found, level),),
        (_plot(found, level),),
        () if every is None else (every,),
        unused=unused,
    )


def _parts(found: Bill, level: LevelEnergy) -> Iterator[Readout]:
    group = f"Arithmetic, {found.precision or 'precision unknown'}"
    yield _energy("multiply_j", "multiplications", found.multiply_j, found, group)
    yield _energy("add_j", "additions", found.add_j, found, group)
    yield _energy("arithmetic_j", "arithmetic", found.arithmetic_j, found, group, "of all MACs")
    group = f"Fetched once from {level.level}"
    yield _energy("weights_j", "weights", level.weights_j, found, group)
    yield _energy(
        "activations_j", "activations", level.activations_j, found, group, "the inputs and every layer's outputs"
    )
    yield _energy("moved_j", "fetched", level.moved_j, found, group, "weights and activations")


def _whole(found: Bill, level: LevelEnergy, batch: int | None) -> Iterator[Readout]:
    group = "In all"
    inputs = "as many inputs as its file has" if batch is None else f"{exact(batch)} inputs"
    run = "a run of one input" if batch == 1 else f"a run of {inputs}"
    yield _energy("total_j", "one run", level.total_j, found, group, run)
    each = None if level.total_j is None or batch is None else level.total_j / batch
    yield _energy("input_j", "for each input", each, found, group, "weights are fetched once a run, whatever its batch")
    times = _times(found, level)
    shown = UNKNOWN if times is None else f"{significant(times)} times"
    yield Readout("moved_over_arithmetic", "fetching over arithmetic", times, shown, "", group)


def _charge(found: Bill, level: LevelEnergy, battery: Battery) -> Iterator[Readout]:
    group = f"From a battery of {in_full(battery.capacity_mah)} mAh at {in_full(battery.voltage_v)} V"
    charge = level.charge
    taken = None if charge is None else charge.charge_mah
    shown = UNKNOWN if taken is None else lower_bound(f"{significant(taken)} mAh", found.exact)
    yield Readout("charge_mah", "charge of a run", taken, shown, "energy over voltage", group)
    yield count(
        "inferences",
        "inferences",
        None if charge is None else charge.inferences,
        group,
        "at most: it pays for nothing else",
    )


def _energy(name: str, label: str, value: float | None, found: Bill, group: str, meaning: str = "") -> Readout:
    shown = UNKNOWN if value is None else lower_bound(joules(value), found.exact)
    return Readout(name, label, value, shown, meaning, group)


def _times(found: Bill, level: LevelEnergy) -> float | None:
    """Fetching over arithmetic; of two lower bounds nobody knows."""
    if not found.exact or level.moved_j is None or not found.arithmetic_j:
        return None
    return level.moved_j / found.arithmetic_j


def _sentence(found: Bill, level: LevelEnergy) -> str:
    if level.moved_j is None:
        return f"what is fetched from {level.level} is not known"
    if not found.exact:
        return (
            f"what fetching from {level.level} takes over the arithmetic is not known: counts of both are lower bounds"
        )
    times = _times(found, level)
    if times is None:
        return f"fetching from {level.level} takes {joules(level.moved_j)}; what the arithmetic takes is not known"
    larger, smaller = ("fetching", "the arithmetic") if times >= 1 else ("the arithmetic", "fetching")
    if not times:
        return f"from {level.level} nothing is fetched: the arithmetic takes all"
    return f"from {level.level} {larger} takes {significant(max(times, 1 / times))} times what {smaller} does"


def _plot(found: Bill, level: LevelEnergy) -> Plot:
    rows = tuple(_rows(found, level))
    most = max(rows, key=lambda row: float(row["joules"] or 0), default=None)
    said = (
        "nothing is known" if most is None else f"the most is for {most['part']} from {most['level']}, {most['energy']}"
    )
    lacking = "" if found.arithmetic_j is not None else "; the arithmetic is not known and has no bar"
    return Plot("bill", "The same from each level of memory", _SPEC, rows, f"{said}{lacking}")


def _rows(found: Bill, chosen: LevelEnergy) -> Iterator[Mapping[str, Figure]]:
    for level in found.levels:
        amounts = {"arithmetic": found.arithmetic_j, "weights": level.weights_j, "activations": level.activations_j}
        for place, (part, size) in enumerate(amounts.items()):
            if size is not None:
                yield {
                    "level": level.level,
                    "part": part,
                    "place": place,
                    "joules": size,
                    "energy": lower_bound(joules(size), found.exact),
                    "chosen": level is chosen,
                }


_SPEC: Final[Mapping[str, Any]] = {
    "data": {"name": "bill"},
    "width": 600,
    "height": {"step": 42},
    "mark": {"type": "bar", "height": 26, "aria": False},
    "encoding": {
        "x": {
            "field": "joules",
            "type": "quantitative",
            "title": "energy of a run (J)",
            "axis": {
                "labelExpr": "replace(format(datum.value, '~s'), regexp('([a-zA-Zµ]?)$'), ' $1') + 'J'",
                "tickCount": 6,
            },
        },
        "y": {"field": "level", "type": "nominal", "sort": None, "title": None},
        "order": {"field": "place", "type": "quantitative"},
        "color": {
            "field": "part",
            "type": "nominal",
            "scale": {"domain": list(_PARTS), "range": list(_PARTS.values())},
            "legend": {"title": None, "orient": "bottom"},
        },
        "opacity": {"condition": {"test": "datum.chosen", "value": 1}, "value": 0.4},
        "tooltip": [
            {"field": "level", "type": "nominal", "title": "from"},
            {"field": "part", "type": "nominal", "title": "for"},
            {"field": "energy", "type": "nominal", "title": "energy"},
        ],
    },
}

"""The simulator of a network's bill: the lecture's millijoules, and every figure that of ``weigh`` with the same table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from weighbridge import weigh
from weighbridge.textbook import names
from weighbridge.web.simulator import Answer, Figure, answered
from weighbridge.web.simulators.bill import bill

SIMULATOR = bill()
DEFAULTS = {one.name: one.default for one in SIMULATOR.controls}


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def readouts(**state: object) -> dict[str, Figure]:
    return {one.name: one.value for one in answer(**state).readouts}


def test_the_bill_of_the_lecture(lecture: Mapping[str, Any]) -> None:
    figures = lecture["energy_45nm_0V9"]["alexnet_float32_mJ"]
    dram, sram = readouts(), readouts(from_sram=1)
    millijoules = {name: round(float(value or 0) * 1000, 3) for name, value in dram.items()}
    assert millijoules["arithmetic_j"] == figures["arithmetic"]
    assert millijoules["weights_j"] == figures["weights_dram"]
    assert millijoules["activations_j"] == figures["activations_dram"]
    assert round(float(sram["moved_j"] or 0) * 1000, 3) == figures["everything_from_sram"]
    ratio = lecture["energy_45nm_0V9"]["ratios"]["dram_over_sram"]
    assert float(dram["moved_j"] or 0) == pytest.approx(ratio * float(sram["moved_j"] or 0))


def test_integers_of_32_bits_take_the_integers_operations(lecture: Mapping[str, Any]) -> None:
    each = lecture["energy_45nm_0V9"]["mac_pJ"]
    macs = lecture["alexnet_totals"]["macs"]
    assert readouts(precision="int32")["arithmetic_j"] == pytest.approx(macs * each["int32"] / 10**12)
    assert readouts(precision="float32")["arithmetic_j"] == pytest.approx(macs * each["float32"] / 10**12)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_what_the_table_has_no_operation_of_is_not_made_up(precision: str) -> None:
    said = answer(precision=precision)
    found = {one.name: one for one in said.readouts}
    unknown = {name for name, one in found.items() if one.value is None}
    assert unknown == {
        "multiply_j",
        "add_j",
        "arithmetic_j",
        "total_j",
        "input_j",
        "moved_over_arithmetic",
        "charge_mah",
        "inferences",
    }
    assert {found[name].shown for name in unknown} == {"?"}
    assert {row["part"] for row in said.plots[0].rows} == {"weights", "activations"}
    assert "has no bar" in said.plots[0].description
    assert any(precision in note for table in said.tables for note in table.notes)


@pytest.mark.parametrize(
    ("network", "from_sram", "precision"), list(product(names(), (False, True), ("float32", "int8")))
)
def test_every_figure_is_that_of_weigh(network: str, from_sram: bool, precision: str) -> None:
    found = readouts(network=network, from_sram=int(from_sram), precision=precision)
    energy = weigh(network, batch=1, energy="45nm", precision=precision, battery="2000mAh@3.7V").energy
    assert energy is not None
    level = next(one for one in energy.levels if one.level == ("SRAM" if from_sram else "DRAM"))
    assert [found[name] for name in ("multiply_j", "add_j", "arithmetic_j")] == [
        energy.multiply_j,
        energy.add_j,
        energy.arithmetic_j,
    ]
    assert [found[name] for name in ("weights_j", "activations_j", "moved_j", "total_j")] == [
        level.weights_j,
        level.activations_j,
        level.moved_j,
        level.total_j,
    ]
    charge = level.charge
    assert (found["charge_mah"], found["inferences"]) == (
        (None, None) if charge is None else (charge.charge_mah, charge.inferences)
    )


def test_a_batch_shares_the_weights_and_nothing_else() -> None:
    one, many = readouts(), readouts(batch=32)
    assert many["weights_j"] == one["weights_j"]
    for name in ("arithmetic_j", "activations_j"):
        assert many[name] == pytest.approx(32 * float(one[name] or 0))
    assert float(many["input_j"] or 0) < float(one["input_j"] or 0)
    assert int(many["inferences"] or 0) > int(one["inferences"] or 0)


def test_a_battery_pays_for_its_capacity_times_its_voltage_over_the_energy() -> None:
    for capacity, voltage in ((2000, 3.7), (1, 0.1), (10_000, 12)):
        found = readouts(capacity_mah=capacity, voltage_v=voltage)
        joules = capacity / 1000 * 3600 * voltage
        assert found["inferences"] == pytest.approx(joules / float(found["total_j"] or 0), abs=1)


def test_the_larger_part_is_named() -> None:
    assert answer().sentences == ("from DRAM fetching takes 11.89 times what the arithmetic does",)
    assert answer(from_sram=1).sentences == ("from SRAM the arithmetic takes 10.77 times what fetching does",)


@pytest.mark.parametrize(
    ("network", "precision", "from_sram", "batch"),
    list(product(("alexnet", "mobilenet_v2", "linear"), ("float32", "int32", "int8"), (0, 1), (1, 7))),
)
def test_the_bars_are_the_readouts(network: str, precision: str, from_sram: int, batch: int) -> None:
    said = answer(network=network, precision=precision, from_sram=from_sram, batch=batch)
    found = {one.name: one.value for one in said.readouts}
    bars = {row["part"]: row["joules"] for row in said.plots[0].rows if row["chosen"]}
    parts = {name: found[f"{name}_j"] for name in ("arithmetic", "weights", "activations")}
    assert bars == {name: value for name, value in parts.items() if value is not None}


@pytest.mark.parametrize("preset", SIMULATOR.presets, ids=lambda preset: preset.title)
def test_a_preset_is_a_state(preset: object) -> None:
    assert SIMULATOR.answer({**DEFAULTS, **preset.state})  # type: ignore[attr-defined]

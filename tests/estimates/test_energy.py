"""Energy by operations and by bytes: the bill of the source material, a table's gaps, charge, and devices' own tables."""

from __future__ import annotations

import dataclasses
import math
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weighbridge
from tests.estimates.demands import SMALL, device, memory
from weighbridge.devices.catalogue import energy_names, find_energy
from weighbridge.devices.device import AccessEnergy, EnergyTable, OperationEnergy, Picojoules
from weighbridge.devices.read import read_energy_table
from weighbridge.errors import BadSpec
from weighbridge.estimates import Battery, battery_named, bill, charge, device_energy


def pj(value: float) -> Picojoules:
    return Picojoules(value, "made up for a test")


TABLE = EnergyTable(
    "a process",
    (OperationEnergy("add", "int8", pj(1)), OperationEnergy("multiply", "int8", pj(3))),
    (AccessEnergy("RAM", pj(40)), AccessEnergy("ROM", pj(20))),
    name="test",
    title="Test",
)
NEEDS = SMALL._replace(macs_by_precision=(("int8", 2000),), value_bytes=400, weight_read_bytes=500)


def test_by_hand() -> None:
    """2000 MACs at 3 + 1 pJ; 500 B of weights and 400 B of values at 10 and at 5 pJ a byte."""
    found = bill(NEEDS, TABLE)
    assert (found.multiply_j, found.add_j, found.arithmetic_j) == (6000e-12, 2000e-12, 8000e-12)
    ram, rom = found.levels
    assert ram[1:5] == pytest.approx((5000e-12, 4000e-12, 9000e-12, 17000e-12))
    assert rom[1:5] == pytest.approx((2500e-12, 2000e-12, 4500e-12, 12500e-12))
    assert (ram.level, rom.level) == ("RAM", "ROM")
    assert (found.exact, found.verified, found.precision) == (True, True, "int8")


def test_no_energy_is_made_up_for_a_precision() -> None:
    found = bill(NEEDS, TABLE, "float16")
    assert (found.arithmetic_j, found.levels[0].total_j) == (None, None)
    assert found.levels[0].moved_j == pytest.approx(9000e-12)
    assert found.notes[0] == "no energy of the arithmetic: the table has no multiply or add at float16"
    half = dataclasses.replace(TABLE, operations=TABLE.operations[:1])
    assert bill(NEEDS, half)[4:7] == (None, 2000e-12, None)
    mixed = NEEDS._replace(macs_by_precision=(("int8", 2000), ("float32", 1)))
    assert bill(mixed, TABLE).arithmetic_j is None


def test_what_is_unknown_stays_unknown_and_what_is_a_lower_bound_is_marked() -> None:
    found = bill(NEEDS._replace(value_bytes=None), TABLE)
    assert (found.levels[0].activations_j, found.levels[0].moved_j, found.exact) == (None, None, False)
    assert not bill(NEEDS._replace(ops_exact=False), TABLE).exact
    assert bill(NEEDS._replace(macs_by_precision=((("int8"), 10**400),)), TABLE).arithmetic_j is None


@pytest.mark.parametrize("power", range(290, 330))
def test_an_energy_beyond_what_a_float_can_hold_is_unknown_with_a_note(power: int) -> None:
    """At each size either every energy is a finite number, or one is unknown and the notes say why."""
    needs = NEEDS._replace(macs_by_precision=(("int8", 10**power),), weight_read_bytes=10**power, value_bytes=10**power)
    battery = battery_named("1Ah@1mV")
    found = bill(needs, dataclasses.replace(TABLE, accesses=(AccessEnergy("RAM", pj(4e3)),)), None, battery)
    chip = dataclasses.replace(device(memory("RAM", "weights activations", 1000), int8=1000), energy=TABLE)
    own = device_energy(needs, chip, None, battery)
    assert own is not None
    assert own.charge is None or own.total_j is not None
    for energies, notes in (
        ([*found[4:7], *found.levels[0][1:5]], found.notes),
        ([*own.by.values(), own.total_j], own.notes),
    ):
        assert all(math.isfinite(energy) for energy in energies if energy is not None)
        assert (None in energies) == any("beyond what a number can hold" in note for note in notes)
    assert (found.levels[0].total_j is None) == (Fraction(2004, 10**12) * 10**power > sys.float_info.max)


def test_a_device_fetches_from_where_things_lie() -> None:
    chip = device(memory("ROM", "weights", 1000), memory("RAM", "activations", 1000), int8=1000)
    assert device_energy(NEEDS, chip) is None
    found = device_energy(NEEDS, dataclasses.replace(chip, energy=TABLE))
    assert found is not None
    assert found.by == {"arithmetic": 8000e-12, "ROM": 2500e-12, "RAM": 4000e-12}
    assert found.total_j == pytest.approx(14500e-12)
    without = dataclasses.replace(TABLE, accesses=TABLE.accesses[:1])
    found = device_energy(NEEDS, dataclasses.replace(chip, energy=without))
    assert found is not None
    assert (found.by, found.total_j) == ({"arithmetic": 8000e-12, "ROM": None, "RAM": 4000e-12}, None)
    assert "no energy of fetching the weights" in found.notes[0]


def test_the_toy_has_round_numbers() -> None:
    """AlexNet: 724,406,816 MACs at 5 pJ; 60,954,656 weights and 932,264 values at 100 pJ."""
    (on,) = weighbridge.weigh("alexnet", on="toy", battery="1000mAh@1V").on
    assert on.energy.by["arithmetic"] == pytest.approx(724406816 * 5e-12)
    assert on.energy.by["memory"] == pytest.approx((60954656 + 932264) * 100e-12)
    assert on.energy.charge.inferences == int(3600 / on.energy.total_j)


def test_charge_is_energy_over_voltage() -> None:
    """3.6 J at 4 V are 0.9 C = 0.25 mAh; 1000 mAh pay for 4000 of them."""
    found = charge(3.6, battery_named("1000mAh@4V"))
    assert found is not None
    assert (found.charge_c, found.charge_mah) == (pytest.approx(0.9), pytest.approx(0.25))
    assert (found.runs, found.inferences) == (4000, None)
    assert battery_named(" 2Ah @ 3700 mV ") == battery_named("2000mAh@3.7V") == (2000, Fraction(37, 10))


@given(inferences=st.integers(1, 10**9), nanojoules=st.integers(1, 10**6))
def test_a_battery_pays_for_the_last_inference_too(inferences: int, nanojoules: int) -> None:
    """A battery that holds so many times the energy, as a float has it, holds so many inferences."""
    capacity = Fraction(inferences * nanojoules, 10**9) / Fraction(36, 10)
    found = charge(nanojoules / 10**9, Battery(capacity, Fraction(1)))
    assert found is not None
    assert (found.runs, found.inferences) == (inferences, None)
    charged = charge(nanojoules / 10**9, Battery(capacity, Fraction(1)), batch=8)
    assert charged is not None
    assert charged.inferences == 8 * inferences


def test_a_memory_may_be_called_arithmetic() -> None:
    chip = device(memory("arithmetic", "weights activations", 1000), int8=1000)
    table = dataclasses.replace(TABLE, accesses=(AccessEnergy("arithmetic", pj(40)),))
    found = device_energy(NEEDS, dataclasses.replace(chip, energy=table))
    assert found is not None
    assert found.by == {"arithmetic": 8000e-12, "arithmetic (memory)": pytest.approx(9000e-12)}
    assert found.total_j == pytest.approx(17000e-12)


def test_what_has_no_energy_says_why() -> None:
    unknown = bill(NEEDS._replace(macs_by_precision=(), ops=0, ops_exact=False, value_bytes=None), TABLE)
    assert unknown.arithmetic_j is None
    assert unknown.notes[:2] == (
        "no energy of the arithmetic: no MACs are counted",
        "no energy of fetching the activations: a size is unknown",
    )
    charged = bill(NEEDS, TABLE, "float16", battery_named("1Ah@1V"))
    assert charged.notes[1] == "no charge, as the energy is not known in full"
    assert bill(NEEDS._replace(macs_by_precision=(), ops=0), TABLE).arithmetic_j == 0.0


@pytest.mark.parametrize(
    ("battery", "what"),
    [
        ("2000mAh", "has no voltage"),
        ("2000", "has no voltage"),
        ("@3.7V", "is no battery"),
        ("2000mAh@", "is no battery"),
        ("-5mAh@3V", "is no battery"),
        ("2000Wh@3.7V", "is no battery"),
        ("0mAh@3V", "is empty"),
        ("5mAh@0V", "is empty"),
        ("9" * 300 + "mAh@3V", "is no battery"),
    ],
)
def test_what_is_no_battery(battery: str, what: str) -> None:
    with pytest.raises(BadSpec, match=what):
        weighbridge.weigh("alexnet", energy="45nm", battery=battery)


def test_a_battery_needs_an_energy() -> None:
    with pytest.raises(BadSpec, match="no charge without an energy"):
        weighbridge.weigh("alexnet", on="a100", battery="2000mAh@3.7V")


def test_every_number_of_a_table_has_a_source_and_doubt_is_marked() -> None:
    assert energy_names() == ("45nm",)
    for name in energy_names():
        table = find_energy(name)
        assert table.name == name
        assert all(len(figure.source) > 8 for figure in table.figures)
        assert all(figure.note for figure in table.figures if not figure.verified)


def test_all_faults_of_a_table_come_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        """
process = "x"
colour = "red"
[[operations]]
operation = "divide"
precision = "int9"
energy_pj = { value = -1, source = "s" }
[[accesses]]
level = "RAM"
energy_pj_per_32_bit = 3
[[accesses]]
level = "RAM"
energy_pj_per_32_bit = { value = 1e-30, source = "s" }
"""
    )
    with pytest.raises(BadSpec) as caught:
        read_energy_table(path)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("the table of energies has 9 faults")
    assert sorted(line.strip().partition(": ")[0] for line in lines[1:]) == [
        "$",
        "$.accesses[0].energy_pj_per_32_bit",
        "$.accesses[1]",
        "$.accesses[1].energy_pj_per_32_bit.value",
        "$.name",
        "$.operations[0].energy_pj.value",
        "$.operations[0].operation",
        "$.operations[0].precision",
        "$.title",
    ]


def test_an_unknown_table() -> None:
    with pytest.raises(BadSpec, match="did you mean 45nm"):
        weighbridge.weigh("alexnet", energy="45 nm!")
    with pytest.raises(BadSpec, match="not a int"):
        weighbridge.weigh("alexnet", energy=45)

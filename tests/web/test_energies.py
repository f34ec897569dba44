"""The simulator of the table of energies: the ratios of the lecture, and every pair of entries."""

from __future__ import annotations

from itertools import product

import pytest

from weighbridge.calculators.energies import energies as weighed
from weighbridge.devices.catalogue import find_energy
from weighbridge.units import stated
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.energies import energies

SIMULATOR = energies()
FOUND = weighed(find_energy("45nm"))
CHOICES = {label: key for key, label in SIMULATOR.controls[0].choices.items()}  # type: ignore[union-attr]


def answer(**state: str) -> Answer:
    found, said = answered(SIMULATOR, state.items())
    assert not found.faults
    assert said is not None
    return said


def ratio(over: str, under: str) -> float:
    said = answer(over=CHOICES[over], under=CHOICES[under])
    return next(one.value for one in said.readouts if one.name == "ratio")  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("over", "under", "times"),
    [
        ("32 bits from DRAM", "multiply int32", 206.45),
        ("32 bits from DRAM", "32 bits from SRAM", 128),
        ("add float32", "add int32", 9),
        ("32 bits from DRAM", "add int32", 6400),
    ],
)
def test_the_ratios_of_the_lecture(over: str, under: str, times: float) -> None:
    assert ratio(over, under) == pytest.approx(times, abs=0.01)


def test_it_opens_with_memory_over_arithmetic() -> None:
    assert answer().sentences == ("32 bits from DRAM: ~206.5 times the energy of multiply int32",)


@pytest.mark.parametrize(("over", "under"), list(product(CHOICES, repeat=2)))
def test_a_ratio_is_that_of_the_two_energies_shown(over: str, under: str) -> None:
    energies_j = {one.label: one.value for one in answer().readouts if one.group == "Energy each"}
    assert ratio(over, under) == pytest.approx(float(stated(energies_j[over]) / stated(energies_j[under])))  # type: ignore[arg-type]


def test_every_entry_has_a_readout_and_a_row_in_both_charts() -> None:
    names = [entry.name for entry in FOUND.entries]
    for said in (answer(), answer(logarithmic="0")):
        assert [one.label for one in said.readouts[1:]] == names
        assert [row["entry"] for row in said.plots[0].rows] == names


@pytest.mark.parametrize("entry", FOUND.entries, ids=lambda entry: entry.name)
def test_what_is_not_verified_says_so_wherever_it_stands(entry: object) -> None:
    name, verified = entry.name, entry.verified  # type: ignore[attr-defined]
    said = answer(over=CHOICES[name], under=CHOICES[FOUND.entries[0].name])
    shown = [one.shown for one in said.readouts if one.name == "ratio" or one.label == name]
    assert [text.startswith("~") for text in shown] == [not verified] * 2
    assert any(name in note and ("not verified" in note) is not verified for note in said.notes)


def test_only_a_logarithmic_axis_is_one() -> None:
    logarithmic, linear = answer().plots[0].spec, answer(logarithmic="0").plots[0].spec
    assert logarithmic["encoding"]["x"]["scale"]["type"] == "log"
    assert "scale" not in linear["encoding"]["x"]
    assert linear["layer"][0]["mark"]["type"] == "bar"
    assert logarithmic["layer"][0]["mark"]["type"] == "point", "a bar begins at zero, where this axis is not"


def test_on_a_linear_axis_it_says_how_much_cannot_be_seen() -> None:
    sizes = [entry.energy_j for entry in FOUND.entries]
    short = sum(size * 100 < max(sizes) for size in sizes)
    assert answer(logarithmic="0").plots[0].description.startswith(f"{short} of {len(sizes)} bars")


@pytest.mark.parametrize("preset", SIMULATOR.presets, ids=lambda preset: preset.title)
def test_a_preset_is_a_state(preset: object) -> None:
    state = preset.state  # type: ignore[attr-defined]
    assert answer(**{name: str(int(value)) if isinstance(value, bool) else value for name, value in state.items()})

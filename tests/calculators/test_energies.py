"""The table of the source material and its ratios."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.calculators.energies import energies
from weighbridge.cli.main import main
from weighbridge.devices.catalogue import find_energy
from weighbridge.devices.device import AccessEnergy, Device, EnergyTable, OperationEnergy, Picojoules
from weighbridge.report.device_page import device_lines
from weighbridge.report.energy_page import energy_lines
from weighbridge.report.spans import Line
from weighbridge.report.terminal import Look

NAMES = {
    "int32_add": "add int32",
    "float32_add": "add float32",
    "int32_multiply": "multiply int32",
    "float32_multiply": "multiply float32",
    "sram_32KB_read_32bit": "32 bits from SRAM",
    "dram_read_32bit": "32 bits from DRAM",
    "register_file_32bit": "32 bits from register file",
}


@pytest.fixture(scope="module")
def stated(shared: Path) -> Any:
    with (shared / "facts" / "lecture.toml").open("rb") as file:
        return tomllib.load(file)["energy_45nm_0V9"]


def test_every_entry_is_that_of_the_source_material(stated: Any) -> None:
    found = {entry.name: entry.energy_j for entry in energies(find_energy("45nm")).entries}
    assert {NAMES[key]: stated[key] for key in NAMES} == pytest.approx(
        {name: found[name] * 1e12 for name in NAMES.values()}
    )
    for precision, value in stated["mac_pJ"].items():
        assert found[f"multiply-accumulate {precision}"] * 1e12 == pytest.approx(value)


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("dram_over_int_multiply", "32 bits from DRAM", "multiply int32"),
        ("dram_over_sram", "32 bits from DRAM", "32 bits from SRAM"),
        ("float_add_over_int_add", "add float32", "add int32"),
        ("dram_over_int_add", "32 bits from DRAM", "add int32"),
    ],
)
def test_ratios(stated: Any, key: str, one: str, other: str) -> None:
    assert energies(find_energy("45nm")).ratios[one][other] == pytest.approx(stated["ratios"][key], abs=0.05)


def test_the_command_shows_the_table_and_its_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["energy"]) == 0
    shown = capsys.readouterr().out
    rows = {line.split("  ")[0].lstrip("~"): line for line in shown.splitlines()}
    assert "640 pJ" in rows["32 bits from DRAM"]
    assert "6,400" in rows["32 bits from DRAM"]
    assert shown.splitlines()[1] == "45 nm, 0.9 V"
    assert rows["9 32 bits from DRAM"].split()[-5] == "206.5"
    assert rows["9 32 bits from DRAM"].split()[-1] == "128.0"
    assert "NIPS 2015, table 1; not verified" in " ".join(shown.split())


ENERGIES = st.floats(1e-9, 1e24) | st.sampled_from([0.9, 3.7, 0.1, 1234567.891, 0.123456789, 1e24, 1e-9])


@given(add=ENERGIES, multiply=ENERGIES, access=ENERGIES)
def test_numbers_are_exact_and_stand_in_full(add: float, multiply: float, access: float) -> None:
    """In the table of energies as on the page of a device that has it; ``Decimal`` is the oracle."""
    table = EnergyTable(
        "a process",
        (
            OperationEnergy("add", "float32", Picojoules(add, "x")),
            OperationEnergy("multiply", "float32", Picojoules(multiply, "x")),
        ),
        (AccessEnergy("m", Picojoules(access, "x")),),
        name="t",
        title="t",
    )
    with localcontext(prec=200):
        decimals = {"add float32": Decimal(repr(add)), "multiply float32": Decimal(repr(multiply))}
        decimals |= {"32 bits from m": Decimal(repr(access)), "multiply-accumulate float32": sum(decimals.values())}
        found = energies(table)
        assert {entry.name: entry.energy_j for entry in found.entries} == {
            name: Fraction(value) / 10**12 for name, value in decimals.items()
        }
        pages = energy_lines(found, Look(120)), device_lines(Device("d", "t", "c", "c", energy=table), Look(120))
        for page, names in zip(pages, (decimals, decimals.keys() - {"multiply-accumulate float32"}), strict=True):
            shown = re.findall(r"^ *([a-z0-9 -]*[a-z0-9]):? +(\S+) pJ", as_text(page), re.MULTILINE)
            assert {name: Decimal(number.replace(",", "")) for name, number in shown} == {
                name: decimals[name] for name in names
            }


def as_text(lines: Iterable[Line]) -> str:
    return "\n".join("".join(span.text for span in line) for line in lines)


def test_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["energy", "45nm", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == energies(find_energy("45nm")).to_dict()
    assert {entry["name"]: entry["energy_j"] for entry in data["entries"]}["multiply-accumulate float32"] == 4.6e-12
    assert main(["energy", "--json", str(tmp_path / "all.json")]) == 0
    assert json.loads((tmp_path / "all.json").read_text()) == [data]


def test_a_table_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["energy", "7nm"]) == 2
    assert "there is no table of energies '7nm'" in capsys.readouterr().err


def test_an_empty_table_has_no_entries() -> None:
    assert energies(EnergyTable("a process")).entries == ()

"""Every device of the catalogue: readable, sourced, honest about doubt, and equal to the figures it was taken from."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from weighbridge.devices import catalogue
from weighbridge.devices.catalogue import find, names
from weighbridge.devices.device import ACTIVATIONS, KINDS, WEIGHTS, Device, Figure, Picojoules
from weighbridge.devices.measured import Amount
from weighbridge.errors import BadSpec

FOLDER = Path(catalogue.__file__).parent


def figures(device: Device) -> Iterator[tuple[str, Figure | Picojoules | Amount]]:
    for peak in device.peaks:
        yield f"{peak.unit} {peak.precision}", peak.ops_per_s
    for memory in device.memories:
        for figure in (*memory.size_figures, memory.bandwidth_bytes_per_s):
            if figure is not None:
                yield memory.name, figure
    for energy in device.energy.figures if device.energy else ():
        yield "energy", energy
    for measured in device.measured:
        for amount in measured.figures:
            yield measured.kernels, amount


def numbers(value: object) -> Iterator[object]:
    """Every number of a parsed file, with the table it stands in."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, (int, float)) and not isinstance(inner, bool):
                yield {"key": key, **value}
            yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            assert isinstance(inner, (dict, str)), f"a bare number in a list: {inner!r}"
            yield from numbers(inner)


def test_every_kind_of_device_has_its_examples() -> None:
    kinds = {name: find(name).kind for name in names()}
    assert set(kinds.values()) <= set(KINDS)
    assert (kinds["stm32f746"], kinds["raspberry-pi-5"], kinds["a100"], kinds["toy"]) == (
        "mcu",
        "board",
        "server",
        "other",
    )
    assert [name for name, kind in kinds.items() if kind == "other"] == ["toy"]


@pytest.mark.parametrize("name", names())
def test_a_device_is_called_as_its_file_and_says_what_it_leaves_out(name: str) -> None:
    device = find(name)
    assert device.name == name
    assert device.peaks or any(note.startswith("No peak:") for note in device.notes)
    for what in (WEIGHTS, ACTIVATIONS):
        said = [note for note in device.notes if note.startswith(("No memory:", f"No memory for {what}:"))]
        assert (device.memory_for(what) is None) == bool(said)


@pytest.mark.parametrize("name", names())
def test_every_number_of_a_file_stands_beside_its_source(name: str) -> None:
    found = list(numbers(tomllib.loads((FOLDER / f"{name}.toml").read_text())))
    assert len(found) == len(list(figures(find(name))))
    for table in found:
        assert table["key"] == "value"
        assert len(table["source"]) > 8
        assert "devices.csv" not in table["source"]


@pytest.mark.parametrize(
    ("name", "row", "doubted"),
    [
        ("stm32f746", "STM32F746G-DISCO", {"Cortex-M7 int8"}),
        ("raspberry-pi-5", "Raspberry Pi 5", {"4 x Cortex-A76 float32"}),
        ("jetson-agx-orin", "Jetson AGX Orin 64GB", {"tensor cores and NVDLA int8", "DRAM"}),
        ("a100", "A100 SXM 80GB", set()),
    ],
)
def test_figures_are_those_of_the_reference_table_and_keep_its_doubts(
    shared: Path, name: str, row: str, doubted: set[str]
) -> None:
    with (shared / "facts" / "devices.csv").open(newline="") as file:
        facts = next(line for line in csv.DictReader(file) if line["name"] == row)
    device = find(name)
    assert doubted <= {label for label, figure in figures(device) if not figure.verified}
    for column, precision in (("fp32", "float32"), ("tf32", "tf32"), ("bf16", "bfloat16"), ("int8", "int8")):
        peak = device.peak(precision)
        if facts[f"{column}_gops"]:
            assert peak is not None
            assert peak.ops_per_s.value == round(float(facts[f"{column}_gops"]) * 10**9)
    if facts["int8_mac_per_cycle"]:
        peak = device.peak("int8")
        assert peak is not None
        assert peak.ops_per_s.value == 2 * int(facts["int8_mac_per_cycle"]) * int(facts["clock_mhz"]) * 10**6
    weights, activations = device.memory_for(WEIGHTS), device.memory_for(ACTIVATIONS)
    assert weights is not None
    assert activations is not None
    assert weights.bytes.value == int(facts["flash_bytes"] or facts["dram_bytes"])
    if facts["class"] == "mcu":
        assert activations.bytes.value == int(facts["onchip_sram_bytes"])
    if facts["mem_bw_gbps"]:
        assert activations.bandwidth_bytes_per_s is not None
        assert activations.bandwidth_bytes_per_s.value == round(float(facts["mem_bw_gbps"]) * 10**9)


def test_the_board_of_the_source_material(shared: Path) -> None:
    with (shared / "facts" / "lecture.toml").open("rb") as file:
        board = tomllib.load(file)["boards"]["stm32f746"]
    device = find("stm32f746")
    weights, activations = device.memory_for(WEIGHTS), device.memory_for(ACTIVATIONS)
    assert weights is not None
    assert activations is not None
    assert (weights.bytes.value, activations.bytes.value) == (board["flash_B"], board["sram_B"])
    assert board["core"] in device.core


@pytest.mark.parametrize("given", ["STM32F746", " a100", "Raspberry Pi 5", "jetson_agx_orin"])
def test_names_are_forgiving(given: str) -> None:
    assert find(given).name in names()


@pytest.mark.parametrize(
    ("given", "meant"),
    [("stm32f764", "stm32f746"), ("orin", "jetson-agx-orin or jetson-orin-nano"), ("A-100", "a100"), ("tooy", "toy")],
)
def test_an_unknown_name_is_answered_with_the_nearest(given: str, meant: str) -> None:
    with pytest.raises(BadSpec, match=f"did you mean {meant}") as caught:
        find(given)
    assert "`weighbridge devices` lists the names" in str(caught.value)


@pytest.mark.parametrize("given", ["", "zzz", "\x1b[31mred"])
def test_a_name_like_no_other_is_refused_without_a_guess(given: str) -> None:
    with pytest.raises(BadSpec, match="there is no device") as caught:
        find(given)
    assert "did you mean" not in str(caught.value)
    assert "\x1b" not in str(caught.value)

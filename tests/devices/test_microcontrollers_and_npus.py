"""Microcontrollers and neural processors of the catalogue: equal to the reference table, with its doubts and its regions."""

from __future__ import annotations

import csv
import dataclasses
import tomllib
from pathlib import Path

import pytest

from weighbridge.devices.catalogue import find, names
from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Figure
from weighbridge.estimates.demand import Demand
from weighbridge.estimates.fit import DOES_NOT_FIT, fit

MICROCONTROLLERS = {
    "stm32f746": "STM32F746G-DISCO",
    "stm32f412": "NUCLEO-F412ZG",
    "stm32h743": "NUCLEO-H743ZI",
    "stm32h747": "STM32H747I-DISCO",
    "stm32h7a3": "NUCLEO-H7A3ZI-Q",
    "stm32l4r5": "NUCLEO-L4R5ZI",
    "stm32u575": "NUCLEO-U575ZI-Q",
    "nrf52840": "nRF52840-DK",
    "rp2040": "Raspberry Pi Pico",
    "rp2350": "Raspberry Pi Pico 2",
    "esp32": "ESP32",
    "esp32-s3": "ESP32-S3-DevKitC-1",
    "esp32-s3-psram": "ESP32-S3-DevKitC-1",
    "stm32-f746g-disco": "STM32F746G-DISCO",
    "stm32-h747i-disco": "STM32H747I-DISCO",
}
NEURAL_PROCESSORS = {
    **{f"ethos-u55-{macs}": f"Arm Ethos-U55-{macs}" for macs in (32, 64, 128, 256)},
    **{f"ethos-u65-{macs}": f"Arm Ethos-U65-{macs}" for macs in (256, 512)},
    **{f"ethos-u85-{macs}": f"Arm Ethos-U85-{macs}" for macs in (128, 256, 512, 1024, 2048)},
    "coral-edge-tpu": "Coral USB/M.2 Edge TPU",
    "hailo-8": "Hailo-8",
}
CORES = {"rp2040": 2, "rp2350": 2, "esp32-s3": 2, "esp32-s3-psram": 2}
"""The table gives a rate a core."""
OTHER_SRAM = {"stm32h7a3": 1_048_576}
"""The table adds up what it calls unverified; here stands the region that activations lie in."""
KIB = 1024


@pytest.fixture(scope="module")
def table(shared: Path) -> dict[str, dict[str, str]]:
    with (shared / "facts" / "devices.csv").open(newline="") as file:
        return {line["name"]: line for line in csv.DictReader(file)}


def figure_for(name: str, what: str) -> Figure:
    memory = find(name).memory_for(what)
    assert memory is not None
    return memory.bytes


@pytest.mark.parametrize(("kind", "expected"), [("mcu", MICROCONTROLLERS), ("npu", NEURAL_PROCESSORS)])
def test_the_kinds_are_complete(kind: str, expected: dict[str, str]) -> None:
    assert {name for name in names() if find(name).kind == kind} == set(expected)


@pytest.mark.parametrize("name", MICROCONTROLLERS)
def test_microcontrollers_are_those_of_the_table(name: str, table: dict[str, dict[str, str]]) -> None:
    facts = table[MICROCONTROLLERS[name]]
    assert figure_for(name, WEIGHTS).value == int(facts["flash_bytes"])
    assert figure_for(name, ACTIVATIONS).value == OTHER_SRAM.get(name, int(facts["onchip_sram_bytes"]))
    peak = find(name).peak("int8")
    if not facts["int8_mac_per_cycle"]:
        assert peak is None
        return
    assert peak is not None
    each = 2 * int(facts["int8_mac_per_cycle"]) * int(facts["clock_mhz"]) * 10**6
    assert peak.ops_per_s.value == CORES.get(name, 1) * each
    assert not peak.ops_per_s.verified


@pytest.mark.parametrize("name", NEURAL_PROCESSORS)
def test_neural_processors_are_those_of_the_table(name: str, table: dict[str, dict[str, str]]) -> None:
    facts = table[NEURAL_PROCESSORS[name]]
    peak = find(name).peak("int8")
    assert peak is not None
    assert peak.ops_per_s.value == int(facts["int8_gops"]) * 10**9
    if facts["int8_mac_per_cycle"]:
        assert peak.ops_per_s.value == 2 * int(facts["int8_mac_per_cycle"]) * int(facts["clock_mhz"]) * 10**6
    if facts["onchip_sram_bytes"]:
        assert figure_for(name, WEIGHTS).value == int(facts["onchip_sram_bytes"])


@pytest.mark.parametrize("name", ["esp32", "esp32-s3"])
def test_what_a_program_cannot_use_is_reserved(name: str) -> None:
    memory = find(name).memory_for(ACTIVATIONS)
    assert memory is not None
    assert memory.available_bytes == 320 * KIB


@pytest.mark.parametrize(("name", "ram_kib"), [("stm32h743", 1060), ("stm32h747", 1060), ("stm32h7a3", 1380)])
def test_regions_add_up_to_the_memory_of_the_chip(name: str, ram_kib: int) -> None:
    regions = [memory for memory in find(name).memories if WEIGHTS not in memory.holds]
    assert sum(memory.bytes.value for memory in regions) == ram_kib * KIB
    assert max(regions, key=lambda memory: memory.bytes.value).holds == (ACTIVATIONS,)


@pytest.mark.parametrize(("name", "column"), [("esp32-s3-psram", "PSRAM"), ("stm32-f746g-disco", "SDRAM")])
def test_memory_outside_the_chip_is_that_of_the_table(name: str, column: str, table: dict[str, dict[str, str]]) -> None:
    (memory,) = (one for one in find(name).memories if one.name == column)
    assert memory.bytes.value == int(table[MICROCONTROLLERS[name]]["dram_bytes"])


@pytest.mark.parametrize(
    ("board", "chip"),
    [("stm32-f746g-disco", "stm32f746"), ("stm32-h747i-disco", "stm32h747"), ("esp32-s3-psram", "esp32-s3")],
)
def test_a_board_has_the_memories_of_its_chip_first_and_a_bandwidth_for_all_others(board: str, chip: str) -> None:
    inside, every = find(chip), find(board)
    count = len(inside.memories)
    assert [(one.name, one.bytes, one.reserved_bytes) for one in every.memories[:count]] == [
        (one.name, one.bytes, one.reserved_bytes) for one in inside.memories
    ]
    assert every.peaks == inside.peaks
    assert all(one.bandwidth_bytes_per_s for one in every.memories[count:])


def test_the_whole_chip_has_room_where_its_region_has_not(shared: Path) -> None:
    with (shared / "facts" / "published.toml").open("rb") as file:
        published = tomllib.load(file)["region_fit"]["what"]
    assert all(figure in published for figure in ("465.36 KiB", "44.05 KiB", "217,564 B", "214,912 B"))
    board = find("stm32h747")
    reserved = Figure(217_564, "buffers of the application, published.toml")
    memories = [
        dataclasses.replace(memory, reserved_bytes=reserved) if memory.name == "AXI SRAM" else memory
        for memory in board.memories
    ]
    needed = round((465.36 + 44.05) * KIB)
    network = Demand(0, True, 0, needed, True, None, 0, 0, 0, True, 0, True, None)
    result = fit(network, dataclasses.replace(board, memories=tuple(memories)))
    assert result.verdict == DOES_NOT_FIT
    assert [region.short_bytes for region in result.regions if ACTIVATIONS in region.holds] == [214_912]
    assert needed < sum(memory.available_bytes for memory in memories if WEIGHTS not in memory.holds)

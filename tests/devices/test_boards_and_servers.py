"""Boards and servers of the catalogue: equal to the reference table, with its doubts, and never with a sparse rate."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from weighbridge.devices.catalogue import find, names
from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Figure

ROWS = {
    "a100": "A100 SXM 80GB",
    "a100-40gb": "A100 40GB",
    "a100-pcie": "A100 PCIe 80GB",
    "apple-m1": "Apple M1",
    "apple-m2": "Apple M2",
    "apple-m3": "Apple M3",
    "apple-m4": "Apple M4",
    "b200": "B200 SXM",
    "epyc-9654": "EPYC 9654",
    "h100": "H100 SXM",
    "h100-pcie": "H100 PCIe",
    "h200": "H200 SXM",
    "jetson-agx-orin": "Jetson AGX Orin 64GB",
    "jetson-nano": "Jetson Nano 4GB",
    "jetson-orin-nano": "Jetson Orin Nano 8GB",
    "jetson-orin-nano-super": "Jetson Orin Nano Super 8GB",
    "jetson-orin-nx": "Jetson Orin NX 16GB",
    "l4": "L4",
    "mi300x": "Instinct MI300X",
    "p100": "Tesla P100 SXM2",
    "p100-pcie": "Tesla P100 PCIe 16GB",
    "raspberry-pi-4": "Raspberry Pi 4B",
    "raspberry-pi-5": "Raspberry Pi 5",
    "rtx-3090": "GeForce RTX 3090",
    "rtx-4090": "GeForce RTX 4090",
    "t4": "Tesla T4",
    "v100": "Tesla V100 SXM2",
    "xeon-8480": "Xeon Platinum 8480+",
}
"""Name in the catalogue, name in the table.  The table has no RTX 5090."""
PRECISIONS = {
    "fp32": "float32",
    "tf32": "tf32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8": "float8",
    "int8": "int8",
    "int4": "int4",
}
LEFT_OUT = {(f"apple-m{generation}", "int8") for generation in (1, 2, 3, 4)}
"""The vendor names no precision for these rates."""


@pytest.fixture(scope="module")
def table(shared: Path) -> dict[str, dict[str, str]]:
    with (shared / "facts" / "devices.csv").open(newline="") as file:
        return {line["name"]: line for line in csv.DictReader(file)}


def test_every_board_and_server_is_compared() -> None:
    assert {name for name in names() if find(name).kind in ("board", "server")} - set(ROWS) == {"rtx-5090"}


@pytest.mark.parametrize("name", ROWS)
def test_rates_are_those_of_the_table(table: dict[str, dict[str, str]], name: str) -> None:
    row, device = table[ROWS[name]], find(name)
    for column, precision in PRECISIONS.items():
        peak, known = device.peak(precision), row[f"{column}_gops"]
        if not known:
            assert peak is None or not peak.ops_per_s.verified, "a rate from elsewhere is in doubt"
        elif (name, precision) in LEFT_OUT:
            assert peak is None
        else:
            assert peak is not None
            assert peak.ops_per_s.value == pytest.approx(float(known) * 10**9, rel=0.002)
            if doubted(row, f"{column}_gops") or doubted(row, column):
                assert not peak.ops_per_s.verified


@pytest.mark.parametrize("name", ROWS)
def test_memories_are_those_of_the_table(table: dict[str, dict[str, str]], name: str) -> None:
    row, device = table[ROWS[name]], find(name)
    (memory,) = device.memories
    assert device.memory_for(WEIGHTS) is device.memory_for(ACTIVATIONS) is memory
    if row["dram_bytes"]:
        assert memory.bytes.value == int(row["dram_bytes"])
    assert memory.bandwidth_bytes_per_s is not None
    assert memory.bandwidth_bytes_per_s.value == pytest.approx(float(row["mem_bw_gbps"]) * 10**9)
    if name != "p100-pcie" and doubted(row, "mem_bw_gbps"):
        assert not memory.bandwidth_bytes_per_s.verified


@pytest.mark.parametrize("name", [name for name in ROWS if "orin" in name])
def test_a_rate_taken_from_a_sparse_one_is_half_of_it_and_in_doubt(table: dict[str, dict[str, str]], name: str) -> None:
    sparse = re.search(r"(\d+) TOPS", table[ROWS[name]]["sparsity_basis"] + table[ROWS[name]]["source"])
    peak = find(name).peak("int8")
    assert sparse is not None
    assert peak is not None
    assert (2 * peak.ops_per_s.value, peak.ops_per_s.verified) == (int(sparse[1]) * 10**12, False)


def test_the_card_that_the_table_lacks_has_no_sparse_rate_and_says_where_from() -> None:
    device = find("rtx-5090")
    rates = {peak.precision: peak.ops_per_s for peak in device.peaks}
    assert not any(figure.verified for figure in rates.values())
    assert rates["float8"].value * 4 == rates["float4"].value
    assert rates["float4"].value == 3352 * 10**12 // 2


def doubted(row: dict[str, str], column: str) -> bool:
    doubts = re.sub(r"w/ fp32 accumulate", "", row["unverified_fields"])
    names_all = re.match(r"all\b", doubts) is not None
    return names_all or re.search(rf"(?<!\w){column}(?![a-z])", doubts) is not None


def test_doubts_are_found_in_the_words_of_the_table() -> None:
    row = {"unverified_fields": "fp16/bf16/fp8 tensor dense w/ fp32 accumulate; mem_bw_gbps(3200x4B theoretical)"}
    assert [doubted(row, column) for column in ("fp16", "bf16", "fp8", "mem_bw_gbps", "fp32")] == [True] * 4 + [False]
    assert doubted({"unverified_fields": "all numeric except tdp_w"}, "int8")


def test_figures_of_a_device_are_all_its_numbers() -> None:
    figures = find("l4").figures
    assert len(figures) == 9
    assert all(isinstance(figure, Figure) for figure in figures)

"""Devices side by side: the cells are the core's figures, unknown ones and unverified ones marked."""

from __future__ import annotations

from weighbridge.devices.catalogue import by_kind, find
from weighbridge.devices.device import Device, Figure, Memory, Peak
from weighbridge.estimates.expected import NOT_MEASURED
from weighbridge.report.device_facts import device_notes
from weighbridge.report.device_grid import KIND_TITLES, device_grid, device_grids


def cells(*devices: Device) -> list[dict[str, str]]:
    grid = device_grid("some", devices)
    return [dict(zip((one.title for one in grid.columns), row.cells, strict=True)) for row in grid.rows]


def test_every_device_of_the_catalogue_has_a_row_under_its_kind() -> None:
    grids = list(device_grids(by_kind()))
    assert [grid.title for grid, _ in grids] == list(KIND_TITLES.values())
    assert [device for _, devices in grids for device in devices] == list(by_kind())
    for grid, devices in grids:
        assert [row.cells[0] for row in grid.rows] == [device.name for device in devices]


def test_a_row_says_what_a_network_can_have_and_what_is_not_sure_about_it() -> None:
    (nano, board) = cells(find("jetson-nano"), find("stm32f746"))
    assert (nano["for weights"], nano["bandwidth"]) == ("DRAM ~4.000 GiB", "DRAM ~25.60 GB/s")
    assert (nano["float16"], nano["int8"]) == ("~471.6 GOPS", "?")
    assert (board["for weights"], board["for activations"]) == ("flash 1.000 MiB", "SRAM 320.0 KiB")
    assert (board["bandwidth"], board["float32"], board["int8"]) == ("?", "?", "~864.0 MOPS")


def test_kernels_that_were_measured_are_named_where_there_are_any() -> None:
    measured, other = cells(find("stm32l4r5"), find("stm32f412"))
    assert measured["expected time with"] == "X-CUBE-AI 9.0, int8; HALE 1.0.175, int8"
    assert other["expected time with"] == "?"
    assert "expected time with" not in cells(find("jetson-nano"))[0]


def test_a_page_says_where_nobody_measured_kernels() -> None:
    said = {name: NOT_MEASURED in device_notes(find(name)) for name in ("stm32f412", "stm32l4r5", "a100")}
    assert said == {"stm32f412": True, "stm32l4r5": False, "a100": False}


def test_what_is_reserved_is_no_networks_and_the_best_of_several_rates_stands() -> None:
    memory = Memory("SRAM", ("activations",), Figure(4096, "s"), reserved_bytes=Figure(1024, "s", verified=False))
    peaks = (Peak("a", "int8", Figure(10, "s")), Peak("b", "int8", Figure(20, "s")))
    (row,) = cells(Device("d", "a\u202eb", "c", "c", peaks, (memory,)))
    assert (row["for activations"], row["for weights"], row["int8"]) == ("SRAM ~3.000 KiB", "?", "20OPS")
    assert row["full name"] == "a\\u202eb"

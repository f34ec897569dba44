"""Bytes that are set aside in a device's memories, from text to what is left."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.estimates.demands import device, memory
from weighbridge.choices import reserve_of
from weighbridge.devices.catalogue import find
from weighbridge.devices.reserve import with_reserved
from weighbridge.errors import BadSpec
from weighbridge.written import BYTE_UNITS, byte_size

BOARD = device(memory("flash", "weights", 1000), memory("AXI SRAM", "activations", 800, reserved=300))


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("64KiB", 65_536),
        ("64 kB", 64_000),
        ("1MiB", 1_048_576),
        ("1.5MB", 1_500_000),
        ("12B", 12),
        ("12", 12),
        (12, 12),
        ("0", 0),
        ("44.05KiB", 45_108),
        ("1e3B", 1000),
        ("2GiB", 2_147_483_648),
    ],
)
def test_sizes_as_they_are_written(written: object, size: int) -> None:
    assert byte_size(written) == size


@pytest.mark.parametrize(
    "written",
    [
        "",
        "KiB",
        "64KB",
        "64kb",
        "64kib",
        "64 bytes",
        "-1KiB",
        -1,
        "0x10",
        "1_000",
        "nan",
        "inf",
        "1/3KiB",
        None,
        True,
        [],
        "9" * 40,
    ],
)
def test_what_is_no_size(written: object) -> None:
    assert byte_size(written) is None


@given(number=st.decimals(0, 10**9, places=3), unit=st.sampled_from(sorted(BYTE_UNITS)))
def test_a_part_of_a_byte_takes_a_whole_one(number: object, unit: str) -> None:
    assert byte_size(f"{number}{unit}") == ceil(Fraction(str(number)) * BYTE_UNITS[unit])


@pytest.mark.parametrize("name", ["AXI SRAM", "axi sram", " axi-sram ", "AXI_SRAM"])
def test_names_are_forgiving_and_the_file_keeps_its_own_part(name: str) -> None:
    (board,) = with_reserved((BOARD,), {name: 200})
    assert [one.available_bytes for one in board.memories] == [1000, 300]
    assert [one.available_bytes for one in BOARD.memories] == [1000, 500]


def test_of_names_that_differ_in_capitals_the_one_that_was_written_is_meant() -> None:
    board = device(memory("RAM", "activations", 1000), memory("ram", "weights", 1000))
    (found,) = with_reserved((board,), {"ram": 1})
    assert [one.available_bytes for one in found.memories] == [1000, 999]


def test_every_device_that_has_the_region_keeps_the_bytes() -> None:
    devices, names = reserve_of({"SRAM": "64KiB"}, (find("stm32f746"), find("stm32l4r5"), find("stm32h747")))
    assert names == ("SRAM",)
    left = [next((one.available_bytes for one in board.memories if one.name == "SRAM"), None) for board in devices]
    assert left == [327_680 - 65_536, 655_360 - 65_536, None]


def test_all_of_a_region_can_be_kept_and_no_byte_more() -> None:
    (board,) = with_reserved((BOARD,), {"axi sram": 500})
    assert board.memories[1].available_bytes == 0
    with pytest.raises(BadSpec, match="501 B are more than the 500 B of AXI SRAM of test beside the 300 B"):
        with_reserved((BOARD,), {"axi sram": 501})


@pytest.mark.parametrize(
    ("reserve", "what"),
    [
        ({"dtcm": 1}, "no region is called 'dtcm'; the regions are flash, AXI SRAM"),
        ({"flash": "1MiB"}, "1,048,576 B are more than the 1,000 B of flash of test"),
        ({"flash": -1}, "-1 is no size of 'flash'"),
        ({"flash": "5KB"}, "'5KB' is no size of 'flash'; give bytes, or a number with one of B, kB"),
        ({"flash": None}, "None is no size"),
        ({"flash": True}, "True is no size"),
        ({3: 4}, "reserves nothing"),
        ({"": 4}, "reserves nothing"),
        (["flash"], "'flash' reserves nothing; write NAME=SIZE"),
        (["=4"], "'=4' reserves nothing"),
        ("flash=", "'' is no size of 'flash'"),
        (["flash=1", "FLASH=2"], "'FLASH' is there twice"),
        ({"flash": 1, "Flash": 2}, "'Flash' is there twice"),
        (7, "7 reserves nothing"),
        (b"flash=1", "reserves nothing"),
    ],
)
def test_bad_reservations(reserve: object, what: str) -> None:
    with pytest.raises(BadSpec) as caught:
        reserve_of(reserve, (BOARD,))  # type: ignore[arg-type]
    assert what in str(caught.value)
    assert str(caught.value).startswith("reserve: ")


def test_there_is_nothing_to_reserve_without_a_device() -> None:
    assert reserve_of((), ()) == ((), ())
    with pytest.raises(BadSpec, match="no region without a device"):
        reserve_of({"sram": 1}, ())
    with pytest.raises(BadSpec, match="no device here has a memory"):
        reserve_of({"sram": 1}, (find("ethos-u55-32"),))


def test_a_list_of_texts_is_as_good_as_a_mapping() -> None:
    assert reserve_of(["flash=10B", "axi sram=1"], (BOARD,)) == reserve_of({"flash": 10, "axi sram": "1"}, (BOARD,))
    assert reserve_of("flash=10", (BOARD,)) == reserve_of({"flash": 10}, (BOARD,))

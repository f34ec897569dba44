"""Verdicts by region, with needs and shortfalls computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.estimates.demands import SMALL, device, figure, memory
from weighbridge.estimates import fit

SIZES = st.integers(0, 2000)


def test_regions_apart() -> None:
    verdict = fit(SMALL, device(memory("flash", "weights", 800, reserved=250), memory("SRAM", "activations", 300)))
    flash, sram = verdict.regions
    assert (flash.needed_bytes, flash.available_bytes, flash.short_bytes, flash.verdict) == (
        600,
        550,
        50,
        "does not fit",
    )
    assert (flash.bytes, flash.reserved_bytes, flash.peak_node) == (800, 250, None)
    assert (sram.needed_bytes, sram.available_bytes, sram.short_bytes, sram.verdict) == (300, 300, 0, "fits")
    assert (sram.peak_node, sram.weight_ratio, sram.ratio) == ("conv1", None, 1.0)
    assert verdict.verdict == "does not fit"


def test_one_region_takes_both() -> None:
    verdict = fit(SMALL, device(memory("DRAM", "weights activations", 1000)))
    (region,) = verdict.regions
    assert (region.needed_bytes, region.short_bytes, region.verdict) == (900, 0, "fits")
    assert (region.ratio, region.weight_ratio, region.peak_node) == (0.9, 0.5, "conv1")
    assert verdict.verdict == "fits"
    assert not verdict.notes


def test_a_byte_decides() -> None:
    assert fit(SMALL, device(memory("DRAM", "weights activations", 900))).verdict == "fits"
    short = fit(SMALL, device(memory("DRAM", "weights activations", 899)))
    assert (short.verdict, short.regions[0].short_bytes) == ("does not fit", 1)


@pytest.mark.parametrize(
    "change",
    [{"stored_bytes": None}, {"peak_bytes": None}, {"stored_exact": False}, {"peak_exact": False}],
)
def test_what_is_not_known_for_certain_never_fits(change: dict[str, object]) -> None:
    verdict = fit(SMALL._replace(**change), device(memory("DRAM", "weights activations", 10**9)))
    assert verdict.verdict == "unknown"
    assert verdict.regions[0].short_bytes is None
    assert not verdict.regions[0].exact


@pytest.mark.parametrize("change", [{"peak_bytes": None}, {"stored_exact": False}, {"peak_exact": False}])
def test_a_need_known_from_below_can_still_be_too_large(change: dict[str, object]) -> None:
    verdict = fit(SMALL._replace(**change), device(memory("DRAM", "weights activations", 550)))
    assert verdict.verdict == "does not fit"
    assert verdict.regions[0].short_bytes == (50 if "peak_bytes" in change else 350)


def test_a_device_without_a_memory_for_activations_gives_no_verdict() -> None:
    verdict = fit(SMALL, device(memory("flash", "weights", 1000)))
    assert verdict.verdict == "unknown"
    assert verdict.notes == ("no memory is known to hold activations",)
    assert fit(SMALL, device(memory("flash", "weights", 10))).verdict == "does not fit"


def test_all_reserved_leaves_nothing() -> None:
    verdict = fit(SMALL, device(memory("DRAM", "weights activations", 100, reserved=200)))
    (region,) = verdict.regions
    assert (region.available_bytes, region.short_bytes, region.ratio) == (0, 900, None)


@given(stored=SIZES, peak=SIZES, more=SIZES, flash=SIZES, ram=SIZES)
def test_more_memory_never_hurts_and_a_larger_network_never_helps(
    stored: int, peak: int, more: int, flash: int, ram: int
) -> None:
    def fits(stored: int, peak: int, flash: int, ram: int) -> bool:
        chip = device(memory("flash", "weights", flash + 1), memory("SRAM", "activations", ram + 1))
        return fit(SMALL._replace(stored_bytes=stored, peak_bytes=peak), chip).verdict == "fits"

    if fits(stored, peak, flash, ram):
        assert fits(stored, peak, flash + more, ram)
        assert fits(stored, peak, flash, ram + more)
    else:
        assert not fits(stored + more, peak, flash, ram)
        assert not fits(stored, peak + more, flash, ram)


@given(stored=SIZES, peak=SIZES, free=SIZES, reserved=st.integers(1, 2000))
def test_the_shortfall_is_just_what_is_missing(stored: int, peak: int, free: int, reserved: int) -> None:
    demand = SMALL._replace(stored_bytes=stored, peak_bytes=peak)

    def verdict(missing: int) -> str:
        size = free + reserved + missing
        return fit(demand, device(memory("DRAM", "weights activations", size, reserved=reserved))).verdict

    (region,) = fit(demand, device(memory("DRAM", "weights activations", free + reserved, reserved=reserved))).regions
    assert region.short_bytes is not None
    assert verdict(region.short_bytes) == "fits"
    assert not region.short_bytes or verdict(region.short_bytes - 1) == "does not fit"


def test_a_doubt_is_told_where_the_region_counts() -> None:
    doubtful = figure(10_000, verified=False)
    used = replace(memory("flash", "weights", 1), bytes=doubtful)
    unused = replace(memory("backup SRAM", "", 1), bytes=doubtful)
    verdict = fit(SMALL, device(used, memory("SRAM", "activations", 300), unused))
    assert verdict.notes == ("the size of flash is not verified (made up for a test)",)

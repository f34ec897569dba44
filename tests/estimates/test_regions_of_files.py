"""TensorFlow Lite files on boards: the planned arena decides, and the estimate of the runtime's own data only doubts."""

from __future__ import annotations

from pathlib import Path

import pytest

import weighbridge
from weighbridge.estimates import Region

VWW = "mlperf_tiny/vww_96_int8.tflite"
ALIVE, PLANNED = 55_296, 73_728
RAM = 262_144


@pytest.fixture(scope="module")
def file(shared: Path) -> Path:
    return shared / "data" / "tflite" / VWW


def ram(file: Path, available: int, on: str = "nrf52840") -> Region:
    """The region of the activations, of which this much is left."""
    report = weighbridge.weigh(file, on=on, reserve={"ram": RAM - available})
    (region,) = (one for one in report.on[0].fit.regions if "activations" in one.holds)
    assert region.available_bytes == available
    return region


@pytest.mark.parametrize(("available", "short"), [(65_536, 8_192), (64_000, 9_728), (ALIVE, PLANNED - ALIVE)])
def test_what_is_planned_does_not_fit_where_what_is_alive_would(file: Path, available: int, short: int) -> None:
    region = ram(file, available)
    assert (region.verdict, region.needed_bytes, region.short_bytes) == ("does not fit", PLANNED, short)
    assert (region.policy, region.exact) == ("arena_tflm", True)
    assert region.peak_node


def test_between_the_arena_and_the_estimate_nobody_knows(file: Path) -> None:
    estimate = ram(file, RAM).estimated_bytes
    assert estimate is not None
    assert 20_000 < estimate < 40_000  # published.toml, tflm_persistent: about 29 kB for a network of these layers
    found = {size: ram(file, size) for size in (PLANNED - 1, PLANNED, PLANNED + estimate - 1, PLANNED + estimate)}
    assert [region.verdict for region in found.values()] == ["does not fit", "unknown", "unknown", "fits"]
    assert {(region.needed_bytes, region.estimated_bytes) for region in found.values()} == {(PLANNED, estimate)}


def test_the_library_is_that_of_the_board(file: Path) -> None:
    on = weighbridge.weigh(file, on=["nrf52840", "esp32-s3", "rp2040"]).on
    bases = [need.basis for one in on for region in one.fit.regions for need in region.contents if need.estimated]
    assert [basis.partition(" kernels, 4-byte pointers: ")[0] for basis in bases] == ["CMSIS-NN", "ESP-NN", "CMSIS-NN"]


def test_where_the_runtime_is_another_what_is_alive_decides(file: Path) -> None:
    (on,) = weighbridge.weigh(file, on="raspberry-pi-5").on
    (region,) = on.fit.regions
    assert (region.policy, region.verdict, region.holds) == ("live", "fits", ("weights", "activations"))
    (activations,) = (need for need in region.contents if need.content == "activations")
    assert activations.bytes == ALIVE

"""Verdicts and floors through the public interface, against the source material's figures."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import weighbridge


@pytest.fixture(scope="module")
def lecture(shared: Path) -> Any:
    with (shared / "facts" / "lecture.toml").open("rb") as file:
        return tomllib.load(file)


def test_eight_bit_alexnet_against_the_flash_of_a_microcontroller(lecture: Any) -> None:
    report = weighbridge.weigh("alexnet", weight_bits=8, on="stm32f746")
    flash = report.on[0].fit.regions[0]
    assert flash.name == "flash"
    assert flash.weight_ratio == pytest.approx(lecture["alexnet_size"]["flash_ratio"]["per_MiB"], abs=0.005)
    assert flash.needed_bytes == 60954656 + 4 * 10568  # biases stay at 32 bits
    assert report.on[0].fit.verdict == "does not fit"


def test_alexnets_count_runs_through_several_devices(lecture: Any) -> None:
    """FLOPs over FLOPS is the computation time."""
    flops = lecture["alexnet_totals"]["flops"]
    report = weighbridge.weigh("alexnet", on=["toy", "raspberry-pi-5", "jetson-agx-orin", "a100"])
    times = [on.latency.compute_s for on in report.on]
    assert times == [flops / 1e9, flops / 153.6e9, flops / 5.3e12, flops / 19.5e12]
    assert [on.conditions.precision for on in report.on] == ["float32"] * 4


def test_operations_of_integers_are_the_same_number_at_another_rate(lecture: Any) -> None:
    report = weighbridge.weigh("alexnet", precision="int8", on=["toy", "stm32f746"])
    assert report.facts.ops == lecture["alexnet_totals"]["flops"]
    assert [on.latency.compute_s for on in report.on] == [report.facts.ops / 4e9, report.facts.ops / 864e6]


def test_the_floor_is_the_larger_of_arithmetic_and_bytes() -> None:
    """AlexNet, float32, on the toy: 244 MB of weights and biases, the image and the scores at 1 GB a second."""
    (on,) = weighbridge.weigh("alexnet", on="toy").on
    moved = 4 * (60965224 + 150528 + 1000)
    assert on.latency.memory_s == moved / 1e9
    assert on.latency.floor_s == max(1448813632 / 1e9, moved / 1e9)
    assert (on.latency.bound, on.latency.exact) == ("compute", True)


def test_a_batch_shares_the_weights() -> None:
    """Eight images: eight times the arithmetic, the weights once."""
    one, eight = (weighbridge.weigh("alexnet", batch=batch, on="a100").on[0] for batch in (1, 8))
    assert one.latency.compute_s is not None
    assert eight.latency.compute_s == pytest.approx(8 * one.latency.compute_s)
    assert eight.latency.memory_s == (4 * 60965224 + 8 * 4 * 151528) / 2039e9
    assert (one.conditions.batch, eight.conditions.batch) == (1, 8)
    assert one.latency.bound == "memory"


def test_folded_batch_norm_is_not_kept() -> None:
    """ResNet-18 deployed: a bias for each channel in the place of four statistics."""
    (on,) = weighbridge.weigh("resnet18", on="toy").on
    report = weighbridge.weigh("resnet18")
    assert on.fit.regions[0].needed_bytes == 4 * report.facts.deployed_parameters + report.memory.peak_bytes["live"]


def test_a_lower_bound_never_fits() -> None:
    from weighbridge.builder import Builder
    from weighbridge.dtypes import DTYPES
    from weighbridge.graph import UNKNOWN, TensorType

    builder = Builder("strange")
    x = builder.input("x", (1, 4), DTYPES["float32"])
    (y,) = builder.opaque(UNKNOWN, [("x", x)], [TensorType((1, 4), DTYPES["float32"])], name="y", origin="my.Op")
    report = weighbridge.weigh(builder.graph([y]), on="a100")
    assert report.on[0].fit.verdict == "unknown"
    assert not report.on[0].latency.exact

"""Latency: what stands on the page is the estimate, whose floor is the longer of two quotients."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import weighbridge
from weighbridge.report.expectations import basis, expected_time
from weighbridge.textbook import names
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.latency import latency

SIMULATOR = latency()


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def read(**state: object) -> dict[str, object]:
    """The readouts of a state by their names."""
    return {one.name: one.value for one in answer(**state).readouts}


def test_expected_times_are_those_of_the_report_and_apart_from_the_floor() -> None:
    state = {"network": "mcunet_in3", "precision": "int8", "one": "stm32f746", "other": "a100"}
    found = {one.name: one for one in answer(**state).readouts}
    (one,) = weighbridge.weigh("mcunet_in3", precision="int8", on="stm32f746").on[0].expected
    said = found["one.expected_s.HALE 1.0.175"]
    assert (said.value, said.shown, said.meaning) == (one.time_s, expected_time(one), basis(one))
    assert one.beyond in said.meaning
    assert not [name for name in found if name.startswith("other.expected")]
    floats = answer(**{**state, "precision": "float16"})
    assert not [one for one in floats.readouts if "expected" in one.name]
    assert [note for note in floats.notes if "expected time with HALE 1.0.175 unknown" in note]


@pytest.mark.parametrize("network", names())
def test_each_time_is_a_numerator_over_a_denominator(network: str) -> None:
    """The oracle is the formula itself, in fractions; and the report says the same."""
    for batch, precision in product((1, 48), ("float32", "float16", "int8")):
        found = read(network=network, batch=batch, precision=precision, one="jetson-agx-orin", other="toy")
        on = weighbridge.weigh(network, batch=batch, precision=precision, on=["jetson-agx-orin", "toy"]).on
        moved = found["stored_read_bytes"] + found["running_bytes"]
        for one, reported in zip(("one", "other"), on, strict=True):
            (rate,) = [value for name, value in found.items() if name.startswith(f"{one}.bandwidth_bytes_per_s")]
            assert found[f"{one}.memory_s"] == float(Fraction(moved, rate)) == reported.latency.memory_s
            assert found[f"{one}.floor_s"] == reported.latency.floor_s
            assert found[f"{one}.bound"] == reported.latency.bound
            peak = found[f"{one}.peak_ops_per_s"]
            if peak is None:
                assert found[f"{one}.compute_s"] is None or found["ops"] == 0
            else:
                assert found[f"{one}.compute_s"] == float(Fraction(found["ops"], peak))
                assert found[f"{one}.floor_s"] == max(found[f"{one}.compute_s"], found[f"{one}.memory_s"])


def test_the_operations_are_twice_the_macs_of_the_lecture(lecture) -> None:
    assert read(network="alexnet")["ops"] == 2 * lecture["alexnet_totals"]["macs"] == lecture["alexnet_totals"]["flops"]


def test_the_batch_moves_the_operations_and_leaves_the_weights() -> None:
    one, many = read(network="alexnet", batch=1), read(network="alexnet", batch=64)
    assert many["ops"] == 64 * one["ops"]
    assert many["running_bytes"] == 64 * one["running_bytes"]
    assert many["stored_read_bytes"] == one["stored_read_bytes"]
    assert (one["one.bound"], many["one.bound"]) == ("memory", "compute")


def test_what_a_device_offers_says_whether_it_is_verified() -> None:
    said = answer(network="alexnet", precision="float16", one="jetson-agx-orin", other="a100")
    shown = {one.name: one.shown for one in said.readouts}
    assert shown["one.peak_ops_per_s"] == "~42.50 T operations a second"
    assert shown["one.bandwidth_bytes_per_s.DRAM"] == "~204.8 GB a second"
    assert shown["one.ridge_ops_per_byte"].startswith("~")
    assert "is ~" in said.sentences[-1]
    measured = {one.name: one.shown for one in answer(is_measured=1, one="jetson-agx-orin").readouts}
    assert measured["utilisation"].startswith("~")
    assert measured["measured_per_floor"].startswith("~")
    assert measured["measured_s"] == "5.000 ms"
    assert not [name for name, text in shown.items() if name.startswith("other.") and "~" in text]
    texts = {row["text"] for row in said.plots[0].rows if row["part"].startswith("hardware")}
    assert {"~42.50 T ops/s", "~204.8 GB/s", "312.0 T ops/s"} <= texts


def test_a_rate_that_is_not_stated_is_unknown_and_no_bar() -> None:
    said = answer(network="alexnet", precision="int8", one="jetson-nano", other="stm32f746")
    shown = {one.name: (one.value, one.shown) for one in said.readouts}
    assert shown["one.peak_ops_per_s"] == shown["one.compute_s"] == shown["one.floor_s"] == (None, "?")
    assert shown["other.memory_s"] == shown["other.bandwidth_bytes_per_s.SRAM"] == (None, "?")
    assert shown["other.verdict"] == ("does not fit", "does not fit")
    bars = {plot.name: [row["part"] for row in plot.rows] for plot in said.plots if plot.name != "fractions"}
    assert bars == {"bars_one": ["moving bytes"], "bars_other": ["computing"]}
    assert any("no latency" in note for note in said.notes)


def test_two_bars_lie_over_each_other_and_the_longer_is_named() -> None:
    said = answer(network="resnet50", batch=64, one="jetson-agx-orin", other="jetson-nano")
    for one in ("one", "other"):
        (bars,) = [plot for plot in said.plots if plot.name == f"bars_{one}"]
        times = {row["part"]: row["ms"] for row in bars.rows}
        assert max(times, key=times.get) == "computing"
        assert times["computing"] / 1000 == pytest.approx(read(network="resnet50", batch=64)[f"{one}.floor_s"])
    assert sum("compute-bound" in sentence for sentence in said.sentences) == 2


def test_a_measured_time_gives_the_utilisation() -> None:
    floor_s = read(network="resnet50")["one.floor_s"]
    assert "utilisation" not in read(network="resnet50")
    found = read(network="resnet50", is_measured=1, measured_ms=2.5)
    assert found["utilisation"] == pytest.approx(floor_s / 0.0025)
    assert found["utilisation"] * found["measured_per_floor"] == pytest.approx(1)
    assert found["measured_s"] == 0.0025


@pytest.mark.parametrize(("measured_ms", "is_doubted"), [(0.001, True), (1000, False)])
def test_a_time_below_the_floor_is_doubted(measured_ms: float, is_doubted: bool) -> None:
    said = answer(network="resnet50", is_measured=1, measured_ms=measured_ms)
    assert any("below the floor" in sentence for sentence in said.sentences) == is_doubted


def test_without_a_floor_the_utilisation_is_unknown() -> None:
    found = read(precision="int8", one="jetson-nano", is_measured=1)
    assert found["utilisation"] is None
    assert found["measured_per_floor"] is None

"""The floor: max(operations / peak, compulsory bytes / bandwidth), by hand on round numbers and on the literature's."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.estimates.demands import SMALL, device, figure, memory
from weighbridge.devices.catalogue import find
from weighbridge.devices.device import Device, Peak
from weighbridge.errors import BadSpec
from weighbridge.estimates import Demand, estimate, latency, utilisation

BOTH = "weights activations"


def test_compute_bound_and_memory_bound_on_one_memory() -> None:
    """4000 operations; 600 + 100 + 50 bytes."""
    floor = latency(SMALL, device(memory("DRAM", BOTH, 1000, 1000), int8=1000), "int8")
    assert (floor.compute_s, floor.memory_s, floor.floor_s, floor.bound) == (4.0, 0.75, 4.0, "compute")
    floor = latency(SMALL, device(memory("DRAM", BOTH, 1000, 1000), int8=8000), "int8")
    assert (floor.compute_s, floor.memory_s, floor.floor_s, floor.bound) == (0.5, 0.75, 0.75, "memory")
    assert floor.layerwise_s is None
    assert (floor.exact, floor.verified, floor.notes) == (True, True, ())


def test_memories_beside_each_other_work_at_the_same_time() -> None:
    chip = device(memory("flash", "weights", 1000, 600), memory("SRAM", "activations", 1000, 300), int8=8000)
    assert latency(SMALL, chip, "int8").memory_s == 1.0
    chip = device(memory("flash", "weights", 1000, 6000), memory("SRAM", "activations", 1000, 300), int8=8000)
    assert latency(SMALL, chip, "int8").memory_s == 0.5


def test_without_a_bandwidth_the_floor_is_that_of_the_arithmetic_and_says_so() -> None:
    floor = latency(SMALL, device(memory("DRAM", BOTH, 1000), int8=1000), "int8")
    assert (floor.floor_s, floor.memory_s, floor.bound) == (4.0, None, None)
    assert floor.notes == ("the bandwidth of DRAM is not known: moving 750 B counts as no time",)


@pytest.mark.parametrize("precision", ["float32", None])
def test_without_a_peak_there_is_no_floor_but_a_sentence(precision: str | None) -> None:
    floor = latency(SMALL, device(memory("DRAM", BOTH, 1000, 1000), int8=1000), precision)
    assert (floor.floor_s, floor.compute_s, floor.bound, floor.unit) == (None, None, None, None)
    assert floor.memory_s == 0.75
    (note,) = floor.notes
    assert note.startswith("no latency, as ")
    assert precision is None or "float32 is not known (stated are int8)" in note


def test_a_network_without_operations_needs_no_peak() -> None:
    floor = latency(SMALL._replace(ops=0, precision=None), device(memory("DRAM", BOTH, 1000, 1000)), None)
    assert (floor.floor_s, floor.compute_s, floor.bound, floor.notes) == (0.75, 0.0, "memory", ())


def test_the_fastest_unit_is_used_and_named() -> None:
    chip = device(memory("DRAM", BOTH, 1000, 1000), int8=1000)
    chip = dataclasses.replace(chip, peaks=(*chip.peaks, Peak("accelerator", "int8", figure(4000, verified=False))))
    floor = latency(SMALL, chip, "int8")
    assert (floor.compute_s, floor.unit, floor.peak_ops_per_s, floor.verified) == (1.0, "accelerator", 4000, False)
    assert floor.notes == ("the peak of the accelerator at int8 is not verified (made up for a test)",)


def test_lower_bounds_are_marked() -> None:
    chip = device(memory("DRAM", BOTH, 1000, 1000), int8=1000)
    assert not latency(SMALL._replace(ops_exact=False), chip, "int8").exact
    assert not latency(SMALL._replace(moved_exact=False), chip, "int8").exact


def test_absurd_counts_give_no_time_instead_of_infinity() -> None:
    floor = latency(SMALL._replace(ops=10**400), device(memory("DRAM", BOTH, 1000, 1000), int8=1), "int8")
    assert (floor.compute_s, floor.floor_s) == (None, None)


POSITIVE = st.integers(1, 10**12)


@given(ops=POSITIVE, stored=POSITIVE, ends=POSITIVE, more=POSITIVE, rate=POSITIVE, bandwidth=POSITIVE)
def test_more_work_never_takes_less_time_and_a_faster_device_never_takes_more(
    ops: int, stored: int, ends: int, more: int, rate: int, bandwidth: int
) -> None:
    def floor(ops: int, stored: int, ends: int, rate: int, bandwidth: int) -> float:
        demand = SMALL._replace(ops=ops, stored_read_bytes=stored, input_bytes=ends)
        found = latency(demand, device(memory("DRAM", BOTH, 1, bandwidth), int8=rate), "int8").floor_s
        assert found is not None
        return found

    base = floor(ops, stored, ends, rate, bandwidth)
    assert floor(ops + more, stored, ends, rate, bandwidth) >= base
    assert floor(ops, stored + more, ends, rate, bandwidth) >= base
    assert floor(ops, stored, ends + more, rate, bandwidth) >= base
    assert floor(ops, stored, ends, rate + more, bandwidth) <= base
    assert floor(ops, stored, ends, rate, bandwidth + more) <= base


@given(ops=POSITIVE, moved=POSITIVE, rate=POSITIVE, bandwidth=POSITIVE)
def test_the_floor_is_the_roofline_seen_from_the_other_side(ops: int, moved: int, rate: int, bandwidth: int) -> None:
    """Operations / floor = min(peak, bandwidth x operations a byte)."""
    demand = SMALL._replace(ops=ops, stored_read_bytes=moved, input_bytes=0, output_bytes=0)
    floor = latency(demand, device(memory("DRAM", BOTH, 1, bandwidth), int8=rate), "int8").floor_s
    assert floor is not None
    assert ops / floor == pytest.approx(min(rate, bandwidth * ops / moved))


def alexnet(shared: Path, bytes_per_value: int) -> Demand:
    """AlexNet's counts as the source material states them, weights only."""
    with (shared / "facts" / "lecture.toml").open("rb") as file:
        lecture = tomllib.load(file)
    totals = lecture["alexnet_totals"]
    return SMALL._replace(
        ops=totals["flops"],
        stored_read_bytes=totals["weights"] * bytes_per_value,
        input_bytes=150528 * bytes_per_value,
        output_bytes=1000 * bytes_per_value,
        precision="float32" if bytes_per_value == 4 else "int8",
    )


def test_the_count_over_the_rate_is_the_computation_time_on_several_devices(shared: Path) -> None:
    """FLOPs over FLOPS: 1,448,813,632 operations at 1 G, 153.6 G, 5.3 T and 19.5 T operations a second."""
    times = {
        name: latency(alexnet(shared, 4), find(name), "float32").compute_s
        for name in ("toy", "raspberry-pi-5", "jetson-agx-orin", "a100")
    }
    assert times == {
        "toy": 1448813632 / 10**9,
        "raspberry-pi-5": 1448813632 / (1536 * 10**8),
        "jetson-agx-orin": 1448813632 / (53 * 10**11),
        "a100": 1448813632 / (195 * 10**11),
    }


def test_alexnet_is_compute_bound_on_the_toy_and_memory_bound_on_the_gpu(shared: Path) -> None:
    toy = latency(alexnet(shared, 4), find("toy"), "float32")
    assert (toy.bound, toy.floor_s, toy.memory_s) == ("compute", 1.448813632, (60954656 + 150528 + 1000) * 4 / 10**9)
    gpu = latency(alexnet(shared, 4), find("a100"), "float32")
    assert (gpu.bound, gpu.floor_s) == ("memory", (60954656 + 150528 + 1000) * 4 / 2039e9)


def test_the_microcontroller_has_a_floor_at_int8_only(shared: Path) -> None:
    """864 M operations a second, a figure that is marked as not verified; no bandwidth is known."""
    floor = latency(alexnet(shared, 1), find("stm32f746"), "int8")
    assert floor.floor_s == 1448813632 / 864e6
    assert not floor.verified
    assert latency(alexnet(shared, 4), find("stm32f746"), "float32").floor_s is None


def test_sparse_rates_are_not_used(shared: Path) -> None:
    """The vendor's 275 TOPS is sparse: a dense network gets half of it."""
    floor = latency(alexnet(shared, 1), find("jetson-agx-orin"), "int8")
    assert floor.peak_ops_per_s == 275 * 10**12 // 2


def test_an_estimate_states_its_conditions() -> None:
    chip: Device = device(memory("DRAM", BOTH, 1000, 1000), int8=1000, float16=1000)
    own = estimate(SMALL, chip, batch=4)
    assert own.conditions == ("Test device", None, "int8", 4)
    assert own.notes == ()
    other = estimate(SMALL, chip, "fp16")
    assert other.conditions.precision == "float16"
    assert other.notes == ("arithmetic at float16, bytes as the network stores them (int8)",)
    assert estimate(SMALL._replace(precision="float32"), chip, "tf32").notes[0].startswith("no latency")
    with pytest.raises(BadSpec, match="there is no precision 'fp17'"):
        estimate(SMALL, chip, "fp17")


@pytest.mark.parametrize(("exact", "compute_s"), [(True, 0.0), (False, None)])
def test_where_nothing_that_is_counted_takes_time_there_is_no_floor(exact: bool, compute_s: float | None) -> None:
    """No MACs and no bandwidth: 0 s would be a floor that says nothing."""
    nothing = SMALL._replace(ops=0, ops_exact=exact, precision=None)
    floor = latency(nothing, device(memory("DRAM", BOTH, 1000), int8=1000), None)
    assert (floor.floor_s, floor.compute_s, floor.memory_s, floor.bound) == (None, compute_s, None, None)
    assert floor.notes == ("no latency, as no MACs are counted and no bandwidth is known",)


def test_bytes_alone_give_a_floor_where_operations_are_not_counted() -> None:
    uncounted = SMALL._replace(ops=0, ops_exact=False, precision=None)
    floor = latency(uncounted, device(memory("DRAM", BOTH, 1000, 1000)), None)
    assert (floor.floor_s, floor.compute_s, floor.exact) == (0.75, None, False)


def test_utilisation_is_the_floor_over_the_measured_time() -> None:
    assert utilisation(0.5, 2.0) == 0.25
    assert utilisation(3.0, 2.0) == 1.5
    assert utilisation(None, 2.0) is None

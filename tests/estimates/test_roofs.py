"""Roofs over the layers: corners by hand on round numbers, no layer above its roof, and what is not known."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weighbridge
from tests.estimates.demands import SMALL, device, memory
from weighbridge import Report
from weighbridge.devices.device import Device
from weighbridge.estimates import Demand, NodeDemand, Roofline, estimate

BOTH = "weights activations"
CONV = NodeDemand("conv", 4000, "int8", 600, 150, True)
POOL = NodeDemand("pool", 0, None, 0, 3000, True)


def needs(*nodes: NodeDemand) -> Demand:
    return SMALL._replace(nodes=nodes)


def found(demand: Demand, chip: Device, precision: str | None = None) -> Roofline:
    roofline = estimate(demand, chip, precision).roofline
    assert roofline is not None
    return roofline


def test_the_corners_of_one_memory_and_one_rate() -> None:
    """2000 operations a second over 1000 B/s meet at 2; the layer and the network are at 5.3 operations a byte."""
    roofline = found(needs(CONV, POOL), device(memory("DRAM", BOTH, 1000, 1000), int8=2000))
    assert (roofline.memories, roofline.bandwidth_bytes_per_s) == (("DRAM",), 1000)
    (roof,) = roofline.roofs
    assert roof[:4] == ("int8", "core", 2000, 2.0)
    assert roof.points == ((0.1, 100.0), (2.0, 2000.0), (100.0, 2000.0))


def test_a_layer_attains_its_operations_over_its_time() -> None:
    conv, pool = estimate(needs(CONV, POOL), device(memory("DRAM", BOTH, 1000, 100), int8=2000)).nodes
    assert (conv.time_s, conv.attained_ops_per_s, conv.precision) == (7.5, 4000 / 7.5, "int8")
    assert (pool.time_s, pool.attained_ops_per_s, pool.precision) == (30.0, None, None)


def test_memories_beside_each_other_deliver_together() -> None:
    """600 B at 300 B/s and 150 B at 100 B/s: the layer waits for flash, and lies below what both could deliver at once."""
    chip = device(memory("flash", "weights", 1, 300), memory("SRAM", "activations", 1, 100), int8=10**6)
    roofline = found(needs(CONV), chip)
    assert (roofline.memories, roofline.bandwidth_bytes_per_s) == (("flash", "SRAM"), 400)
    (conv,) = estimate(needs(CONV), chip).nodes
    assert conv.attained_ops_per_s == 2000.0 < 400 * 4000 / 750


def test_a_memory_that_nothing_goes_through_delivers_nothing() -> None:
    chip = device(memory("flash", "weights", 1, 300), memory("SRAM", "activations", 1, 100), int8=10)
    assert found(needs(POOL), chip)[:2] == (("SRAM",), 100)
    assert found(needs(), chip) == ((), None, ())


@pytest.mark.parametrize(
    "chip",
    [
        device(memory("flash", "weights", 1, 300), memory("SRAM", "activations", 1), int8=2000),
        device(memory("SRAM", "activations", 1, 300), int8=2000),
        device(int8=2000),
    ],
)
def test_without_one_of_the_bandwidths_the_roof_is_flat(chip: Device) -> None:
    roofline = found(needs(CONV), chip)
    assert roofline.bandwidth_bytes_per_s is None
    assert roofline.roofs[0].ridge_ops_per_byte is None
    assert roofline.roofs[0].points == ((1.0, 2000.0), (10.0, 2000.0))


def test_there_is_a_roof_for_each_precision_that_has_a_rate() -> None:
    nodes = (
        CONV,
        CONV._replace(precision="float16"),
        CONV._replace(precision="float64"),
        CONV._replace(precision=None),
    )
    chip = device(memory("DRAM", BOTH, 1000, 1000), int8=2000, float16=4000, float32=10**9)
    assert [(roof.precision, roof.ridge_ops_per_byte) for roof in found(needs(*nodes), chip).roofs] == [
        ("float16", 4.0),
        ("int8", 2.0),
    ]
    assert [roof.precision for roof in found(needs(*nodes), chip, "float32").roofs] == ["float32"]
    assert found(needs(CONV), device(memory("DRAM", BOTH, 1, 10), float16=1))[1:] == (10, ())


@pytest.mark.parametrize("name", ["alexnet", "mobilenet_v2", "resnet50"])
@pytest.mark.parametrize("chip", ["toy", "jetson-agx-orin", "a100", "stm32-f746g-disco"])
def test_no_layer_is_above_its_roof_and_the_ridge_is_that_of_the_floor(name: str, chip: str) -> None:
    report = weighbridge.weigh(name, on=chip, precision="int8")
    (on,) = report.on
    assert on.roofline is not None and on.nodes is not None
    bandwidth = on.roofline.bandwidth_bytes_per_s
    (roof,) = on.roofline.roofs
    assert bandwidth
    if len(on.roofline.memories) == 1:
        assert math.isclose(roof.ridge_ops_per_byte or 0, on.latency.ridge_ops_per_byte or 0)
    for node, time in zip(report.nodes, on.nodes, strict=True):
        assert bool(time.attained_ops_per_s) == bool(node.macs)
        if time.attained_ops_per_s and time.time_s and time.intensity_ops_per_byte:
            assert math.isclose(time.attained_ops_per_s, 2 * (node.macs or 0) / time.time_s)
            limit = min(roof.ops_per_s, bandwidth * time.intensity_ops_per_byte)
            assert time.attained_ops_per_s <= limit * (1 + 1e-12)
            assert roof.points[0].intensity_ops_per_byte < time.intensity_ops_per_byte
            assert time.intensity_ops_per_byte < roof.points[-1].intensity_ops_per_byte
    assert Report.from_json(report.to_json()) == report


def test_a_report_that_was_saved_before_there_were_roofs_is_read() -> None:
    data = weighbridge.weigh("lenet5", on="toy").to_dict()
    (on,) = data["on"]  # type: ignore[misc]
    del on["roofline"], on["nodes"][0]["attained_ops_per_s"], on["nodes"][0]["precision"]
    (read,) = Report.from_dict(data).on
    assert read.roofline is None and read.nodes is not None
    assert read.nodes[0].attained_ops_per_s is read.nodes[0].precision is None


RATES = st.integers(1, 10**30)


@given(ops=st.integers(1, 10**40), moved=st.integers(0, 10**40), rate=RATES, bandwidth=RATES)
def test_a_roof_leads_from_left_to_right_through_its_ridge(ops: int, moved: int, rate: int, bandwidth: int) -> None:
    node = NodeDemand("n", 2 * ops, "int8", 0, moved, True)
    chip = device(memory("DRAM", BOTH, 1, bandwidth), int8=rate)
    (roof,) = found(needs(node), chip).roofs
    (time,) = estimate(needs(node), chip).nodes
    intensities = [point.intensity_ops_per_byte for point in roof.points]
    assert intensities == sorted(set(intensities))
    assert roof.points[-1].ops_per_s == float(roof.ops_per_s)
    if moved:
        assert roof.points[1] == (roof.ridge_ops_per_byte, float(roof.ops_per_s))
        assert intensities[0] < (time.intensity_ops_per_byte or 0) < intensities[-1]
        assert roof.points[0].ops_per_s <= bandwidth * intensities[0] * (1 + 1e-12)


def test_rates_beyond_what_a_float_holds_have_no_points() -> None:
    """The sizes are absurd, and the report is still written."""
    roofline = found(needs(CONV), device(memory("DRAM", BOTH, 1, 10**400), int8=10**400))
    assert [roof.points for roof in roofline.roofs] == [()]

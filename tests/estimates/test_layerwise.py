"""Times of single nodes: by hand on round numbers, against the floor, and node by node on real networks."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weighbridge
from tests.estimates.demands import SMALL, device, memory
from tests.onnx.files import OPEN, Sizes, onnx_files
from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.estimates import NodeDemand, demand, estimate, latency, layerwise, node_times
from weighbridge.graph import UNKNOWN, TensorType
from weighbridge.memory import plan
from weighbridge.passes import deploy

BOTH = "weights activations"
CONV = NodeDemand("conv", 4000, "int8", 600, 150, True)
POOL = NodeDemand("pool", 0, None, 0, 3000, True)


def test_a_node_takes_the_longer_of_computing_and_moving() -> None:
    chip = device(memory("DRAM", BOTH, 1000, 1000), int8=2000)
    conv, pool = node_times(SMALL._replace(nodes=(CONV, POOL)), chip)
    assert conv == ("conv", 2.0, 0.75, "compute", 2.0, 4000 / 750, True, "int8", 2000.0)
    assert pool == ("pool", 0.0, 3.0, "memory", 3.0, 0.0, True, None, None)
    assert layerwise(SMALL._replace(nodes=(CONV, POOL)), chip, (conv, pool)) == (5.0, True, ())


def test_memories_beside_each_other_work_at_the_same_time() -> None:
    chip = device(memory("flash", "weights", 1, 300), memory("SRAM", "activations", 1, 100), int8=10**6)
    (conv,) = node_times(SMALL._replace(nodes=(CONV,)), chip)
    assert (conv.memory_s, conv.bound) == (2.0, "memory")  # 600 B at 300 B/s; 150 B at 100 B/s


def test_a_node_at_a_precision_without_a_rate_leaves_no_sum_but_a_sentence() -> None:
    chip = device(memory("DRAM", BOTH, 1000, 1000), int8=2000)
    needs = SMALL._replace(nodes=(CONV, CONV._replace(name="head", precision="float32"), POOL))
    times = node_times(needs, chip)
    assert [time.time_s for time in times] == [2.0, None, 3.0]
    assert layerwise(needs, chip, times) == (
        None,
        False,
        ("no layerwise time, as the peak rate of head at float32 is not known",),
    )
    assert layerwise(needs, chip, node_times(needs, chip, "int8"), "int8").time_s == 7.0


def test_without_a_bandwidth_what_only_moves_takes_no_time_that_is_known() -> None:
    needs = SMALL._replace(nodes=(CONV, POOL))
    chip = device(memory("DRAM", BOTH, 1000), int8=2000)
    times = node_times(needs, chip)
    assert [(time.compute_s, time.memory_s, time.bound) for time in times] == [(2.0, None, None), (0.0, None, None)]
    assert [time.time_s for time in times] == [2.0, None]
    assert layerwise(needs, chip, times) == (2.0, False, ())


def test_bytes_through_a_memory_without_bandwidth_take_an_unknown_time_not_none() -> None:
    """Flash has a bandwidth, RAM none: the pool reads nothing from flash."""
    chip = device(memory("flash", "weights", 1000, 300), memory("SRAM", "activations", 1000), int8=2000)
    conv, pool = node_times(SMALL._replace(nodes=(CONV, POOL)), chip)
    assert (conv.memory_s, pool.memory_s, pool.time_s) == (2.0, None, None)
    assert layerwise(SMALL._replace(nodes=(CONV, POOL)), chip, (conv, pool)) == (2.0, False, ())
    (unknown,) = node_times(SMALL._replace(nodes=(NodeDemand("odd", 0, None, 0, 0, False),)), chip)
    assert (unknown.compute_s, unknown.memory_s, unknown.time_s) == (None, None, None)
    (view,) = node_times(SMALL._replace(nodes=(NodeDemand("view", 0, None, 0, 0, True),)), chip)
    assert view.time_s == 0.0
    (view,) = node_times(SMALL._replace(nodes=(NodeDemand("view", 0, None, 0, 0, True),)), device(int8=1))
    assert view.time_s == 0.0


@pytest.mark.parametrize(("holds", "other"), [("weights", "activations"), ("activations", "weights")])
def test_what_no_memory_holds_takes_no_time_and_is_told(holds: str, other: str) -> None:
    found = latency(SMALL, device(memory("one", holds, 1000, 100), int8=1000), "int8")
    assert found.ridge_ops_per_byte is None
    (note,) = found.notes
    assert note.startswith(f"no memory is known to hold {other}: moving ")


def test_macs_without_a_rate_take_no_time_and_are_told() -> None:
    """3000 of 4000 operations have a rate; the rest is not timed at another precision's."""
    needs = SMALL._replace(macs_by_precision=(("int8", 1500), ("float16", 500)), nodes=(CONV,))
    found = estimate(needs, device(memory("DRAM", BOTH, 1000, 10**6), int8=1000))
    assert (found.latency.compute_s, found.latency.exact) == (3.0, False)
    assert "the floor counts 500 MACs at float16 as no time: their rate is not known" in found.notes


def test_a_node_that_is_not_counted_makes_the_sum_a_lower_bound() -> None:
    builder = Builder("net")
    x = builder.input("x", (1, 4), DTYPES["float32"])
    (y,) = builder.opaque(UNKNOWN, [("x", x)], [TensorType((1, 4), DTYPES["float32"])], name="odd", origin="my.Op")
    w = builder.stored("w", (4, 4), DTYPES["float32"])
    (z,) = builder.add("linear", [("x", y), ("w", w)], name="fc")
    report = weighbridge.weigh(builder.graph([z]), on="toy")
    odd, fc = report.on[0].nodes
    assert (odd.compute_s, odd.exact) == (None, False)
    assert (fc.compute_s, fc.exact) == (32e-9, True)
    assert not report.on[0].latency.layerwise_exact


def test_floats_among_integers_have_their_own_rate() -> None:
    """A float32 layer and a smaller int8 one: the floor takes the faster rate for both and says so, the layers have their own."""
    builder = Builder("mixed")
    x = builder.input("x", (1, 64), DTYPES["int8"])
    w = builder.stored("w", (64, 64), DTYPES["int8"])
    (x,) = builder.add("linear", [("x", x), ("w", w)], name="small")
    (x,) = builder.add("cast", [("x", x)], {"dtype": "float32"}, name="cast")
    v = builder.stored("v", (100, 64), DTYPES["float32"])
    (x,) = builder.add("linear", [("x", x), ("w", v)], name="head")
    (on,) = weighbridge.weigh(builder.graph([x]), on="toy").on
    assert on.conditions.precision == "float32"
    times = {one.name: one.compute_s for one in on.nodes}
    assert (times["small"], times["head"]) == (2 * 64 * 64 / 4e9, 2 * 100 * 64 / 1e9)
    assert on.latency.compute_s == 2 * 164 * 64 / 4e9
    assert any("takes all MACs at int8, the fastest" in note for note in on.notes)
    (forced,) = weighbridge.weigh(builder.graph([x]), on="toy", precision="float32").on
    assert forced.latency.compute_s == 2 * 164 * 64 / 1e9
    assert not any("the fastest" in note for note in forced.notes)


COUNTS = st.integers(0, 10**9)
NODES = st.builds(lambda ops, kept, moved: NodeDemand("n", 2 * ops, "int8", kept, moved, True), COUNTS, COUNTS, COUNTS)


@given(nodes=st.lists(NODES, min_size=1, max_size=6), rate=st.integers(1, 10**9), bandwidth=st.integers(1, 10**9))
def test_layer_by_layer_is_never_faster_than_the_floor(nodes: list[NodeDemand], rate: int, bandwidth: int) -> None:
    """What a network must move is part of what its layers move."""
    needs = SMALL._replace(
        ops=sum(node.ops for node in nodes),
        stored_read_bytes=sum(node.stored_bytes for node in nodes),
        input_bytes=nodes[0].running_bytes,
        output_bytes=0,
        nodes=tuple(nodes),
    )
    found = estimate(needs, device(memory("DRAM", BOTH, 1, bandwidth), int8=rate)).latency
    if found.floor_s is not None:
        assert found.layerwise_s >= found.floor_s * (1 - 1e-12)


def test_nodes_add_up_to_the_network(shared: Path) -> None:
    """Over the shared files: operations of the nodes, those by precision and the total are one number."""
    checked = 0
    for name, path in onnx_files(shared).items():
        sizes = OPEN.get(name, Sizes())
        try:
            graph = weighbridge.load(path, dims=sizes.dims, inputs=sizes.inputs)
        except weighbridge.WeighbridgeError:
            continue
        deployed = deploy(graph)
        facts = count(graph, deployed)
        needs = demand(deployed, facts, plan(deployed))
        assert [node.name for node in needs.nodes] == [node.name for node in facts.nodes]
        assert sum(node.ops for node in needs.nodes) == facts.ops == needs.ops, name
        assert 2 * sum(macs for _, macs in needs.macs_by_precision) == facts.ops, name
        assert all(node.stored_bytes >= 0 and node.running_bytes >= 0 for node in needs.nodes)
        checked += 1
    assert checked > 130


def test_the_ridge_of_memories_beside_each_other_is_that_of_this_use_and_unknown_with_one_of_them() -> None:
    """600 B at 300 B/s and 150 B at 100 B/s take 2 s: at 4000 operations a second 8000 of them, over 750 B."""
    flash, ram = memory("flash", "weights", 1, 300), memory("SRAM", "activations", 1, 100)
    found = latency(SMALL, device(flash, ram, int8=4000), "int8")
    assert found.ridge_ops_per_byte == pytest.approx(8000 / 750)
    assert (found.ridge_ops_per_byte > found.intensity_ops_per_byte) == (found.bound == "memory")
    assert latency(SMALL, device(memory("flash", "weights", 1), ram, int8=4000), "int8").ridge_ops_per_byte is None


@pytest.mark.parametrize("name", ["alexnet", "mobilenet_v2", "resnet50"])
def test_where_a_layer_lies_under_the_roofline(name: str) -> None:
    """Operations / time = min(peak, bandwidth x intensity), layer by layer and for the whole."""
    report = weighbridge.weigh(name, on="a100")
    (on,) = report.on
    peak, bandwidth = 19.5e12, 2039e9
    assert math.isclose(on.latency.ridge_ops_per_byte, peak / bandwidth)
    assert math.isclose(on.latency.attainable_ops_per_s, min(peak, bandwidth * on.latency.intensity_ops_per_byte))
    for node, time in zip(report.nodes, on.nodes, strict=True):
        assert time.name == node.name
        if node.macs:
            attained = node.flops / time.time_s
            assert math.isclose(attained, min(peak, bandwidth * time.intensity_ops_per_byte))
            assert time.bound == ("compute" if time.intensity_ops_per_byte >= peak / bandwidth else "memory")
        if node.read_bytes is not None and time.memory_s is not None:
            assert math.isclose(time.memory_s, (node.read_bytes + node.write_bytes) / bandwidth)
    assert math.isclose(on.latency.layerwise_s, sum(time.time_s for time in on.nodes))

"""What has to move is never more than what the layers move: on hand-made graphs, random ones, and all shared files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

import weighbridge
from tests.estimates.demands import device, memory
from tests.onnx.files import OPEN, Sizes, onnx_files
from tests.random_graphs import graphs
from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.estimates import Demand, demand, estimate
from weighbridge.graph import BRANCH, Body, Graph, TensorType
from weighbridge.memory import plan
from weighbridge.passes import deploy

FLOAT, INT64 = DTYPES["float32"], DTYPES["int64"]
ROUND = device(memory("DRAM", "weights activations", 10**12, 10**9), float32=10**9, int8=10**9, float16=10**9)


def needs(graph: Graph) -> Demand:
    return demand(graph, count(graph, graph), plan(graph))


def test_of_an_input_no_more_moves_than_is_read() -> None:
    builder = Builder("net")
    x = builder.input("x", (1_000_000,), FLOAT)
    (y,) = builder.add("slice", [("x", x)], {"starts": (0,), "ends": (10,), "axes": (0,), "steps": (1,)}, name="cut")
    found = needs(builder.graph([y]))
    assert (found.input_bytes, found.output_bytes) == (40, 40)


def test_a_lookup_in_an_input_reads_its_rows() -> None:
    builder = Builder("net")
    table, rows = builder.input("table", (1_000_000, 4), FLOAT), builder.input("rows", (1,), INT64)
    (y,) = builder.add("gather", [("x", table), ("indices", rows)], {"axis": 0}, name="look")
    assert needs(builder.graph([y])).input_bytes == 16 + 8


def test_views_move_nothing_and_their_storage_is_written_once() -> None:
    builder = Builder("net")
    x = builder.input("x", (1000,), FLOAT)
    (flat,) = builder.add("reshape", [("x", x)], {"shape": (10, 100)}, name="view")
    found = needs(builder.graph([flat]))
    assert (found.input_bytes, found.output_bytes) == (0, 0)
    builder = Builder("net")
    x = builder.input("x", (1000,), FLOAT)
    (y,) = builder.add("relu", [("x", x)], name="relu")
    views = [builder.add("reshape", [("x", y)], {"shape": (10, 100)}, name=f"view{i}")[0] for i in range(2)]
    found = needs(builder.graph([y, *views]))
    assert (found.input_bytes, found.output_bytes) == (4000, 4000)


def branch(name: str, size: int) -> Body:
    builder = Builder(name)
    x = builder.input("x", (1, size), FLOAT)
    w = builder.stored(f"{name}.w", (size, size), FLOAT)
    (y,) = builder.add("linear", [("x", x), ("w", w)], name=f"{name}.fc")
    return Body(name, builder.graph([y]), 1)


def test_the_macs_of_an_if_are_those_of_the_branch_with_most() -> None:
    builder = Builder("net")
    x = builder.input("x", (1, 64), FLOAT)
    bodies = (branch("then", 64), branch("else", 64))
    (y,) = builder.opaque(BRANCH, [("captures", x)], [TensorType((1, 64), FLOAT)], name="if", bodies=bodies)
    graph = builder.graph([y])
    assert dict(needs(graph).macs_by_precision) == {"float32": 4096}
    energy = weighbridge.weigh(graph, on="toy", energy="45nm").energy
    assert energy.arithmetic_j == pytest.approx(4096 * 4.6e-12)


def check(deployed: Graph) -> None:
    """Floor and sum over layers on a device whose every rate and bandwidth is known."""
    facts = count(deployed, deployed)
    found = estimate(demand(deployed, facts, plan(deployed)), ROUND).latency
    if found.floor_s is not None and found.layerwise_s is not None:
        assert found.floor_s <= found.layerwise_s * (1 + 1e-9)
    assert found.floor_s is None or found.layerwise_s is not None or not facts.exact


@given(graph=graphs())
def test_on_random_graphs(graph: Graph) -> None:
    check(deploy(graph))
    check(graph)


def test_on_all_shared_files(shared: Path) -> None:
    checked = 0
    for name, path in onnx_files(shared).items():
        sizes = OPEN.get(name, Sizes())
        try:
            graph = weighbridge.load(path, dims=sizes.dims, inputs=sizes.inputs)
        except weighbridge.WeighbridgeError:
            continue
        try:
            check(deploy(graph))
        except AssertionError as error:
            raise AssertionError(name) from error
        checked += 1
    assert checked > 130


def test_a_lookup_pays_for_the_rows_it_reads_and_not_for_its_table() -> None:
    builder = Builder("net")
    table, rows = builder.stored("table", (100_000, 64), FLOAT), builder.input("rows", (3,), INT64)
    (y,) = builder.add("embedding", [("indices", rows), ("w", table)], name="embed")
    found = needs(builder.graph([y]))
    assert (found.weight_bytes, found.weight_read_bytes) == (100_000 * 64 * 4, 3 * 64 * 4)
    (level,) = (
        one for one in weighbridge.weigh(builder.graph([y]), energy="45nm").energy.levels if one.level == "DRAM"
    )
    assert level.weights_j == pytest.approx(3 * 64 * 640e-12)


def test_the_weights_are_those_of_the_deployed_graph() -> None:
    """Weights in float32 that are quantised in advance are fetched, and stored, in 8 bits: never more than what is stored."""
    builder = Builder("net")
    x = builder.input("x", (1, 64), DTYPES["float32"])
    w = builder.stored("w", (32, 64), DTYPES["float32"])
    (y,) = builder.add("linear", [("x", x), ("w", w)], name="fc")
    report = weighbridge.weigh(builder.graph([y]), weight_bits=8, on="toy", energy="45nm")
    (region,) = report.on[0].fit.regions
    assert region.weight_ratio == 32 * 64 / region.available_bytes <= region.ratio


@given(graph=graphs())
def test_weights_are_part_of_what_is_stored_and_of_what_is_read(graph: Graph) -> None:
    for one in (graph, deploy(graph)):
        found = needs(one)
        if found.stored_bytes is not None and found.weight_bytes is not None:
            assert found.weight_bytes <= found.stored_bytes
        assert found.weight_read_bytes <= found.stored_read_bytes

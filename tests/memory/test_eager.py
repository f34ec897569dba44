"""The policy eager on records made by hand: each figure can be added up on paper."""

from dataclasses import replace

import pytest

from weighbridge import weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Allocation, Graph
from weighbridge.graph_json import graph_from_json, graph_to_json
from weighbridge.memory import plan
from weighbridge.memory.eager import eager_peak
from weighbridge.passes import bit_rules, set_bits

RECORD = (
    Allocation(100, 0, 6),  # the input, which its caller holds to the end
    Allocation(40, 1, 2, "a"),
    Allocation(7, 2, 2, "b"),  # something that b drops before it returns
    Allocation(60, 2, 4, "b"),
    Allocation(0, 4, 4, "c"),  # writes in place
    Allocation(30, 5, 6, "d"),
)


def test_sum_of_what_is_alive() -> None:
    found = eager_peak(RECORD, ["a", "b", "c", "d"])
    assert found.bytes == 100 + 40 + 7 + 60
    assert found.node == "b"


def test_profile_is_the_most_from_a_node_to_the_next() -> None:
    assert eager_peak(RECORD, ["a", "b", "c", "d"]).profile == (140, 207, 160, 130)


def test_what_is_fused_into_a_node_is_in_its_figure() -> None:
    assert eager_peak(RECORD, ["a", "d"]).profile == (207, 130)


def test_a_step_of_a_call_begins_with_the_call() -> None:
    assert eager_peak(RECORD, ["a", "b.first", "b", "d"]).profile == (140, 207, 207, 130)


def test_no_profile_for_nodes_in_another_order() -> None:
    assert eager_peak(RECORD, ["b", "a"]).profile is None


def test_no_node_where_the_input_is_the_peak() -> None:
    found = eager_peak((Allocation(9, 0, 1), Allocation(0, 1, 1, "a")), ["a"])
    assert (found.bytes, found.node, found.profile) == (9, None, (9,))


def test_moments_far_apart_take_no_room() -> None:
    found = eager_peak((Allocation(9, 0, 1 << 60), Allocation(1, 1 << 50, 1 << 55, "a")), ["a"])
    assert (found.bytes, found.node, found.profile) == (10, "a", (10,))


def test_a_network_without_nodes() -> None:
    assert eager_peak((Allocation(9, 0, 0),), []).profile == ()


@pytest.fixture
def graph() -> Graph:
    builder = Builder("two")
    x = builder.input("x", (5, 5), DTYPES["float32"])
    (y,) = builder.add("relu", [("x", x)], name="a")
    (z,) = builder.add("relu", [("x", y)], name="b")
    return replace(builder.graph([z]), allocations=(Allocation(100, 0, 2), Allocation(100, 1, 2, "a")))


def test_only_where_there_is_a_record(graph: Graph) -> None:
    peaks = plan(graph).peak_bytes
    assert [peaks[policy] for policy in ("pair", "live", "eager")] == [200, 200, 200]
    assert plan(graph).peak_elements["eager"] is None
    assert "eager" not in plan(replace(graph, allocations=())).peak_bytes
    assert not any("eager" in note for note in plan(replace(graph, allocations=())).notes)


def test_survives_deployment_and_the_report_says_what_it_misses(graph: Graph) -> None:
    report = weigh(graph)
    assert report.memory.peak_bytes["eager"] == 200
    assert report.memory.peak_node["eager"] == "a"
    assert any("the workspace of kernels comes on top" in note for note in report.notes)


def test_other_widths_make_the_record_untrue(graph: Graph) -> None:
    report = weigh(graph, activation_bits=8)
    assert "eager" not in report.memory.peak_bytes
    assert any(note.startswith("eager memory is not known at other widths") for note in report.notes)
    assert set_bits(graph, bit_rules([], 32)).allocations == graph.allocations


def test_round_trip(graph: Graph) -> None:
    assert graph_from_json(graph_to_json(graph)) == graph

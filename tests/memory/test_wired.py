"""Networks that a search or a generator wired: the table of docs/order.md is what the search finds, and the peaks are those of the plan."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from scripts import wired_networks
from weighbridge.api import deployed_of, load
from weighbridge.graph import Graph
from weighbridge.memory import plan
from weighbridge.memory.order import Ordering, least_peak
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import runs, static_tensors

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = sorted(path.name for path in (DOCS / "examples").glob("wired_*.toml"))


@cache
def graph_of(name: str) -> Graph:
    return deployed_of(load(DOCS / "examples" / name), None, None, "int8")


@cache
def found_in(name: str) -> Ordering:
    return least_peak(graph_of(name))


def live(graph: Graph, places: Sequence[int]) -> int:
    """The peak of the nodes in this order, by the plan of the graph that has them so."""
    static = static_tensors(graph, OPERATORS)
    running = [node for node in graph.nodes if runs(node, static)]
    rest = [node for node in graph.nodes if not runs(node, static)]
    peak = plan(replace(graph, nodes=(*rest, *(running[place] for place in places)))).peak_bytes["live"]
    assert peak is not None
    return peak


def breadth_first(graph: Graph) -> list[int]:
    """Nodes as they become ready, first come first served."""
    static = static_tensors(graph, OPERATORS)
    running = [node for node in graph.nodes if runs(node, static)]
    makers = {tensor: place for place, node in enumerate(running) for tensor in node.outputs}
    needs = [{makers[tensor] for tensor in node.inputs if tensor in makers} for node in running]
    ready, order = deque(place for place, needed in enumerate(needs) if not needed), []
    while ready:
        order.append(ready.popleft())
        for place, needed in enumerate(needs):
            if order[-1] in needed:
                needed.remove(order[-1])
                if not needed:
                    ready.append(place)
    return order


def row(name: str) -> str:
    found, graph = found_in(name), graph_of(name)
    counts = (
        len(found.places),
        found.before_bytes,
        live(graph, breadth_first(graph)),
        found.peak_bytes,
        found.bound_bytes,
        found.states,
    )
    title = name.removesuffix(".toml")
    shown = " | ".join(f"{count:,}" for count in counts)
    return f"| [{title}](examples/{name}) | {shown} | {'yes' if found.is_least else 'no'} |"


def test_the_files_are_those_that_the_script_writes() -> None:
    assert {name: (DOCS / "examples" / name).read_text() for name in NAMES} == wired_networks.texts()
    assert NAMES == ["wired_darts_v2.toml", "wired_nasnet_a.toml", "wired_random.toml"]


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_the_page_is_what_is_found(name: str) -> None:
    assert row(name) in (DOCS / "order.md").read_text().splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_the_peak_is_that_of_the_plan_and_the_bound_is_below_it(name: str) -> None:
    found, graph = found_in(name), graph_of(name)
    count = len(found.places)
    assert sorted(found.places) == list(range(count))
    assert live(graph, found.places) == found.peak_bytes
    assert live(graph, range(count)) == found.before_bytes
    assert found.bound_bytes <= found.peak_bytes < found.before_bytes < live(graph, breadth_first(graph))


def test_a_smaller_random_network_is_ordered_exactly_and_no_bound_was_above_it(tmp_path: Path) -> None:
    """Twelve networks of 12 nodes: wherever the search is stopped, its bound holds and its order is no worse than it was."""
    gaps = 0
    for seed in range(12):
        path = tmp_path / f"wired{seed}.toml"
        path.write_text(wired_networks.random_network(nodes=12, seed=seed))
        graph = deployed_of(load(path), None, None, "int8")
        exact = least_peak(graph)
        assert exact.is_least
        for most in (1, 10, 100):
            stopped = least_peak(graph, OPERATORS, most)
            assert stopped.bound_bytes <= exact.peak_bytes <= stopped.peak_bytes <= exact.before_bytes
            assert live(graph, stopped.places) == stopped.peak_bytes
            gaps += not stopped.is_least
    assert gaps > 3


def test_a_graph_by_watts_and_strogatz_keeps_its_edges_and_has_no_loop() -> None:
    for seed in range(10):
        edges = wired_networks.watts_strogatz(32, 4, 0.75, seed)
        assert len(edges) == len(set(edges)) == 64
        assert all(0 <= node < other < 32 for node, other in edges)
    assert wired_networks.watts_strogatz(6, 2, 0.0, 1) == [(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5)]

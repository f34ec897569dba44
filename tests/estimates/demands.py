"""Makes demands and devices of round numbers for the tests."""

from __future__ import annotations

from weighbridge.counts import count
from weighbridge.devices.device import Device, Figure, Memory, Peak
from weighbridge.estimates import Demand
from weighbridge.estimates.patched_fit import PatchSearch, search_of
from weighbridge.graph import Graph
from weighbridge.memory import plan

SMALL = Demand(
    stored_bytes=600,
    stored_exact=True,
    weight_bytes=500,
    peak_bytes=300,
    peak_exact=True,
    peak_node="conv1",
    stored_read_bytes=600,
    input_bytes=100,
    output_bytes=50,
    moved_exact=True,
    ops=4000,
    ops_exact=True,
    precision="int8",
)


def figure(value: int, verified: bool = True) -> Figure:
    return Figure(value, "made up for a test", verified)


def memory(name: str, holds: str, size: int, bandwidth: int | None = None, reserved: int | None = None) -> Memory:
    return Memory(
        name,
        tuple(holds.split()),
        figure(size),
        None if bandwidth is None else figure(bandwidth),
        None if reserved is None else figure(reserved),
    )


def device(*memories: Memory, **ops_per_s: int) -> Device:
    peaks = tuple(Peak("core", precision, figure(rate)) for precision, rate in ops_per_s.items())
    return Device("test", "Test device", "test", "core", peaks, memories)


def searches(graph: Graph) -> PatchSearch:
    """What is looked for of patches of a graph that runs."""
    return search_of(graph, count(graph, graph), plan(graph))

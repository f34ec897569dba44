"""A graph with its nodes in another order: what is computed in advance comes first, and what was asked for in the old order is gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weighbridge.arena import Arena, ArenaBuffer
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import Allocation, Graph
from weighbridge.memory import plan
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.reordered import NOT_KNOWN, reordered

INT8 = DTYPES["int8"]
BUFFERS = (ArenaBuffer("x", 4, 0, 1),)


def two_branches() -> Graph:
    """A weight is turned before anything runs, between two branches."""
    builder = Builder("two")
    x = builder.input("x", (4, 4), INT8)
    a = builder.add("relu", [("x", x)], name="a")[0]
    w = builder.add("transpose", [("x", builder.stored("w", (4, 4), INT8))], name="turn")[0]
    b = builder.add("add", [("a", x), ("b", w)], name="b")[0]
    return builder.graph(builder.add("add", [("a", a), ("b", b)], name="end"))


def test_what_does_not_run_comes_first() -> None:
    found = reordered(two_branches(), (1, 0, 2), OPERATORS)
    assert [node.name for node in found.nodes] == ["turn", "b", "a", "end"]


def test_nothing_is_read_before_it_is_made() -> None:
    with pytest.raises(GraphError, match="made later"):
        reordered(two_branches(), (2, 0, 1), OPERATORS)


@pytest.mark.parametrize(
    ("arena", "after"),
    [
        (None, None),
        (Arena(), Arena()),
        (Arena(BUFFERS, ("", "a")), Arena(reason=NOT_KNOWN)),
        (Arena(reason="it has no kernel"), Arena(reason="it has no kernel")),
    ],
)
def test_what_a_runtime_asked_for_in_the_old_order_is_gone(arena: Arena | None, after: Arena | None) -> None:
    graph = replace(two_branches(), arena=arena, allocations=(Allocation(16, 0, 1, "a"),))
    found = reordered(graph, (1, 0, 2), OPERATORS)
    assert (found.arena, found.allocations) == (after, ())
    assert ("arena_tflm" in plan(found).peak_bytes) == (arena is None or not arena.is_known)

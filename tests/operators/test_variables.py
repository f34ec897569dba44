"""Reading and assigning variables: what is copied, by way of what is held while a network runs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.execution import call, typed
from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Graph, Role
from weighbridge.memory import plan
from weighbridge.operators.record import Call, Work
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.deployment import deploy

FLOAT = DTYPES["float32"]
SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(SHAPES, st.sampled_from(["float32", "int8", "int64"]))
def test_a_variable_is_copied_when_it_is_read_and_when_it_is_written(shape, dtype) -> None:
    held = np.zeros(shape, dtype)
    copied = held.copy()
    read = call("read_variable", {}, state=typed(shape, dtype))
    assert (read.outputs[0].shape, read.outputs[0].bytes) == (copied.shape, copied.nbytes)
    assert OPERATORS["read_variable"].traffic(read) == (held.nbytes, copied.nbytes)
    held[...] = copied
    written = Call({"state": (typed(shape, dtype),), "x": (typed(shape, dtype),)}, {})
    assert OPERATORS["assign_variable"].infer(written) == ()
    assert OPERATORS["assign_variable"].traffic(written) == (copied.nbytes, held.nbytes)
    assert OPERATORS["assign_variable"].work(written) == Work()


def running_sum() -> Graph:
    """v := v + x, and the old v."""
    builder = Builder("sum")
    x, v = builder.input("x", (2, 3), FLOAT), builder.state("v", (2, 3), FLOAT)
    (old,) = builder.add("read_variable", [("state", v)], name="old")
    (new,) = builder.add("add", [("a", x), ("b", old)], name="new")
    builder.add("assign_variable", [("state", v), ("x", new)], name="kept")
    return builder.graph([old])


def test_what_was_read_stays_when_the_variable_changes() -> None:
    """x, the copy and the sum are held at once; the variable itself lies beside them, once."""
    graph = deploy(running_sum())
    assert [node.name for node in graph.nodes] == ["old", "new", "kept"]
    made = plan(graph)
    assert made.profile["live"] == (48, 72, 48)
    assert (made.variable_bytes, made.peak_bytes["live"]) == (24, 72)
    facts = count(graph, graph)
    assert (facts.parameters, facts.constant_bytes, facts.work) == (0, 0, Work(add=6))
    assert [(node.read_bytes, node.write_bytes) for node in facts.nodes] == [(24, 24), (48, 24), (24, 24)]
    assert [node.output for node in facts.nodes] == [(2, 3), (2, 3), None]


def test_a_view_of_a_variable_takes_no_room() -> None:
    builder = Builder("view")
    x, v = builder.input("x", (6,), FLOAT), builder.state("v", (2, 3), FLOAT)
    (flat,) = builder.add("reshape", [("x", v)], {"shape": (6,)}, name="flat")
    (again,) = builder.add("reshape", [("x", flat)], {"shape": (1, 6)}, name="again")
    (y,) = builder.add("mul", [("a", x), ("b", again)], name="y")
    graph = builder.graph([y])
    assert graph.tensors["v"].role is Role.STATE
    assert plan(graph).profile["live"] == (24, 24, 48)

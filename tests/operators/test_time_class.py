"""Which class of operators each one takes time as: every operator of the table has one, or takes none."""

from __future__ import annotations

import pytest

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.estimates.moves import call_where_known
from weighbridge.graph import Graph
from weighbridge.operators.record import _TIMES, Call, Kind
from weighbridge.operators.table import OPERATORS
from weighbridge.operators.time_class import TIME_CLASSES, TimeClass

FLOAT = DTYPES["float32"]
OF_OTHER_KINDS = {Kind.SPECTRAL, Kind.INDEX, Kind.GENERATOR, Kind.CONTROL, Kind.SEQUENCE}
"""Kinds without a class: nothing is alike about their times."""


def test_every_operator_has_a_class_or_takes_no_time() -> None:
    for op in OPERATORS.values():
        if op.timed_as == TimeClass.NONE:
            assert op.view_of is not None or op.kind == Kind.IDENTITY, op.name
        elif isinstance(op.timed_as, str):
            assert op.timed_as in TIME_CLASSES, op.name


def test_every_kind_has_a_class_or_is_named_as_one_that_has_none() -> None:
    kinds = {value for name, value in vars(Kind).items() if name.isupper()}
    assert kinds == set(_TIMES) | OF_OTHER_KINDS
    assert not set(_TIMES) & OF_OTHER_KINDS


def test_every_class_is_listed_once_and_some_operator_is_of_each() -> None:
    named = {value for name, value in vars(TimeClass).items() if name.isupper()} - {TimeClass.NONE}
    assert named == set(TIME_CLASSES)
    assert len(TIME_CLASSES) == len(named)
    told = {op.timed_as for op in OPERATORS.values() if isinstance(op.timed_as, str)}
    assert {one for one in named - told if "convolution" not in one} == {TimeClass.MATRIX_PRODUCT}


def test_only_what_has_multiply_accumulates_is_a_product_or_a_recurrence() -> None:
    products = {TimeClass.LINEAR, TimeClass.ATTENTION, TimeClass.RECURRENCE}
    for op in OPERATORS.values():
        if (callable(op.timed_as) and op.kind != Kind.POOLING) or op.timed_as in products:
            assert op.loops is not None, op.name
        assert op.steps is None or op.timed_as == TimeClass.RECURRENCE, op.name


def convolution(operator: str, channels: tuple[int, int], kernel: int, groups: int, layout: str = "") -> str:
    """The class of a convolution from so many channels to so many."""
    builder = Builder("one")
    taken, made = channels
    x = builder.input("x", (1, taken, 8, 8), FLOAT)
    sizes = (taken, made // groups) if operator == "conv_transpose" else (made, taken // groups)
    w = builder.stored("w", (*sizes, kernel, kernel), FLOAT)
    builder.add(operator, [("x", x), ("w", w)], {"groups": groups, "padding": kernel // 2})
    return time_class(builder.graph(builder.nodes[-1].outputs))


def time_class(graph: Graph, stored: bool = True) -> str:
    node = graph.nodes[-1]
    call = call_where_known(graph, node)
    assert call is not None
    return OPERATORS[node.operator].time_class(call, stored)


@pytest.mark.parametrize("operator", ["conv", "conv_transpose"])
@pytest.mark.parametrize(
    ("channels", "kernel", "groups", "expected"),
    [
        ((8, 16), 3, 1, "dense convolution"),
        ((1, 16), 3, 1, "dense convolution"),  # one channel in all: nothing is apart
        ((8, 16), 1, 1, "pointwise convolution"),
        ((8, 8), 3, 8, "depthwise convolution"),
        ((8, 16), 3, 8, "depthwise convolution"),  # two of each channel
        ((8, 8), 1, 8, "depthwise convolution"),
        ((8, 16), 3, 4, "grouped convolution"),
        ((8, 16), 1, 4, "grouped convolution"),
    ],
)
def test_convolutions_are_of_the_class_of_their_groups_and_kernels(
    operator: str, channels: tuple[int, int], kernel: int, groups: int, expected: str
) -> None:
    assert convolution(operator, channels, kernel, groups) == expected


@pytest.mark.parametrize("operator", ["linear", "matmul"])
def test_a_product_with_stored_weights_is_linear_and_one_of_values_a_matrix_product(operator: str) -> None:
    builder = Builder("one")
    x, w = builder.input("x", (4, 4), FLOAT), builder.input("w", (4, 4), FLOAT)
    graph = builder.graph(builder.add(operator, [("x", x), ("w", w)]))
    assert (time_class(graph, True), time_class(graph, False)) == ("linear", "matrix product")


@pytest.mark.parametrize(("size", "expected"), [(1, ""), (2, "reduction")])
def test_a_pool_of_single_values_takes_no_time(size: int, expected: str) -> None:
    builder = Builder("one")
    x = builder.input("x", (1, 2, size, size), FLOAT)
    graph = builder.graph(builder.add("global_average_pool", [("x", x)]))
    assert time_class(graph) == expected


@pytest.mark.parametrize(("directions", "batch_first", "expected"), [(1, False, 7), (2, False, 14), (1, True, 3)])
def test_a_recurrent_layer_takes_its_steps_in_turns(directions: int, batch_first: bool, expected: int) -> None:
    builder = Builder("one")
    x = builder.input("x", (7, 3, 5), FLOAT)
    w = builder.stored("w", (directions, 8, 5), FLOAT)
    r = builder.stored("r", (directions, 8, 2), FLOAT)
    graph = builder.graph(builder.add("lstm", [("x", x), ("w", w), ("r", r)], {"batch_first": batch_first}))
    call, op = call_where_known(graph, graph.nodes[0]), OPERATORS["lstm"]
    assert isinstance(call, Call)
    assert op.steps is not None
    assert op.steps(call) == expected


def test_steps_of_packed_sequences_are_at_least_those_of_the_longest() -> None:
    """Sequences of 4 and 3 steps: 7 on one axis, and no fewer than 4 one after the other."""
    builder = Builder("one")
    x, h = builder.input("x", (7, 5), FLOAT), builder.input("h", (1, 2, 2), FLOAT)
    w, r = builder.stored("w", (6, 5), FLOAT), builder.stored("r", (6, 2), FLOAT)
    operands = [("x", x), ("w", w), ("r", r), ("initial_h", h)]
    graph = builder.graph(builder.add("gru", operands, {"joined": True, "packed": True}))
    call, op = call_where_known(graph, graph.nodes[0]), OPERATORS["gru"]
    assert isinstance(call, Call)
    assert op.steps is not None
    assert op.steps(call) == 4

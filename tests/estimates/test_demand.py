"""What a network asks of a device, on graphs small enough to count by hand."""

from __future__ import annotations

import itertools

import pytest

from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.estimates import Demand, demand, precision_named
from weighbridge.estimates.precision import precision_of
from weighbridge.graph import BRANCH, LOOP, UNKNOWN, Body, Graph, Role, TensorType
from weighbridge.memory import plan

FLOAT, INT8, INT64 = DTYPES["float32"], DTYPES["int8"], DTYPES["int64"]


def needs(graph: Graph) -> Demand:
    return demand(graph, count(graph, graph), plan(graph))


def layer(builder: Builder, x: str, name: str, size: int, outputs: int) -> str:
    """A linear layer of size x outputs weights."""
    w = builder.stored(f"{name}.weight", (outputs, size), FLOAT)
    return builder.add("linear", [("x", x), ("w", w)], name=name)[0]


def test_a_linear_layer() -> None:
    builder = Builder("net")
    y = layer(builder, builder.input("x", (2, 5), FLOAT), "fc", 5, 3)
    found = needs(builder.graph([y]))
    assert (found.stored_bytes, found.stored_read_bytes, found.weight_bytes) == (60, 60, 60)
    assert (found.input_bytes, found.output_bytes, found.ops) == (40, 24, 60)
    assert (found.peak_bytes, found.peak_node, found.precision) == (64, "fc", "float32")
    assert found.stored_exact
    assert found.peak_exact
    assert found.moved_exact
    assert found.ops_exact


def test_a_weight_that_two_layers_share_is_kept_and_read_once() -> None:
    builder = Builder("net")
    w = builder.stored("w", (4, 4), FLOAT)
    x = builder.input("x", (1, 4), FLOAT)
    for name in ("a", "b"):
        (x,) = builder.add("linear", [("x", x), ("w", w)], name=name)
    found = needs(builder.graph([x]))
    assert (found.stored_bytes, found.stored_read_bytes) == (64, 64)


def test_a_lookup_reads_its_rows_and_not_its_table() -> None:
    builder = Builder("net")
    table = builder.stored("table", (1000, 8), FLOAT)
    tokens = builder.input("tokens", (3,), INT64)
    (y,) = builder.add("embedding", [("indices", tokens), ("w", table)], name="embed")
    found = needs(builder.graph([y]))
    assert (found.stored_bytes, found.stored_read_bytes) == (32000, 3 * 8 * 4)
    assert (found.input_bytes, found.output_bytes) == (24, 96)


def test_what_is_computed_in_advance_is_read_as_its_result() -> None:
    """Kept are the two halves; an inference reads their sum once."""
    builder = Builder("net")
    halves = [builder.stored(name, (3, 5), FLOAT) for name in ("half", "other")]
    (w,) = builder.add("add", [("a", halves[0]), ("b", halves[1])], name="sum")
    x = builder.input("x", (1, 5), FLOAT)
    (y,) = builder.add("linear", [("x", x), ("w", w)], name="fc")
    found = needs(builder.graph([y]))
    assert (found.stored_bytes, found.stored_read_bytes) == (120, 60)


def test_an_input_that_nothing_reads_does_not_move() -> None:
    builder = Builder("net")
    builder.input("unused", (1000,), FLOAT)
    y = layer(builder, builder.input("x", (1, 5), FLOAT), "fc", 5, 3)
    assert needs(builder.graph([y])).input_bytes == 20


def body(name: str, sizes: list[int], trips: int | None = 1) -> Body:
    builder = Builder(name)
    x = builder.input("x", (1, sizes[0]), FLOAT)
    for index, (size, outputs) in enumerate(itertools.pairwise(sizes)):
        x = layer(builder, x, f"{name}{index}", size, outputs)
    return Body(name, builder.graph([x]), trips)


def with_bodies(operator: str, *bodies: Body) -> Graph:
    builder = Builder("net")
    x = builder.input("x", (1, 4), FLOAT)
    (y,) = builder.opaque(operator, [("captures", x)], [TensorType((1, 4), FLOAT)], name="control", bodies=bodies)
    return builder.graph([y])


def test_of_two_branches_the_larger_is_read_and_both_are_kept() -> None:
    found = needs(with_bodies(BRANCH, body("then", [4, 4]), body("else", [4, 8, 4])))
    assert (found.stored_bytes, found.stored_read_bytes, found.precision) == (64 + 256, 256, "float32")


@pytest.mark.parametrize(("trips", "read"), [(7, 64), (None, 64), (0, 0)])
def test_a_loop_reads_its_weights_once_if_it_runs_at_all(trips: int | None, read: int) -> None:
    found = needs(with_bodies(LOOP, body("step", [4, 4], trips)))
    assert (found.stored_bytes, found.stored_read_bytes) == (64, read)


def test_a_node_without_a_rule_makes_the_needs_lower_bounds() -> None:
    builder = Builder("net")
    x = builder.input("x", (1, 4), FLOAT)
    w = builder.stored("w", (4, 4), FLOAT)
    (y,) = builder.opaque(UNKNOWN, [("x", x), ("w", w)], [TensorType((1, 4), FLOAT)], name="strange", origin="my.Op")
    found = needs(builder.graph([y]))
    assert (found.stored_bytes, found.stored_read_bytes) == (64, 0)
    assert not found.stored_exact
    assert not found.moved_exact
    assert not found.ops_exact


def test_text_that_is_stored_makes_the_size_unknown() -> None:
    builder = Builder("net")
    builder.stored("labels", (10,), DTYPES["string"], Role.CONSTANT)
    y = layer(builder, builder.input("x", (1, 5), FLOAT), "fc", 5, 3)
    assert needs(builder.graph([y])).stored_bytes is None


def test_the_precision_is_that_of_most_multiplications() -> None:
    builder = Builder("net")
    x = builder.input("x", (1, 100), INT8)
    w = builder.stored("w", (100, 100), INT8)
    (y,) = builder.add("matmul", [("x", x), ("w", w)], name="large")
    z = layer(builder, builder.input("z", (1, 5), FLOAT), "small", 5, 3)
    assert needs(builder.graph([y, z])).precision == "int8"


@pytest.mark.parametrize(
    ("types", "precision"),
    [
        ("float32 int8", "float32"),
        ("float16 int4", "float16"),
        ("int8 uint8", "int8"),
        ("uint8 uint8", "int8"),
        ("int4 int8", "int8"),
        ("float32 q4_0", "float32"),
        ("float8_e4m3fn float8_e5m2", "float8"),
        ("bfloat16 bfloat16", "bfloat16"),
        ("q4_0 q4_0", None),
        ("string", None),
        ("", None),
    ],
)
def test_operands_of_two_types_are_multiplied_in_the_wider_float(types: str, precision: str | None) -> None:
    assert precision_of(DTYPES[name] for name in types.split()) == precision


@pytest.mark.parametrize(
    ("given", "name"), [("FP16", "float16"), ("bf16", "bfloat16"), ("uint8", "int8"), (" tf32 ", "tf32")]
)
def test_precisions_have_short_names(given: str, name: str) -> None:
    assert precision_named(given) == name

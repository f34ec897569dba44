"""Unstructured sparsity: how many values are zero, and where that is counted."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weighbridge
from tests.random_graphs import graphs
from weighbridge import load, weigh
from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec, GraphError
from weighbridge.graph import LOOP, Body, Graph, Node, Role, Tensor, TensorType
from weighbridge.graph_json import graph_from_json, graph_to_json
from weighbridge.passes import deploy
from weighbridge.passes.what_if.applied import applied
from weighbridge.passes.what_if.language import changes_of
from weighbridge.passes.what_if.sparsity import sparsify
from weighbridge.report import Report

FLOAT = DTYPES["float32"]
HALF = Fraction(1, 2)


@given(graph=graphs(), ratio=st.fractions(0, Fraction(99, 100)))
def test_nothing_dense_changes_and_json_keeps_it(graph: Graph, ratio: Fraction) -> None:
    try:
        sparse = sparsify(graph, [("rest", ratio)])
    except BadSpec:
        assert not weigh(graph).facts.weights
        return
    assert graph_from_json(graph_to_json(sparse)) == sparse
    before, after = count(graph, deploy(graph)), count(sparse, deploy(sparse))
    assert before.nonzero_parameters == before.parameters
    assert before.nonzero_macs == before.macs
    same = ("nonzero_parameters", "nonzero_macs", "nodes", "notes")
    assert after._replace(**{name: getattr(before, name) for name in same}) == before
    for old, new in zip(before.nodes, after.nodes, strict=True):
        assert new._replace(nonzero_weights=old.nonzero_weights, nonzero_macs=old.nonzero_macs) == old
    assert after.nonzero_parameters is not None
    assert after.nonzero_parameters <= after.parameters


@given(c_i=st.integers(1, 9), c_o=st.integers(1, 9), ratio=st.fractions(0, Fraction(999, 1000)))
def test_of_n_values_n_times_ratio_are_zero_and_each_is_used_equally_often(c_i: int, c_o: int, ratio: Fraction) -> None:
    builder = Builder("one")
    x, w = builder.input("x", (2, c_i, 6, 5), FLOAT), builder.stored("w", (c_o, c_i, 3, 3), FLOAT)
    graph = builder.graph(builder.add("conv", [("x", x), ("w", w)], {"stride": 2, "padding": 1}, name="conv"))
    facts = count(sparse := sparsify(graph, [("conv", ratio)]), deploy(sparse))
    left = ceil(9 * c_i * c_o * (1 - ratio))
    uses = 2 * 3 * 3  # output positions, each of which meets every weight once
    assert (facts.nonzero_parameters, facts.nonzero_macs) == (left, left * uses)
    assert facts.macs == 9 * c_i * c_o * uses
    (node,) = facts.nodes
    assert (node.nonzero_weights, node.nonzero_macs) == (left, left * uses)


def test_rules_and_what_they_leave() -> None:
    """``rest`` holds for what no other rule names; a later rule wins; biases never have zeros."""
    graph = sparsify(load("alexnet"), [("fc*", Fraction(9, 10)), ("rest", HALF), ("fc8", Fraction(0))])
    by_layer = {node.name: (node.weights, node.nonzero_weights) for node in weigh(graph).nodes if node.weights}
    assert by_layer["conv1"] == (34848, 17424)
    assert by_layer["fc6"] == (37_748_736, 37_748_736 - 33_973_862)
    assert by_layer["fc8"] == (4_096_000, 4_096_000)
    facts = weigh(graph).facts
    assert facts.nonzero_parameters == facts.biases + sum(left for _, left in by_layer.values())
    assert facts.nonzero_macs == sum(node.nonzero_macs for node in weigh(graph).nodes)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (("rest", Fraction(1)), "a share of zeros of 1"),
        (("rest", Fraction(-1, 10)), "a share of zeros of -0.1"),
        (("biases", HALF), "there are no weights"),
        (("conv1.bias", HALF), "there are no weights"),
        (("conv9", HALF), "called 'conv9'"),
    ],
)
def test_bad_rules(rule: tuple[str, Fraction], message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        sparsify(load("alexnet"), [rule])


def test_what_is_moved_or_scaled_in_advance_has_as_many_zeros() -> None:
    """A weight that is dequantised, scaled and transposed before it is used; one that is cut in two is not followed."""
    builder = Builder("moved")
    x = builder.input("x", (1, 4), FLOAT)
    held, scale = builder.stored("w", (6, 4), DTYPES["int8"]), builder.stored("s", (), FLOAT, Role.BUFFER)
    (w,) = builder.add("dequantize", [("x", held), ("scale", scale)])
    (w,) = builder.add("mul", [("a", w), ("b", builder.stored("gain", (1, 4), FLOAT, Role.CONSTANT))])
    (w,) = builder.add("transpose", [("x", w)])
    (y,) = builder.add("matmul", [("x", x), ("w", w)], name="first")
    (v,) = builder.add(
        "slice", [("x", builder.stored("v", (6, 8), FLOAT))], {"axes": (1,), "starts": (0,), "ends": (3,)}
    )
    graph = sparsify(builder.graph(builder.add("matmul", [("x", y), ("w", v)], name="second")), [("rest", HALF)])
    nodes = {node.name: node for node in count(graph, deploy(graph)).nodes}
    assert (nodes["first"].macs, nodes["first"].nonzero_macs) == (24, 12)
    assert (nodes["second"].macs, nodes["second"].nonzero_macs) == (18, 18)
    assert any(note.startswith("zeros are not followed through slice") for note in graph.notes)


def test_layers_that_differ_in_their_zeros_alone_are_counted_apart() -> None:
    builder = Builder("alike")
    y = builder.input("x", (1, 8), FLOAT)
    for place in range(3):
        operands = [("x", y), ("w", builder.stored(f"w{place}", (8, 8), FLOAT))]
        (y,) = builder.add("linear", operands, name=f"fc{place}")
    graph = sparsify(builder.graph([y]), [("fc0", HALF), ("fc2", Fraction(3, 4))])
    facts = count(graph, deploy(graph))
    assert [node.nonzero_macs for node in facts.nodes] == [32, 64, 16]
    assert (facts.macs, facts.nonzero_macs) == (192, 112)


def test_a_number_over_zeros_is_not_followed() -> None:
    """A quotient is zero where its dividend is, and not where its divisor is."""
    for operands, followed in ((("w", "c"), True), (("c", "w"), False)):
        builder = Builder("divided")
        x = builder.input("x", (1, 4), FLOAT)
        builder.stored("w", (6, 4), FLOAT)
        builder.stored("c", (6, 4), FLOAT, Role.CONSTANT)
        (w,) = builder.add("div", list(zip("ab", operands, strict=True)), name="over")
        graph = sparsify(builder.graph(builder.add("linear", [("x", x), ("w", w)], name="fc")), [("rest", HALF)])
        (node,) = (node for node in count(graph, deploy(graph)).nodes if node.name == "fc")
        assert (node.macs, node.nonzero_macs) == (24, 12 if followed else 24)
        assert any("not followed through over" in note for note in graph.notes) is not followed


def test_layers_in_a_loop() -> None:
    body = Builder("body")
    x = body.input("x", (1, 4), FLOAT)
    w = body.stored("w", (4, 4), FLOAT)
    inner = body.graph(body.add("linear", [("x", x), ("w", w)], name="fc"))
    outer = Builder("loop")
    start = outer.input("start", (1, 4), FLOAT)
    outer.stored("w", (4, 4), FLOAT)
    loop = outer.opaque(
        LOOP, [("carried", start)], [TensorType((1, 4), FLOAT)], name="loop", bodies=[Body("body", inner, 3)]
    )
    graph = sparsify(outer.graph(loop), [("rest", Fraction(3, 4))])
    facts = weigh(graph).facts
    assert (facts.macs, facts.nonzero_macs, facts.parameters, facts.nonzero_parameters) == (48, 12, 16, 4)


def test_an_operator_that_may_use_its_weights_unequally_leaves_it_unknown() -> None:
    builder = Builder("embedded")
    x, w = builder.input("x", (3, 4), FLOAT), builder.stored("w", (2, 4, 5), FLOAT)
    ends = builder.input("ends", (2,), DTYPES["int32"])
    graph = builder.graph(builder.add("grouped_matmul", [("x", x), ("w", w), ("ends", ends)], name="experts"))
    facts = weigh(sparsify(graph, [("rest", HALF)])).facts
    assert facts.nonzero_parameters == 20
    assert facts.nonzero_macs is None
    report = weigh(sparsify(graph, [("rest", HALF)]))
    assert "how often each weight of experts is used is not known, so nonzero_macs is missing" in report.notes


def test_a_recurrent_layer_uses_all_its_weights_at_every_step() -> None:
    builder = Builder("recurrent")
    x = builder.input("x", (7, 2, 3), FLOAT)
    w, r = builder.stored("w", (1, 20, 3), FLOAT), builder.stored("r", (1, 20, 5), FLOAT)
    graph = builder.graph(builder.add("lstm", [("x", x), ("w", w), ("r", r)], name="lstm"))
    facts = weigh(sparsify(graph, [("w", HALF)])).facts
    assert (facts.macs, facts.nonzero_macs) == (14 * 160, 14 * 130)


@pytest.mark.parametrize("nonzeros", [-1, 7])
def test_more_than_there_are_is_no_graph(nonzeros: int) -> None:
    tensor = Tensor("w", (2, 3), FLOAT, Role.PARAMETER, nonzeros)
    with pytest.raises(GraphError, match="not zero"):
        Graph("g", {"w": tensor}, (Node("n", "relu", (("x", "w"),), ()),), (), ())


def test_a_report_saved_before_there_were_zeros_is_read() -> None:
    data = weigh("lenet5").to_dict()
    for part in (data["facts"], *data["nodes"]):
        for key in [key for key in part if key.startswith("nonzero_")]:
            del part[key]
    report = Report.from_dict(data)
    assert report.facts.nonzero_macs is None
    assert report.nodes[0].nonzero_weights is None


def test_a_share_too_small_for_one_zero_is_said() -> None:
    graph = weighbridge.load("lenet5")
    made = applied(graph, changes_of(["sparsity=1e-9"]))
    assert any("too few weights for one zero in this share" in note for note in made.notes)
    assert not any("too few weights" in note for note in applied(graph, changes_of(["sparsity=50%"])).notes)


def test_bits_of_a_network_without_weights_are_refused() -> None:
    build = Builder("pool")
    (y,) = build.add("relu", [("x", build.input("x", (1, 4), DTYPES["float32"]))])
    with pytest.raises(BadSpec, match="no weights"):
        applied(build.graph([y]), changes_of(["bits=4"]))

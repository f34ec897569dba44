"""Bit widths by rule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_graphs import PLAIN, graphs
from weighbridge import counts
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.passes import BitRules, bit_rules, deploy, set_bits

FLOAT = DTYPES["float32"]


def chain() -> Graph:
    """Three linear layers of 5 to 5, each with a bias, the last one's weight transposed before use."""
    builder = Builder("chain")
    y = builder.input("x", (2, 5), FLOAT)
    for name in ("in", "middle.one"):
        w, b = builder.stored(f"{name}.w", (5, 5), FLOAT), builder.stored(f"{name}.b", (5,), FLOAT)
        (y,) = builder.add("linear", [("x", y), ("w", w), ("b", b)], name=name, scope=f"body.{name}")
    (t,) = builder.add("transpose", [("x", builder.stored("out.w", (5, 5), FLOAT))])
    (y,) = builder.add("matmul", [("x", y), ("w", t)], name="out")
    (y,) = builder.add("mul", [("a", y), ("b", builder.stored("gain", (5,), FLOAT))])
    return builder.graph([y])


def widths(*rules: str | int) -> dict[str, str]:
    graph = set_bits(chain(), bit_rules(rules))
    return {t.id: t.dtype.name for t in graph.stored() if t.dtype.name != "float32"}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["8"], {"in.w": "int8", "middle.one.w": "int8", "out.w": "int8"}),
        ([8], {"in.w": "int8", "middle.one.w": "int8", "out.w": "int8"}),
        (["first=8", "last=8", "rest=4"], {"in.w": "int8", "middle.one.w": "int4", "out.w": "int8"}),
        (["rest=4", "first=8"], {"in.w": "int8", "middle.one.w": "int4", "out.w": "int4"}),
        (["first=8", "in=3"], {"in.w": "int3"}),
        (["in=3", "first=8"], {"in.w": "int8"}),
        (["mid*=16"], {"middle.one.w": "float16"}),
        (["body.in=2"], {"in.w": "int2"}),
        (["body=2"], {"in.w": "int2", "middle.one.w": "int2"}),
        (["in.b=16"], {"in.b": "float16"}),
        (["*.b=16"], {"in.b": "float16", "middle.one.b": "float16"}),
        (["biases=8"], {"in.b": "int8", "middle.one.b": "int8"}),
        (["other=8"], {"gain": "int8"}),
        (["32"], {}),
        ([], {}),
    ],
)
def test_rules(rules: list[str | int], expected: dict[str, str]) -> None:
    assert widths(*rules) == expected


@pytest.mark.parametrize("rule", ["0", "65", "-1", "eight", "first=", "=8", "", "first=8.5", "1e1", "³", "9" * 5000])
def test_a_width_that_is_none_is_refused(rule: str) -> None:
    with pytest.raises(BadSpec):
        bit_rules([rule])


@pytest.mark.parametrize("rules", [BitRules((("rest", 0),)), BitRules((("rest", 65),)), BitRules((), 0)])
def test_rules_made_by_hand_are_checked_too(rules: BitRules) -> None:
    with pytest.raises(BadSpec):
        set_bits(chain(), rules)


def test_an_unknown_layer_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(BadSpec, match="middle") as caught:
        set_bits(chain(), bit_rules(["middle.two=8"]))
    assert "middle.one" in caught.value.hint


def test_the_first_layer_of_a_network_without_any_is_refused() -> None:
    builder = Builder("none")
    builder.input("x", (2,), FLOAT)
    with pytest.raises(BadSpec, match="no layer has weights"):
        set_bits(builder.graph(["x"]), bit_rules(["first=8"]))


@pytest.mark.parametrize(
    ("held", "bits", "expected"),
    [
        *(("bfloat16", 16, "bfloat16"), ("float8_e4m3fn", 8, "float8_e4m3fn"), ("uint8", 8, "uint8")),
        *(("float32", 16, "float16"), ("bfloat16", 32, "float32"), ("float32", 8, "int8"), ("float32", 5, "int5")),
        *(("int8", 16, "int16"), ("mxfp4", 4, "int4")),
    ],
)
def test_the_type_at_another_width(held: str, bits: int, expected: str) -> None:
    builder = Builder("types")
    x, w = builder.input("x", (1, 32), FLOAT), builder.stored("w", (2, 32), DTYPES[held])
    graph = builder.graph(builder.add("linear", [("x", x), ("w", w)]))
    assert set_bits(graph, bit_rules([bits])).tensors["w"].dtype.name == expected


def test_a_transposed_weight_follows() -> None:
    held = set_bits(chain(), bit_rules(["4"]))
    deployed = deploy(held)
    facts = counts.count(held, deployed)
    assert facts.weight_bytes == 3 * 13  # 25 weights of 4 bits are 12.5 B
    out = next(node for node in facts.nodes if node.name == "out")
    assert out.read_bytes == 4 * 10 + 13


def test_activations_of_8_bits_leave_weights_and_whole_numbers_as_they_are() -> None:
    graph = set_bits(chain(), bit_rules([], 8))
    assert {t.dtype.name for t in graph.stored()} == {"float32"}
    assert graph.tensors["x"].dtype.name == "int8"
    assert {graph.tensors[t].dtype.name for node in graph.nodes[:2] for t in node.outputs} == {"int8"}


@settings(max_examples=60, deadline=None)
@given(graph=graphs(kinds=(*PLAIN, "control")), bits=st.integers(1, 64))
def test_a_width_for_all_weights_is_the_sum_over_their_tensors(graph: Graph, bits: int) -> None:
    facts = counts.count(graph, graph)
    sized = counts.count(result := set_bits(graph, bit_rules([bits])), result)
    assert (sized.parameters, sized.weights, sized.macs) == (facts.parameters, facts.weights, facts.macs)
    by_id: dict[str, int] = {}

    def collect(one: Graph) -> None:
        from weighbridge.passes.static import parameter_uses

        uses = parameter_uses(graph)
        by_id.update({t.id: -(-t.elements * bits // 8) for t in one.stored() if uses.get(t.id) == "weight"})
        for node in one.nodes:
            for body in node.bodies:
                collect(body.graph)

    collect(graph)
    assert sized.weight_bytes == sum(by_id.values())


@pytest.mark.parametrize("reshaped", [False, True])
def test_a_bias_in_a_node_of_its_own_is_one_for_the_rules_as_for_the_counts(reshaped: bool) -> None:
    builder = Builder("matmul and add")
    x, w, b = builder.input("x", (2, 6), FLOAT), builder.stored("w", (6, 4), FLOAT), builder.stored("b", (4,), FLOAT)
    (y,) = builder.add("matmul", [("x", x), ("w", w)])
    if reshaped:
        (b,) = builder.add("reshape", [("x", b)], {"shape": (1, 4)})
    (y,) = builder.add("add", [("a", y), ("b", b)])
    graph = set_bits(builder.graph([y]), bit_rules(["biases=16", "other=8"]))
    facts = counts.count(graph, deploy(graph))
    assert (facts.biases, facts.parameter_bytes, facts.weight_bytes) == (4, 4 * 24 + 2 * 4, 4 * 24)

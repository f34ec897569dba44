"""The facts of a network against sums that are done by hand, one tensor and one node at a time."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import pytest
from hypothesis import given, settings

from tests.random_graphs import PLAIN, QUANTISED, graphs
from weighbridge import weigh
from weighbridge.builder import Builder
from weighbridge.counts import Uncounted, count
from weighbridge.dtypes import DTYPES
from weighbridge.graph import LOOP, UNKNOWN, Body, Graph, Node, Role, Tensor, TensorType
from weighbridge.operators.record import Work
from weighbridge.passes import deploy, static_tensors

FLOAT, INT64, STRING = DTYPES["float32"], DTYPES["int64"], DTYPES["string"]


def executed_macs(graph: Graph, node: Node) -> int:
    """Multiply-accumulates by running the loops of the two contractions that the random graphs hold."""
    if node.operator not in ("conv", "matmul"):
        return 0
    x, w = (graph.tensors[tensor].shape for tensor in node.inputs[:2])
    done = 0
    if node.operator == "conv":  # 1 x 1, no padding
        for _position in range(x[0] * x[2] * x[3]):
            for _c_o in range(w[0]):
                for _c_i in range(w[1]):
                    done += 1
    else:
        for _row in range(prod(x[:-1])):
            for _column in range(w[1]):
                for _k in range(w[0]):
                    done += 1
    return done


@settings(max_examples=80, deadline=None)
@given(graph=graphs(kinds=(*PLAIN, *QUANTISED)))
def test_totals_are_what_naive_sums_give(graph: Graph) -> None:
    deployed = deploy(graph)
    facts = count(graph, deployed)
    static = static_tensors(deployed)
    running = [node for node in deployed.nodes if not static.issuperset(node.outputs)]
    assert facts.macs == sum(executed_macs(deployed, node) for node in running)
    assert (facts.flops, facts.ops, facts.work.macs) == (2 * facts.macs, 2 * facts.macs, facts.macs)
    made = [deployed.tensors[x] for x in deployed.inputs]
    for node in running:
        if node.operator not in ("reshape", "flatten"):
            made += [deployed.tensors[y] for y in node.outputs]
    assert facts.activations.total == sum(prod(t.shape) for t in made)
    assert facts.activations.total_bytes == sum(prod(t.shape) * t.dtype.block_bits // 8 for t in made)
    learned = [t for t in graph.tensors.values() if t.role is Role.PARAMETER]
    others = [t for t in graph.tensors.values() if t.role in (Role.BUFFER, Role.CONSTANT)]
    assert facts.parameters == facts.weights + facts.biases + facts.other_parameters
    assert facts.parameters == sum(prod(t.shape) for t in learned)
    assert facts.parameter_bytes == sum(prod(t.shape) * t.dtype.block_bits // 8 for t in learned)
    assert facts.constant_bytes == sum(prod(t.shape) * t.dtype.block_bits // 8 for t in others)
    assert facts.exact
    assert facts.uncounted == ()
    for field in Work._fields:
        assert getattr(facts.work, field) == sum(getattr(node.work, field) for node in facts.nodes)


@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_the_nodes_add_up_to_the_totals(graph: Graph) -> None:
    facts = count(graph, deploy(graph))
    assert facts.macs == sum(node.macs for node in facts.nodes if node.macs is not None)
    assert facts.exact == all(node.exact for node in facts.nodes)
    assert bool(facts.uncounted) == (not facts.exact)
    for node in facts.nodes:
        assert node.flops is None if node.macs is None else node.flops == 2 * node.macs
        assert sum(one.macs for one in node.loops) == node.macs or not node.loops


def mlp(builder: Builder, x: str, sizes: list[int]) -> str:
    for number, (k, m) in enumerate(pairwise(sizes)):
        w, b = builder.stored(f"w{number}", (m, k), FLOAT), builder.stored(f"b{number}", (m,), FLOAT)
        (x,) = builder.add("linear", [("x", x), ("w", w), ("b", b)], name=f"fc{number}", scope="net", origin="Gemm")
    return x


def test_one_layer_in_every_field() -> None:
    builder = Builder("one")
    y = mlp(builder, builder.input("x", (4, 5), FLOAT), [5, 3])
    (y,) = builder.add("relu", [("x", y)])
    held = builder.graph([y])
    facts = count(held, deploy(held), peak_elements={"live": 32})
    (node,) = facts.nodes
    assert (facts.weights, facts.biases, facts.macs, facts.activations.peak) == (15, 3, 60, {"live": 32})
    assert node._asdict() == {
        "name": "fc0",
        "scope": "net",
        "module_call": None,
        "operator": "linear",
        "kind": "contraction",
        "origin": "Gemm",
        "fused": ("relu",),
        "parameters": 18,
        "weights": 15,
        "macs": 60,
        "flops": 120,
        "work": Work(macs=60, add=12, compare=12),
        "output": (4, 3),
        "output_dtype": "float32",
        "output_bytes": 48,
        "read_bytes": 4 * (20 + 15 + 3),
        "write_bytes": 48,
        "loops": node.loops,
        "uses_per_weight": 4,
        "exact": True,
        "weight_bytes": 60,
        "file_node": None,
        "nonzero_weights": 15,
        "nonzero_macs": 60,
    }
    assert [(one.m, one.n, one.k, one.groups) for one in node.loops] == [(3, 4, 5, 1)]


@pytest.mark.parametrize("bits", [None, ["first=8", "last=8", "rest=4"]])
def test_bytes_of_weights_of_all_nodes_are_those_of_the_network(bits: list[str] | None) -> None:
    facts = weigh("alexnet", weight_bits=bits).facts
    assert sum(node.weight_bytes for node in facts.nodes) == facts.weight_bytes
    widths = [4] * 8 if bits is None else [1, *[0.5] * 6, 1]
    assert [node.weight_bytes / node.weights for node in facts.nodes if node.weights] == widths


def test_uses_per_weight_through_static_nodes() -> None:
    builder = Builder("uses")
    x, w, v = builder.input("x", (1, 3), FLOAT), builder.stored("w", (3, 2), FLOAT), builder.stored("v", (3,), FLOAT)
    (y,) = builder.add("matmul", [("x", x), ("w", w)])
    (t,) = builder.add("concat", [("xs", w), ("xs", w)], {"axis": 1})
    (z,) = builder.add("matmul", [("x", x), ("w", t)])
    (u,) = builder.add("mul", [("a", x), ("b", v)])
    graph = builder.graph([y, z, u])
    assert [node.uses_per_weight for node in count(graph, graph).nodes] == [1, 2, None]


def test_uses_per_weight_that_no_float_can_hold() -> None:
    builder = Builder("absurd")
    x, w = builder.input("x", (1 << 48,) * 63 + (2,), FLOAT), builder.stored("w", (2, 2), FLOAT)
    v = builder.stored("v", (2,), FLOAT)
    (y,) = builder.add("matmul", [("x", x), ("w", w), ("b", v)])
    (z,) = builder.add("matmul", [("x", builder.input("u", (1, 2), FLOAT)), ("w", v)])  # the bias is a weight, too
    graph = builder.graph([y, z])
    assert count(graph, graph).nodes[0].uses_per_weight == 4 * 2 ** (48 * 63) // 6


@pytest.mark.parametrize(
    ("operator", "operands", "attributes"),
    [
        ("mul", ("a", "b"), {}),
        ("concat", ("xs", "xs", "xs"), {"axis": 0}),
        ("attention", ("q", "k", "v"), {}),
        ("matmul", ("x", "w"), {"transpose_w": True}),
    ],
)
def test_a_tensor_that_a_node_reads_twice_is_moved_once(operator: str, operands: tuple[str, ...], attributes) -> None:
    builder = Builder("square")
    x = builder.input("x", (4, 3), FLOAT)
    y = builder.add(operator, [(name, x) for name in operands], attributes)
    graph = builder.graph(y)
    assert count(graph, graph).nodes[0].read_bytes == 4 * 12


def test_a_weight_that_two_layers_share_counts_once_and_stands_at_both() -> None:
    builder = Builder("shared")
    x, w = builder.input("x", (2, 6), FLOAT), builder.stored("w", (6, 6), FLOAT)
    (y,) = builder.add("linear", [("x", x), ("w", w)])
    (y,) = builder.add("linear", [("x", y), ("w", w)])
    graph = builder.graph([y])
    facts = count(graph, graph)
    assert (facts.parameters, facts.macs, [node.weights for node in facts.nodes]) == (36, 2 * 2 * 36, [36, 36])


def test_weight_before_bias_before_other() -> None:
    builder = Builder("uses")
    x = builder.input("x", (2, 6), FLOAT)
    w, v, g = (builder.stored(name, (6, 6) if name == "w" else (6,), FLOAT) for name in "wvg")
    (y,) = builder.add("linear", [("x", x), ("w", w), ("b", v)])
    (y,) = builder.add("add", [("a", y), ("b", v)])  # v is a bias, whatever else it is added to
    (y,) = builder.add("mul", [("a", y), ("b", g)])
    graph = builder.graph([y])
    facts = count(graph, graph)
    assert (facts.weights, facts.biases, facts.other_parameters) == (36, 6, 6)


def test_a_bias_that_the_file_adds_in_a_node_of_its_own_is_a_bias() -> None:
    builder = Builder("matmul and add")
    x, w, b = builder.input("x", (2, 6), FLOAT), builder.stored("w", (6, 4), FLOAT), builder.stored("b", (4,), FLOAT)
    (y,) = builder.add("matmul", [("x", x), ("w", w)])
    (y,) = builder.add("add", [("a", y), ("b", b)])
    graph = builder.graph([y])
    assert (count(graph, deploy(graph)).biases, count(graph, graph).biases) == (4, 0)


@pytest.mark.parametrize("in_body", [False, True])
def test_a_bias_that_the_file_reshapes_before_it_adds_it_is_a_bias(in_body: bool) -> None:
    builder = Builder("conv, reshape and add")
    x, w, b = (
        builder.input("x", (1, 3, 2, 2), FLOAT),
        builder.stored("w", (5, 3, 1, 1), FLOAT),
        builder.stored("b", (5,), FLOAT),
    )
    (y,) = builder.add("conv", [("x", x), ("w", w)])
    (r,) = builder.add("reshape", [("x", b)], {"shape": (5, 1, 1)})
    (y,) = builder.add("add", [("a", y), ("b", r)])
    graph = builder.graph([y])
    if in_body:
        outer = Builder("loop")
        body = Body("body", graph, 2)
        outer.input("x", (1, 3, 2, 2), FLOAT)
        result = TensorType((1, 5, 2, 2), FLOAT)
        graph = outer.graph(outer.opaque(LOOP, [("captures", "x")], [result], name="loop", bodies=[body]))
    facts = count(graph, deploy(graph))
    assert (facts.weights, facts.biases, facts.other_parameters) == (15, 5, 0)


def test_an_unknown_operator_is_named_and_makes_totals_lower_bounds() -> None:
    builder = Builder("unknown")
    x = builder.input("x", (2, 6), FLOAT)
    builder.opaque(UNKNOWN, [("x", x)], [TensorType((2, 6), FLOAT)], name="odd", origin="com.acme.Odd")
    y = mlp(builder, "odd", [6, 6])
    held = builder.graph([y])
    facts = count(held, deploy(held))
    assert not facts.exact
    assert facts.macs == 72
    assert facts.uncounted == (Uncounted("odd", "com.acme.Odd", "there is no rule for this operator"),)
    odd = facts.nodes[0]
    assert (odd.macs, odd.flops, odd.work, odd.read_bytes, odd.exact, odd.output_bytes) == (
        None,
        None,
        None,
        None,
        False,
        48,
    )
    assert facts.activations.total == 36


def test_an_operator_without_contractions_has_no_macs_even_if_its_shape_is_unknown() -> None:
    builder = Builder("unknown shape")
    x = builder.input("x", None, FLOAT)
    (y,) = builder.add("relu", [("x", x)])
    (z,) = builder.add("flatten", [("x", y)])
    graph = builder.graph([z])
    facts = count(graph, graph)
    assert (facts.macs, facts.exact, facts.work_exact) == (0, True, False)
    assert [(node.macs, node.work) for node in facts.nodes] == [(0, None), (0, Work())]
    assert facts.activations.total is None
    assert facts.activations.total_bytes is None
    assert facts.notes


def test_a_function_fused_into_a_node_that_computes_nothing_is_work_all_the_same() -> None:
    builder = Builder("lost")
    x = builder.input("x", None, FLOAT)
    (y,) = builder.add("concat", [("xs", x), ("xs", x)], {"axis": 0})
    graph = builder.graph([y])
    assert count(graph, deploy(graph)).work_exact
    graph = builder.graph(builder.add("relu", [("x", y)]))
    facts = count(graph, deploy(graph))
    assert (len(facts.nodes), facts.exact, facts.work_exact, facts.nodes[0].work) == (1, True, False, None)


def test_a_contraction_of_unknown_shape_is_not_counted() -> None:
    builder = Builder("unknown shape")
    x = builder.input("x", None, FLOAT)
    (y,) = builder.add("linear", [("x", x), ("w", builder.stored("w", (3, 5), FLOAT))], name="fc")
    graph = builder.graph([y])
    facts = count(graph, graph)
    assert (facts.macs, facts.exact, facts.weights) == (0, False, 15)
    assert facts.uncounted == (Uncounted("fc", "linear", "the shape of x is unknown"),)


def test_text_has_no_size() -> None:
    builder = Builder("text")
    x = builder.input("x", (3,), STRING)
    vocabulary = builder.stored("vocabulary", (10,), STRING, Role.CONSTANT)
    graph = builder.graph([x])
    facts = count(graph, graph)
    assert vocabulary in graph.tensors
    assert facts.constant_bytes is None
    assert (facts.activations.total, facts.activations.total_bytes) == (3, None)


def test_a_parameter_of_unknown_shape_makes_the_count_a_lower_bound() -> None:
    tensors = {"w": Tensor("w", None, FLOAT, Role.PARAMETER), "v": Tensor("v", (3,), FLOAT, Role.PARAMETER)}
    graph = Graph("odd", tensors, (), (), ("w", "v"))
    facts = count(graph, graph)
    assert (facts.parameters, facts.parameter_bytes, facts.exact) == (3, None, False)
    assert "w" in facts.notes[0]


def test_static_nodes_are_no_rows_and_cost_nothing() -> None:
    builder = Builder("static")
    x, w = builder.input("x", (2, 6), FLOAT), builder.stored("w", (6, 6), FLOAT)
    (t,) = builder.add("transpose", [("x", w)])
    (square,) = builder.add("matmul", [("x", t), ("w", w)])
    (y,) = builder.add("matmul", [("x", x), ("w", square)], name="product")
    graph = builder.graph([y])
    facts = count(graph, graph)
    assert [node.name for node in facts.nodes] == ["product"]
    assert (facts.macs, facts.activations.total) == (72, 24)
    assert (facts.nodes[0].weights, facts.nodes[0].parameters) == (36, 36)

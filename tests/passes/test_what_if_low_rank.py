"""Linear layers of low rank."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.passes.what_if_running import run, values_of
from weighbridge import load, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.passes.what_if.low_rank import factorise_linear

FLOAT = DTYPES["float32"]


def linear(m: int, n: int, **attributes) -> Graph:
    """y = W x of m outputs and n inputs for 3 rows, with a bias; a matmul where ``transpose_w`` is said."""
    builder = Builder("one")
    is_matmul = "transpose_w" in attributes
    x = builder.input("x", (n, 3) if attributes.get("transpose_x") else (3, n), FLOAT)
    first = attributes.get("transpose_w", attributes.get("weight_layout", "oi") == "oi")
    w = builder.stored("w", (m, n) if first else (n, m), FLOAT)
    bias = [] if is_matmul else [("b", builder.stored("b", (m,), FLOAT))]
    operator = "matmul" if is_matmul else "linear"
    return builder.graph(builder.add(operator, [("x", x), ("w", w), *bias], attributes, name="fc"))


FORMS = [
    {},
    {"weight_layout": "io", "transpose_x": True},
    {"alpha": 2.0, "beta": 0.5},
    {"transpose_w": True},
    {"transpose_w": False},
]


@pytest.mark.parametrize("attributes", FORMS)
def test_it_computes_what_a_layer_of_that_product_does(attributes: dict) -> None:
    old = linear(6, 8, **attributes)
    new = factorise_linear(old, 2)
    values = values_of(new)
    a, b = values["w.a"], values["w.b"]
    whole = b @ a if b.shape[0] == 6 else a @ b
    np.testing.assert_allclose(run(new, values)[0], run(old, {**values, "w": whole})[0])


@given(m=st.integers(2, 300), n=st.integers(2, 300), r=st.integers(1, 200))
def test_it_has_r_times_m_plus_n_weights(m: int, n: int, r: int) -> None:
    old = linear(m, n)
    if r * (m + n) >= m * n:
        with pytest.raises(BadSpec, match="fewer weights") as caught:
            factorise_linear(old, r)
        assert f"{r * (m + n):,} weights in place of {m * n:,}" in caught.value.hint
    else:
        facts = weigh(factorise_linear(old, r)).facts
        assert (facts.weights, facts.biases, facts.macs) == (r * (m + n), m, 3 * r * (m + n))


def test_a_share_of_the_smaller_side() -> None:
    graph = factorise_linear(load("alexnet"), Fraction(1, 4))
    new = [tensor.shape for tensor in graph.stored() if tensor.id not in load("alexnet").tensors]
    assert sorted(new) == sorted([(1024, 9216), (4096, 1024), (1024, 4096), (4096, 1024), (250, 4096), (1000, 250)])
    assert [node.name for node in graph.nodes if node.name.startswith("fc6")] == ["fc6.a", "fc6.b"]


def test_what_would_grow_is_left_and_said() -> None:
    graph = factorise_linear(load("alexnet"), 2048, "fc*")
    (note,) = graph.notes
    assert note.startswith(
        "low-rank: left as they are: fc7 (rank 2,048 takes 16,777,216 weights in place of 16,777,216); fc8"
    )
    assert {"fc6.a", "fc7", "fc8"} <= {node.name for node in graph.nodes}


@pytest.mark.parametrize("rank", [0, -1, Fraction(0), Fraction(1), Fraction(5, 4)])
def test_no_rank(rank: int | Fraction) -> None:
    with pytest.raises(BadSpec, match="no rank"):
        factorise_linear(load("mlp"), rank)


def test_products_of_two_activations_are_no_layers() -> None:
    builder = Builder("product")
    a, b = builder.input("a", (40, 40), FLOAT), builder.input("b", (40, 40), FLOAT)
    with pytest.raises(BadSpec) as caught:
        factorise_linear(builder.graph(builder.add("matmul", [("x", a), ("w", b)])), 2)
    assert caught.value.hint == ""

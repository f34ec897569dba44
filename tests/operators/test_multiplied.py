"""Which operands a contraction multiplies: they alone decide its precision."""

from __future__ import annotations

import numpy as np
import pytest

from tests.onnx.build import load
from tests.onnx.execute import Single, model_of
from tests.onnx.microsoft_cases import SCALE, ZERO, call, f, u8
from tests.operators import execution
from tests.operators.execution import typed
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.estimates.multiplications import macs_by_precision
from weighbridge.graph import Graph
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.deployment import deploy
from weighbridge.passes.static import static_tensors

HALF, FLOAT = DTYPES["float16"], DTYPES["float32"]
QKV = dict.fromkeys("qkv", typed((1, 2, 3, 4), "float16"))


def precisions(graph: Graph) -> dict[str | None, int]:
    return macs_by_precision(graph, OPERATORS, static_tensors(graph, OPERATORS))


@pytest.mark.parametrize(
    ("operator", "attributes", "operands", "multiplied"),
    [
        ("attention", {}, {**QKV, "mask": typed((3, 3)), "score_bias": typed((3, 3))}, "float16"),
        ("attention", {}, {**QKV, **dict.fromkeys(("past_key", "past_value"), typed((1, 2, 5, 4)))}, "float16"),
        ("matmul", {}, {"x": typed((2, 3), "int8"), "w": typed((3, 4), "int8"), "b": typed((4,))}, "int8"),
        ("matmul", {"alpha": 0.5, "beta": 2.0}, {"x": (2, 3), "w": (3, 4), "b": typed((4,), "float64")}, "float32"),
        ("linear", {"quantisation": "dynamic"}, {"x": (2, 3), "w": typed((4, 3), "int8")}, "int8"),
        ("linear", {"quantisation": "weight_only"}, {"x": (2, 3), "w": typed((4, 3), "int8")}, "float32 int8"),
        ("conv", {"quantisation": "dynamic"}, {"x": (1, 3, 5, 5), "w": typed((4, 3, 3, 3), "int8")}, "int8"),
        (
            "deformable_conv",
            {},
            {"x": typed((1, 3, 5, 5), "float16"), "w": typed((4, 3, 1, 1), "float16"), "offset": (1, 2, 5, 5)},
            "float16",
        ),
        (
            "lstm",
            {},
            {
                "x": typed((5, 2, 3), "float16"),
                "w": typed((1, 24, 3), "float16"),
                "r": typed((1, 24, 6), "float16"),
                "initial_c": (1, 2, 6),
            },
            "float16",
        ),
        ("lstm", {"dynamic": True}, {"x": (5, 2, 3), "w": (1, 24, 3), "r": (1, 24, 6)}, "int8"),
    ],
)
def test_what_is_only_added_is_not_multiplied(operator, attributes, operands, multiplied):
    found = execution.call(operator, attributes, **operands)
    assert {one.name for one in OPERATORS[operator].multiplied(found)} == set(multiplied.split())


def attention_of_halves(*, written: bool) -> Graph:
    """Attention of half-precision values under a mask of floats."""
    builder = Builder("net")
    q, k, v = (builder.input(name, (1, 2, 3, 4), HALF) for name in "qkv")
    mask = builder.input("mask", (3, 3), FLOAT)
    if not written:
        return builder.graph(list(builder.add("attention", [("q", q), ("k", k), ("v", v), ("mask", mask)])))
    (turned,) = builder.add("transpose", [("x", k)], {"permutation": (0, 1, 3, 2)})
    (scores,) = builder.add("matmul", [("x", q), ("w", turned)])
    (masked,) = builder.add("add", [("a", scores), ("b", mask)])
    (weights,) = builder.add("softmax", [("x", masked)], {"axis": -1})
    return builder.graph(list(builder.add("matmul", [("x", weights), ("w", v)])))


@pytest.mark.parametrize("written", [True, False])
def test_an_attention_of_halves_stays_one_under_a_mask_of_floats(written):
    graph = attention_of_halves(written=written)
    deployed = deploy(graph)
    assert [node.operator for node in deployed.nodes] == ["attention"]
    assert precisions(graph) == precisions(deployed) == {"float16": 2 * 2 * 3 * 3 * 4}


@pytest.mark.parametrize(
    "made",
    [
        call("DynamicQuantizeMatMul", f(3, 4), u8(4, 5), SCALE, ZERO, stored=[1, 2, 3]),
        call(
            *("DynamicQuantizeLSTM", f(5, 2, 4), u8(1, 4, 24), u8(1, 6, 24), None, None, None, None, None),
            *(np.full(1, 0.1, "float32"), np.full(1, 3, "uint8"), np.full(1, 0.1, "float32"), np.full(1, 3, "uint8")),
            hidden_size=6,
            stored=[1, 2, 8, 9, 10, 11],
        ),
    ],
    ids=lambda made: made.op,
)
def test_what_is_quantised_as_it_runs_multiplies_integers(made: Single):
    graph = load(model_of(made))
    assert set(precisions(graph)) == set(precisions(deploy(graph))) == {"int8"}

"""Mixtures of experts: types as ONNX Runtime computes them, MACs of the experts chosen, and all of them against plain ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.build import load
from tests.onnx.execute import Single, execute, model_of, run, types_of
from tests.onnx.microsoft_cases import call, f, u8
from tests.onnx.test_microsoft_spelled import Plain
from weighbridge import weigh
from weighbridge.errors import BadModel

T, H, D, E = 6, 32, 64, 4  # positions, features, features inside, experts
X, ROUTER = f(T, H), f(T, E)
FC1, B1, FC2, B2 = f(E, D, H), f(E, D), f(E, H, D), f(E, H)
BITS = {"stored": [2, 3, 5, 6], "block_size": 16}
GATED = {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1}

EXPERTS: list[tuple[Single, int]] = [
    (call("MoE", X, ROUTER, FC1, B1, FC2, B2, k=2, activation_type="gelu", stored=[2, 3, 4, 5]), 2),
    (call("MoE", f(2, 3, H), ROUTER, FC1, None, FC2, normalize_routing_weights=1, activation_type="silu"), 2),
    (call("MoE", X, ROUTER, f(E, 2 * D, H), f(E, 2 * D), FC2, B2, swiglu_limit=7.0, activation_beta=1.0, **GATED), 3),
    (call("QMoE", X, ROUTER, u8(E, D, H // 2), f(E, D), B1, u8(E, H, D // 2), f(E, H), B2, activation_type="relu"), 2),
    (
        call(
            "QMoE",
            X,
            ROUTER,
            u8(E, 2 * D, H),
            f(E, 2 * D, 2),
            None,
            u8(E, H, D),
            f(E, H, 4),
            expert_weight_bits=8,
            **GATED,
            **BITS,
        ),
        3,
    ),
]
"""Calls that ONNX Runtime executes on a processor, and how many matrices of H x D an expert has."""
OTHERS: list[tuple[Single, int]] = [
    (call("MoE", X, ROUTER, FC1, B1, FC2, B2, f(E, D, H), f(E, D), k=2, activation_type="swiglu"), 3),
    (call("MoE", X, ROUTER, f(E, H, D), None, f(E, D, H), k=3, activation_type="relu2"), 2),
    (
        call(
            "QMoE",
            X,
            ROUTER,
            u8(E, 2 * D, H),
            f(E, 2 * D, 2),
            None,
            u8(E, H, D // 2),
            f(E, H, 4),
            expert_weight_bits=8,
            fc2_expert_weight_bits=4,
            **GATED,
            **BITS,
        ),
        3,
    ),
    (
        call(
            "QMoE",
            X,
            ROUTER,
            u8(E, D, H // 4),
            f(E, D),
            None,
            u8(E, H, D // 4),
            f(E, H),
            *[None] * 4,
            u8(E, D // 4),
            u8(E, H // 4),
            ROUTER,
            expert_weight_bits=2,
        ),
        2,
    ),
]
"""Those that other devices run."""


@pytest.mark.parametrize(("made", "matrices"), [*EXPERTS, *OTHERS])
def test_the_experts_chosen_count_and_all_are_parameters(made: Single, matrices: int) -> None:
    graph = load(model_of(made))
    facts = weigh(graph).facts
    assert facts.exact
    assert graph.tensors[graph.outputs[0]].shape == np.shape(made.arrays[0])
    assert facts.macs == T * made.attributes.get("k", 1) * matrices * H * D
    if made.stored:
        assert facts.weights == E * matrices * H * D
        assert facts.parameters - facts.weights == (E * (H + D) if 3 in made.stored and made.op == "MoE" else 0)


@pytest.mark.parametrize("made", [one for one, _ in EXPERTS])
def test_results_have_the_types_of_those_computed(made: Single) -> None:
    graph = load(model_of(made))
    assert [(graph.tensors[one].shape, graph.tensors[one].dtype) for one in graph.outputs] == types_of(execute(made))


def test_weights_of_few_bits_take_the_bytes_of_the_file() -> None:
    facts = weigh(load(model_of(OTHERS[2][0]))).facts
    assert facts.parameter_bytes == E * 2 * D * H + E * H * D // 2


def test_of_the_experts_no_more_are_read_than_the_positions_choose() -> None:
    def read(positions: int, chosen: int) -> list[int | None]:
        operands = f(positions, H), f(positions, 8), f(8, D, H), f(8, D), f(8, H, D), f(8, H)
        nodes = weigh(
            load(model_of(call("MoE", *operands, k=chosen, activation_type="relu", stored=[2, 3, 4, 5])))
        ).nodes
        return [node.read_bytes for node in nodes if node.operator == "grouped_matmul"]

    for positions, chosen, met in ((1, 1, 1), (1, 2, 2), (3, 2, 6), (6, 2, 8)):
        rows = positions * chosen
        expected = [met * (H * D + D) + rows * H, met * (H * D + H) + rows * D]
        # Eight numbers say where the rows of each expert end.
        ends = 8 * 8
        assert read(positions, chosen) == [4 * one + ends for one in expected]


def test_all_experts_are_as_many_layers_over_all_positions() -> None:
    """Where every expert is chosen, the mixture is a sum of ordinary layers, weighted by a softmax."""
    whole = call("MoE", X, ROUTER, FC1, B1, FC2, B2, k=E, activation_type="relu", stored=[2, 3, 4, 5])
    plain = Plain()
    x, shares = plain.feed(X), plain.node("Softmax", plain.feed(ROUTER), axis=-1)
    parts = []
    for expert in range(E):
        y = plain.node("Add", plain.node("MatMul", x, plain.store(FC1[expert].T.copy())), plain.store(B1[expert]))
        y = plain.node("MatMul", plain.node("Relu", y), plain.store(FC2[expert].T.copy()))
        y = plain.node("Add", y, plain.store(B2[expert]))
        parts.append(plain.node("Mul", y, plain.node("Gather", shares, plain.store([expert], "int64"), axis=1)))
    spelled = plain.model(plain.node("Sum", *parts))
    np.testing.assert_allclose(execute(whole)[0], run(spelled, plain.fed)[0], rtol=1e-3, atol=1e-4)
    ours, theirs = weigh(load(model_of(whole))).facts, weigh(load(spelled)).facts
    assert (ours.macs, ours.parameters, ours.weights) == (theirs.macs, theirs.parameters, theirs.weights)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"k": 0}, "0 of the experts of a router of shape"),
        ({"k": E + 1}, "5 of the experts of a router of shape"),
        ({"k": "all"}, "the attribute 'k' of MoE is text"),
    ],
)
def test_a_choice_of_no_experts_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(BadModel, match=message):
        load(model_of(call("MoE", X, ROUTER, FC1, B1, FC2, B2, **more)))


@pytest.mark.parametrize(
    ("op", "more", "reason"),
    [
        ("MoE", {"activation_type": "tanh"}, "there is no rule for the function 'tanh' of its experts"),
        ("QMoE", {"quant_type": "fp8"}, "there is no rule for experts quantised as 'fp8'"),
        ("QMoE", {"expert_weight_bits": 3}, "there is no rule for packed weights of these bits"),
    ],
)
def test_what_has_no_rule_has_a_shape(op: str, more: dict[str, Any], reason: str) -> None:
    graph = load(model_of(call(op, X, ROUTER, u8(E, D, H // 2), f(E, D), None, u8(E, H, D // 2), f(E, H), **more)))
    assert graph.tensors[graph.outputs[0]].shape == (T, H)
    assert [one.reason for one in weigh(graph).facts.uncounted] == [reason]

"""PyTorch's attention: shapes and MACs against PyTorch's own parts, whichever kernel stands behind the call."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.torch.aten_calls import decomposed_macs, graph_of, weighed
from weighbridge.counts import count
from weighbridge.frontends.aten_table_attention import RULES_ATTENTION
from weighbridge.frontends.from_torch import load_torch

A = torch.ops.aten
SDPA = A.scaled_dot_product_attention.default


def r(*shape):
    return torch.ones(shape)


@st.composite
def attentions(draw):
    size = st.integers(1, 4)
    kv_heads = draw(st.integers(1, 2))
    lead = draw(st.lists(size, max_size=2))
    return {
        "lead": lead,
        "kv_heads": kv_heads,
        "heads": kv_heads * draw(st.integers(1, 3)),
        "queries": draw(size),
        "keys": draw(size),
        "depth": draw(size),
        "value_depth": draw(size),
        "mask": draw(st.sampled_from([None, "causal", "bool", "float", "whole"])),
    }


@settings(deadline=None, max_examples=60)
@given(attentions())
def test_attention_is_its_two_products(a):
    """Grouped or not, masked or not: the scores and the weighted values, by PyTorch's plain kernel."""
    grouped = a["heads"] != a["kv_heads"]
    lead = a["lead"] or [1] if grouped else a["lead"]
    q = r(*lead, a["heads"], a["queries"], a["depth"])
    k = r(*lead, a["kv_heads"], a["keys"], a["depth"])
    v = r(*lead, a["kv_heads"], a["keys"], a["value_depth"])
    masks = {
        "bool": torch.ones(a["queries"], a["keys"], dtype=torch.bool),
        "float": r(a["queries"], a["keys"]),
        "whole": r(*lead, a["heads"], a["queries"], a["keys"]),
    }
    args = (q, k, v, masks.get(a["mask"]), 0.0, a["mask"] == "causal")
    facts = weighed(SDPA, *args, enable_gqa=grouped)
    assert facts.macs == decomposed_macs(SDPA, *args, enable_gqa=grouped)


@pytest.mark.parametrize(
    ("q", "k", "v"),
    [
        ((5, 8), (7, 8), (7, 6)),
        ((2, 5, 8), (2, 7, 8), (2, 7, 6)),
        ((1, 5, 8), (4, 7, 8), (4, 7, 6)),
        ((2, 4, 5, 8), (2, 1, 7, 8), (2, 1, 7, 6)),
        ((2, 1, 5, 8), (2, 4, 7, 8), (2, 4, 7, 6)),
        ((3, 2, 4, 5, 8), (3, 2, 4, 7, 8), (3, 2, 4, 7, 6)),
        ((3, 1, 4, 5, 8), (1, 2, 4, 7, 8), (1, 2, 4, 7, 6)),
    ],
)
def test_any_axes_in_front(q, k, v):
    args = r(*q), r(*k), r(*v)
    assert weighed(SDPA, *args).macs == decomposed_macs(SDPA, *args)


def test_a_causal_attention_counts_the_full_rectangle():
    q = r(1, 2, 6, 4)
    assert weighed(SDPA, q, q, q, None, 0.0, True).macs == 2 * 2 * 6 * 6 * 4


Q, K, V = r(2, 4, 5, 8), r(2, 4, 7, 8), r(2, 4, 7, 6)
MASK = r(2, 4, 5, 7)
Y, SUMS = r(2, 4, 5, 6), r(2, 4, 5)
PRODUCTS = 8 * (5 * 7 * 8 + 5 * 7 * 6)
# The positions stand in front of the heads.
P = r(2, 5, 4, 8), r(2, 7, 2, 8), r(2, 7, 2, 6)
X, CONTEXT, MEMORY = r(2, 5, 12), r(2, 7, 12), r(2, 7, 12)
PROJECTION = r(36, 12), r(36), r(12, 12), r(12)
MODULE = 10 * 12 * 36 + 2 * 10 * 5 * 12 + 10 * 144
CROSSED = 10 * 144 + 2 * 14 * 144 + 2 * 10 * 7 * 12 + 10 * 144
LAYER = MODULE + 2 * 10 * 12 * 20
FEED = r(12), r(12), r(12), r(12), r(20, 12), r(20), r(12, 20), r(12)

FLEX = "higher_order.flex_attention"

# key: (operator, arguments, what it makes, MACs)
FORMS = {
    "aten.scaled_dot_product_attention": (SDPA, (Q, K, V, MASK), None, PRODUCTS),
    "aten._scaled_dot_product_attention_math": (
        A._scaled_dot_product_attention_math.default, (Q, K, V, MASK), None, PRODUCTS,
    ),
    "aten._scaled_dot_product_attention_math_for_mps": (
        A._scaled_dot_product_attention_math_for_mps.default, (Q, K, V, MASK), (Y, r(2, 4, 5, 7)), PRODUCTS,
    ),
    "aten._scaled_dot_product_flash_attention": (
        A._scaled_dot_product_flash_attention.default, (Q, K, V, 0.0, True), (Y, SUMS), PRODUCTS,
    ),
    "aten._scaled_dot_product_flash_attention_for_cpu": (
        A._scaled_dot_product_flash_attention_for_cpu.default, (Q, K, r(2, 4, 7, 8)), None, 8 * 5 * 7 * 16,
    ),
    "aten._scaled_dot_product_efficient_attention": (
        A._scaled_dot_product_efficient_attention.default, (Q, K, V, MASK, False), (Y, None, None, None), PRODUCTS,
    ),
    "aten._scaled_dot_product_cudnn_attention": (
        A._scaled_dot_product_cudnn_attention.default, (Q, K, V, None, True), (Y, SUMS), PRODUCTS,
    ),
    "aten._scaled_dot_product_fused_attention_overrideable": (
        A._scaled_dot_product_fused_attention_overrideable.default, (Q, K, V, MASK), (Y, SUMS), PRODUCTS,
    ),
    "aten._flash_attention_forward": (
        A._flash_attention_forward.default, (*P, None, None, 5, 7, 0.0, True, False), (r(2, 5, 4, 6), SUMS), PRODUCTS,
    ),
    "aten._efficient_attention_forward": (
        A._efficient_attention_forward.default, (*P, MASK, None, None, None, None, 0.0, 1), (r(2, 5, 4, 6), None), PRODUCTS,
    ),
    "aten._cudnn_attention_forward": (
        A._cudnn_attention_forward.default, (Q, K, V, MASK, None, None, 5, 7, True), (Y, SUMS), PRODUCTS,
    ),
    "aten._triton_scaled_dot_attention": (A._triton_scaled_dot_attention.default, (Q, K, V), Y, PRODUCTS),
    "aten._native_multi_head_attention": (
        A._native_multi_head_attention.default, (X, X, X, 12, 4, *PROJECTION), None, MODULE,
    ),
    "aten._native_multi_head_attention heads": (
        A._native_multi_head_attention.default, (X, X, X, 12, 4, *PROJECTION, None, True, False), None, MODULE,
    ),
    "aten._native_multi_head_attention padded": (
        A._native_multi_head_attention.default, (X, X, X, 12, 4, *PROJECTION, torch.zeros(2, 5) > 0, True, True, 1), None, MODULE,
    ),
    "aten._native_multi_head_attention crossed": (
        A._native_multi_head_attention.default, (X, CONTEXT, MEMORY, 12, 4, *PROJECTION), (X, None), CROSSED,
    ),
    "aten._triton_multi_head_attention": (
        A._triton_multi_head_attention.default, (X, X, X, 12, 4, *PROJECTION), X, MODULE,
    ),
    "aten._transformer_encoder_layer_fwd": (
        A._transformer_encoder_layer_fwd.default, (X, 12, 4, *PROJECTION, True, True, 1e-5, *FEED), None, LAYER,
    ),
    "aten._transformer_encoder_layer_fwd behind": (
        A._transformer_encoder_layer_fwd.default,
        (X, 12, 4, *PROJECTION, False, False, 1e-5, *FEED, torch.zeros(5, 5) > 0, 0), None, LAYER,
    ),
}  # fmt: skip


def test_every_rule_has_a_form():
    assert {name.split()[0] for name in FORMS} | {FLEX} == set(RULES_ATTENTION)


@pytest.mark.parametrize("name", FORMS)
def test_shapes_are_those_that_pytorch_makes(name):
    operator, args, made, macs = FORMS[name]
    assert weighed(operator, *args, made=made).macs == macs


@pytest.mark.parametrize(
    "operator",
    [
        A._scaled_dot_product_flash_attention.default,
        A._scaled_dot_product_efficient_attention.default,
        A._scaled_dot_product_cudnn_attention.default,
    ],
)
def test_the_kernels_are_counted_as_pytorch_counts_them(operator):
    """PyTorch has a count of its own for these; its formula is asked, as they run on graphics cards alone."""
    from torch.utils.flop_counter import sdpa_flop_count

    args = (Q, K, V) if "flash" in operator.name() else (Q, K, V, None, False)
    flops = sdpa_flop_count(Q.shape, K.shape, V.shape)
    assert 2 * weighed(operator, *args, made=(Y, None)).macs == flops


def test_sequences_packed_one_behind_the_other_stay_unknown():
    """Where they end are values, and the scores of each are its own."""
    packed, ends = r(12, 4, 8), torch.tensor([0, 5, 12], dtype=torch.int32)
    args = (packed, packed, packed, ends, ends, 7, 7, 0.0, False, False)
    (node,) = graph_of(A._flash_attention_forward.default, *args, made=(packed, None)).nodes
    assert node.operator == "unknown" and "values" in node.reason


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_layer_in_one_call_has_the_work_of_its_parts(norm_first):
    """The same layer as a module, which is captured part by part."""
    layer = nn.TransformerEncoderLayer(12, 4, 20, batch_first=True, norm_first=norm_first, activation="gelu").eval()
    graph = load_torch(layer, (X,))
    apart = count(graph, graph)
    attention = layer.self_attn
    whole = weighed(
        A._transformer_encoder_layer_fwd.default, X, 12, 4,
        attention.in_proj_weight, attention.in_proj_bias, attention.out_proj.weight, attention.out_proj.bias,
        True, norm_first, 1e-5, layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias,
        layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias, made=X,
    )  # fmt: skip
    assert apart.exact
    for name in ("macs", "parameters", "weights", "biases", "other_parameters", "work"):
        assert getattr(whole, name) == getattr(apart, name), name


def test_logarithms_of_the_sums_cost_a_logarithm_and_an_addition_a_row():
    operator = A._scaled_dot_product_flash_attention.default
    without = weighed(operator, Q, K, V, made=(Y, None)).work
    with_sums = weighed(operator, Q, K, V, made=(Y, SUMS)).work
    rows = 2 * 4 * 5
    assert (with_sums.add - without.add, with_sums.special - without.special) == (rows, rows)


@pytest.mark.parametrize("function", ["_identity", "<lambda>"])
def test_flex_attention_counts_the_full_rectangle_and_knows_no_work_of_a_foreign_function(function):
    q, k, v = r(1, 4, 5, 8), r(1, 2, 7, 8), r(1, 2, 7, 6)
    facts = weighed(FLEX, made=(r(1, 4, 5, 6), r(1, 4, 5), None), query=q, key=k, value=v, score_mod=function)
    assert facts.macs == 4 * (5 * 7 * 8 + 5 * 7 * 6)
    assert facts.work_exact == (function == "_identity")

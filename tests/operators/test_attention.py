"""Attention against its execution, score by score."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, loops_of, macs_of, shape_of, typed, work_of
from weighbridge.errors import GraphError

SIZES = st.integers(1, 3)


@st.composite
def attentions(draw):
    kv_heads = draw(SIZES)
    return {
        "batch": draw(SIZES),
        "heads": kv_heads * draw(st.integers(1, 2)),
        "kv_heads": kv_heads,
        "queries": draw(SIZES),
        "keys": draw(SIZES),
        "past": draw(st.integers(0, 2)),
        "depth": draw(SIZES),
        "value_depth": draw(SIZES),
        "causal": draw(st.booleans()),
        "softcap": draw(st.sampled_from([0.0, 2.0])),
        "mask": draw(st.sampled_from([None, "float32", "bool"])),
    }


def values(shape):
    return np.array([math.sin(i + 1) for i in range(math.prod(shape))], dtype=object).reshape(shape)


def attend(a, q, k, v, tally):
    """Every query of every head meets every key, past ones first; the heads of keys are shared by runs of heads."""
    total, shared = a["past"] + a["keys"], a["heads"] // a["kv_heads"]
    scores = np.zeros((a["batch"], a["heads"], a["queries"], total), dtype=object)
    result = np.zeros((a["batch"], a["heads"], a["queries"], a["value_depth"]), dtype=object)
    for batch, head, query in everywhere(scores.shape[:3]):
        row = []
        for key in range(total):
            score = 0
            for place in range(a["depth"]):
                score = tally.mac(score, q[batch, head, query, place], k[batch, head // shared, key, place])
            score = tally.mul(score, 1 / math.sqrt(a["depth"]))
            if a["softcap"]:
                score = tally.mul(tally.tanh(tally.div(score, a["softcap"])), a["softcap"])
            if a["mask"] == "bool":
                score = tally.select(True, score, -math.inf)
            elif a["mask"]:
                score = tally.add(score, 0.0)
            if a["causal"]:
                score = tally.select(key <= query + a["past"], score, -math.inf)
            row.append(score)
        largest, whole = -math.inf, 0
        for score in row:
            largest = tally.maximum(largest, score)
        powers = [tally.special(math.exp, tally.sub(score, largest)) for score in row]
        for power in powers:
            whole = tally.add(whole, power)
        tally.add(tally.special(math.log, whole), largest)
        shares = [tally.div(power, whole) for power in powers]
        for place in range(a["value_depth"]):
            value = 0
            for key in range(total):
                value = tally.mac(value, shares[key], v[batch, head // shared, key, place])
            result[batch, head, query, place] = value
    return result


def operands_of(a, *, flat):
    """Four dimensions, or three with the heads in the last one; a cache always has four."""

    def placed(heads, positions, depth):
        if flat:
            return (a["batch"], positions, heads * depth)
        return (a["batch"], heads, positions, depth)

    operands = {
        "q": placed(a["heads"], a["queries"], a["depth"]),
        "k": placed(a["kv_heads"], a["keys"], a["depth"]),
        "v": placed(a["kv_heads"], a["keys"], a["value_depth"]),
    }
    if a["mask"]:
        operands["mask"] = typed((a["queries"], a["past"] + a["keys"]), a["mask"])
    if a["past"]:
        operands["past_key"] = (a["batch"], a["kv_heads"], a["past"], a["depth"])
        operands["past_value"] = (a["batch"], a["kv_heads"], a["past"], a["value_depth"])
    return operands


ALL_OUTPUTS = ("y", "present_key", "present_value", "scores", "log_sums")


@settings(deadline=None, max_examples=60)
@given(attentions(), st.booleans())
def test_attention_counts_what_its_execution_does(a, flat):
    total = a["past"] + a["keys"]
    k, v = (
        values((a["batch"], a["kv_heads"], total, a["depth"])),
        values((a["batch"], a["kv_heads"], total, a["value_depth"])),
    )
    tally = Tally()
    result = attend(a, values((a["batch"], a["heads"], a["queries"], a["depth"])), k, v, tally)
    heads = {"heads": a["heads"], "kv_heads": a["kv_heads"]} if flat else {}
    attributes = {"causal": a["causal"], "softcap": a["softcap"], "outputs": ALL_OUTPUTS, **heads}
    found = call("attention", attributes, **operands_of(a, flat=flat))
    y = np.moveaxis(result, 1, 2).reshape(a["batch"], a["queries"], -1) if flat else result
    assert [output.shape for output in found.outputs] == [
        y.shape,
        k.shape,
        v.shape,
        (a["batch"], a["heads"], a["queries"], total),
        (a["batch"], a["heads"], a["queries"]),
    ]
    assert macs_of("attention", found) == tally.macs
    assert work_of("attention", found) == tally.work
    assert [loops.label for loops in loops_of("attention", found)] == ["scores", "values"]


def test_the_oracle_itself_gives_what_onnx_gives():
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    a = {
        "batch": 2, "heads": 4, "kv_heads": 2, "queries": 3, "keys": 2, "past": 1, "depth": 3, "value_depth": 2,
        "causal": True, "softcap": 0.0, "mask": None,
    }  # fmt: skip
    k, v = values((2, 2, 3, 3)), values((2, 2, 3, 2))
    q = values((2, 4, 3, 3))
    feeds = {
        "q": q, "k": k[:, :, 1:], "v": v[:, :, 1:], "past_key": k[:, :, :1], "past_value": v[:, :, :1],
    }  # fmt: skip
    feeds = {name: value.astype("float32") for name, value in feeds.items()}
    node = onnx.helper.make_node(
        "Attention", ["q", "k", "v", "", "past_key", "past_value"], ["y", "pk", "pv"], is_causal=1
    )
    float_type = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info(name, float_type, value.shape) for name, value in feeds.items()],
        [onnx.helper.make_tensor_value_info(name, float_type, None) for name in ("y", "pk", "pv")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 24)])
    y, present_key, present_value = ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_allclose(attend(a, q, k, v, Tally()).astype("float32"), y, rtol=1e-5)
    found = call("attention", {"causal": True, "outputs": ALL_OUTPUTS[:3]}, **operands_of(a, flat=False))
    assert [output.shape for output in found.outputs] == [y.shape, present_key.shape, present_value.shape]


def test_a_function_of_the_models_own_has_work_that_nobody_knows():
    assert work_of("attention", call("attention", {"score_function": True}, q=(5, 8), k=(7, 8), v=(7, 6))) is None


def test_attention_of_matrices_has_one_head_and_no_batch():
    found = call("attention", {}, q=(5, 8), k=(7, 8), v=(7, 6))
    assert shape_of(found) == (5, 6)
    assert macs_of("attention", found) == 5 * 7 * 8 + 5 * 7 * 6


def test_three_dimensions_without_heads_are_a_batch_of_one_head():
    found = call("attention", {}, q=(2, 5, 8), k=(2, 7, 8), v=(2, 7, 6))
    assert shape_of(found) == (2, 5, 6)
    assert macs_of("attention", found) == 2 * (5 * 7 * 8 + 5 * 7 * 6)


@pytest.mark.parametrize(
    ("attributes", "operands"),
    [
        ({"heads": 3}, {"q": (2, 5, 8), "k": (2, 7, 8), "v": (2, 7, 8)}),
        ({"heads": 2, "kv_heads": 3}, {"q": (2, 5, 8), "k": (2, 7, 12), "v": (2, 7, 12)}),
        ({"heads": -2}, {"q": (2, 5, 8), "k": (2, 7, 8), "v": (2, 7, 8)}),
        ({}, {"q": (8,), "k": (7, 8), "v": (7, 8)}),
        ({}, {"q": (5, 8), "k": (7, 9), "v": (7, 8)}),
        ({}, {"q": (5, 8), "k": (7, 8), "v": (6, 8)}),
        ({}, {"q": (1, 4, 5, 8), "k": (1, 0, 7, 8), "v": (1, 0, 7, 8)}),
        ({}, {"q": (1, 2, 5, 8), "k": (1, 2, 7, 8), "v": (1, 2, 7, 8), "mask": (4, 7)}),
        ({}, {"q": (1, 2, 5, 8), "k": (1, 2, 7, 8), "v": (1, 2, 7, 8), "mask": (5, 8)}),
        ({}, {"q": (1, 2, 5, 8), "k": (1, 2, 7, 8), "v": (1, 2, 7, 8), "past_key": (1, 2, 3, 8)}),
        ({"outputs": ("y", "y")}, {"q": (5, 8), "k": (7, 8), "v": (7, 8)}),
        ({"outputs": ()}, {"q": (5, 8), "k": (7, 8), "v": (7, 8)}),
        ({"outputs": ("z",)}, {"q": (5, 8), "k": (7, 8), "v": (7, 8)}),
    ],
)
def test_a_contradiction_is_an_error(attributes, operands):
    with pytest.raises(GraphError):
        call("attention", attributes, **operands)

"""Attention against its execution, score by score."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, loops_of, macs_of, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work

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
        "score_bias": draw(st.booleans()),
        "sinks": draw(st.booleans()),
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
            if a["score_bias"]:
                score = tally.add(score, 0.0)
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
        if a["sinks"]:
            largest = tally.maximum(largest, -math.inf)
        powers = [tally.special(math.exp, tally.sub(score, largest)) for score in row]
        for power in powers:
            whole = tally.add(whole, power)
        if a["sinks"]:
            whole = tally.add(whole, tally.special(math.exp, tally.sub(-math.inf, largest)))
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
    if a["score_bias"]:
        operands["score_bias"] = (1, a["heads"], 1, a["past"] + a["keys"])
    if a["sinks"]:
        operands["sinks"] = (a["heads"],)
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
        "causal": True, "softcap": 0.0, "mask": None, "score_bias": False, "sinks": False,
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


QKV = {"q": (2, 4, 3, 8), "k": (2, 2, 1, 8), "v": (2, 2, 1, 8)}
CACHE = {"past_key": (2, 2, 5, 8), "past_value": (2, 2, 5, 8)}


def test_a_cache_in_one_operand_is_as_one_in_two():
    apart = call("attention", {"outputs": ("y", "present_key")}, **QKV, **CACHE)
    stacked = call("attention", {"outputs": ("y", "present")}, **QKV, past=(2, 2, 2, 5, 8))
    assert (shape_of(stacked), shape_of(stacked, 1)) == (shape_of(apart), (2, *shape_of(apart, 1)))
    assert (macs_of("attention", stacked), work_of("attention", stacked)) == (
        macs_of("attention", apart),
        work_of("attention", apart),
    )


@pytest.mark.parametrize("filled", [0, 2, 4, 5])
def test_a_buffer_counts_as_far_as_it_is_filled(filled):
    """And keeps its size, unless the new keys do not fit in."""
    outputs = {"outputs": ("y", "present_key")}
    found = call("attention", {"past_length": filled, **outputs}, **QKV, **CACHE)
    full = call("attention", outputs, **QKV, **dict.fromkeys(CACHE, (2, 2, filled, 8)))
    assert shape_of(found, 1) == (2, 2, max(5, filled + 1), 8)
    assert macs_of("attention", found) == macs_of("attention", full) == 2 * 4 * 3 * (filled + 1) * 8 * 2
    assert work_of("attention", found) == work_of("attention", full)


def test_a_buffer_filled_as_only_values_tell_has_a_result_and_no_count():
    asked = {"past_length": "unknown", "outputs": ("y", "present_key", "scores")}
    found = call("attention", asked, **QKV, **CACHE, mask=(3, 99))
    assert shape_of(found) == QKV["q"]
    assert [output.name for output in found.outputs[1:]] == ["float32", "float32"]
    for rule in (macs_of, work_of):
        with pytest.raises(GraphError, match="how many positions of the cache are filled depends on values"):
            rule("attention", found)


def test_a_cache_of_another_type_is_dequantised_and_its_new_part_quantised():
    """1 mul for each of 5 + 5 rows read; for the 2 new rows 1 add, 1 div, 2 compare a value."""
    caches = {name: typed(shape, "int8") for name, shape in CACHE.items()}
    found = call("attention", {"outputs": ("y", "present_key", "present_value")}, **QKV, **caches)
    plain = work_of("attention", call("attention", {}, **QKV, **CACHE))
    assert [output.dtype.name for output in found.outputs] == ["float32", "int8", "int8"]
    rows = 2 * 2 * 8
    assert work_of("attention", found) == plain.plus(Work(mul=10 * rows, add=2 * rows, div=2 * rows, compare=4 * rows))


def test_a_smooth_softmax_has_a_sink():
    smooth = call("attention", {"smooth_softmax": True}, **QKV)
    assert work_of("attention", smooth) == work_of("attention", call("attention", {}, **QKV, sinks=(4,)))


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
        ({}, {**QKV, "past": (2, 2, 2, 5, 7)}),
        ({}, {**QKV, "past": (2, 2, 2, 5, 8), **CACHE}),
        ({}, {**QKV, "v": (2, 2, 1, 7), "past": (2, 2, 2, 5, 8)}),
        ({"past_length": 6}, {**QKV, **CACHE}),
        ({"past_length": -1}, {**QKV, **CACHE}),
        ({}, {**QKV, "sinks": (2,)}),
        ({}, {**QKV, "score_bias": (1, 3, 3, 1)}),
        ({"outputs": ("z",)}, {"q": (5, 8), "k": (7, 8), "v": (7, 8)}),
    ],
)
def test_a_contradiction_is_an_error(attributes, operands):
    with pytest.raises(GraphError):
        call("attention", attributes, **operands)

"""ONNX Runtime's own operators against plain ONNX that computes the same: equal results, and equal MACs and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.onnx.build import load
from tests.onnx.execute import Single, execute, model_of, run
from tests.onnx.microsoft_cases import call, f, i32, u8
from weighbridge import weigh


class Plain:
    """A graph of ONNX's own operators; arrays are fed, or stored where they are weights."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.stored: list[onnx.TensorProto] = []
        self.fed: dict[str, np.ndarray] = {}

    def feed(self, array: np.ndarray) -> str:
        name = f"x{len(self.fed)}"
        self.fed[name] = array
        return name

    def store(self, array: Any, dtype: str = "") -> str:
        name = f"w{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.asarray(array, dtype or None), name))
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        made = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [made], **attributes))
        return made

    def reshape(self, x: str, *shape: int) -> str:
        return self.node("Reshape", x, self.store(shape, "int64"))

    def swap(self, x: str, *order: int) -> str:
        return self.node("Transpose", x, perm=order)

    def heads(self, x: str, count: int) -> str:
        """(batch, positions, heads x depth) as (batch, heads, positions, depth)."""
        return self.swap(self.reshape(x, 0, 0, count, -1), 0, 2, 1, 3)

    def attend(self, q: str, k: str, v: str, depth: int, mask: str = "") -> str:
        """Of four dimensions each; the result has the heads side by side."""
        scores = self.node("MatMul", q, self.swap(k, 0, 1, 3, 2))
        scores = self.node("Mul", scores, self.store(1 / np.sqrt(depth), "float32"))
        if mask:
            scores = self.node("Add", scores, mask)
        values = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        return self.reshape(self.swap(values, 0, 2, 1, 3), 0, 0, -1)

    def model(self, result: str) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in self.fed.items()
        ]
        graph = helper.make_graph(self.nodes, "plain", inputs, [onnx.ValueInfoProto(name=result)], self.stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


Case = tuple[Single, Plain, str]
CASES: list[Callable[[], Case]] = []


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES.append(make)
    return make


def causal(queries: int, keys: int) -> np.ndarray:
    hidden = np.arange(keys)[None] > np.arange(queries)[:, None] + keys - queries
    return np.where(hidden, -1e9, 0).astype("float32")


@case
def attention_with_its_projection() -> Case:
    x, w, b, past = f(2, 3, 16), f(16, 48), f(48), f(2, 2, 4, 5, 4)
    plain = Plain()
    joined = plain.node("Add", plain.node("MatMul", plain.feed(x), plain.store(w)), plain.store(b))
    ends = [0, 16, 32, 48]
    q, k, v = (
        plain.heads(
            plain.node("Slice", joined, *(plain.store([one], "int64") for one in (ends[at], ends[at + 1], 2))), 4
        )
        for at in range(3)
    )
    k = plain.node("Concat", plain.feed(past[0]), k, axis=2)
    v = plain.node("Concat", plain.feed(past[1]), v, axis=2)
    y = plain.attend(q, k, v, 4, plain.feed(causal(3, 8)))
    whole = call("Attention", x, w, b, None, past, num_heads=4, unidirectional=1, stored=[1, 2], results=2)
    return whole, plain, y


@case
def multi_head_attention_of_other_values() -> Case:
    q, k, v, b, mask = f(2, 3, 16), f(2, 5, 16), f(2, 5, 24), f(56), f(1, 4, 3, 5)
    plain, parts = Plain(), []
    for one, bias in ((q, b[:16]), (k, b[16:32]), (v, b[32:])):
        parts.append(plain.heads(plain.node("Add", plain.feed(one), plain.store(bias)), 4))
    y = plain.attend(*parts, 4, plain.feed(mask))
    return call("MultiHeadAttention", q, k, v, b, None, mask, num_heads=4, stored=[3]), plain, y


@case
def keys_and_values_of_an_encoder() -> Case:
    """The bias is for the queries alone: keys and values have theirs already."""
    q, k, v, b = f(2, 1, 16), f(2, 4, 7, 4), f(2, 4, 7, 4), f(48)
    plain = Plain()
    biased = plain.node("Add", plain.feed(q), plain.feed(b[:16]))
    y = plain.attend(plain.heads(biased, 4), plain.feed(k), plain.feed(v), 4)
    return call("MultiHeadAttention", q, k, v, b, num_heads=4), plain, y


def grouped(new: int, cached: int, total: int) -> Callable[[], Case]:
    """Four heads of queries and two of keys; the first ``total - new`` positions of the cache are filled."""

    def make() -> Case:
        q, k, v = f(1, new, 64), f(1, new, 32), f(1, new, 32)
        caches = f(1, 2, cached, 16), f(1, 2, cached, 16)
        plain, parts = Plain(), []
        for cache, one in zip(caches, (k, v), strict=True):
            joined = plain.heads(plain.feed(one), 2)
            if cached:
                joined = plain.node("Concat", plain.feed(cache[:, :, : total - new]), joined, axis=2)
            shape = plain.store([1, 2, 2, total, 16], "int64")
            parts.append(
                plain.reshape(plain.node("Expand", plain.reshape(joined, 1, 2, 1, total, 16), shape), 1, 4, total, 16)
            )
        y = plain.attend(plain.heads(plain.feed(q), 4), *parts, 16, plain.feed(causal(new, total)))
        past = caches if cached else (None, None)
        whole = call(
            "GroupQueryAttention",
            q,
            k,
            v,
            *past,
            i32(total - 1),
            i32(total),
            num_heads=4,
            kv_num_heads=2,
            stored=[6],
            results=3,
        )
        return whole, plain, y

    make.__name__ = f"grouped_queries_{new}_{cached}_{total}"
    return make


for sizes in ((3, 0, 3), (1, 5, 6), (1, 9, 6), (2, 4, 6)):
    CASES.append(grouped(*sizes))


@case
def normal_of_a_sum() -> Case:
    x, skip, scale, shift, b = f(2, 3, 16), f(3, 16), f(16), f(16), f(16)
    plain = Plain()
    total = plain.node("Add", plain.node("Add", plain.feed(x), plain.store(b)), plain.feed(skip))
    y = plain.node("LayerNormalization", total, plain.store(scale), plain.store(shift), epsilon=1e-12)
    return call("SkipLayerNormalization", x, skip, scale, shift, b, stored=[2, 3, 4]), plain, y


@case
def embeddings() -> Case:
    words, places, kinds, scale, shift = f(20, 16), f(10, 16), f(2, 16), f(16), f(16)
    ids, segments = np.array([[1, 2, 3], [4, 5, 6]], "int32"), np.array([[0, 1, 1], [0, 0, 1]], "int32")
    plain = Plain()
    total = plain.node("Gather", plain.store(words), plain.feed(ids))
    total = plain.node("Add", total, plain.node("Gather", plain.store(places), plain.store([0, 1, 2], "int64")))
    total = plain.node("Add", total, plain.node("Gather", plain.store(kinds), plain.feed(segments)))
    y = plain.node("LayerNormalization", total, plain.store(scale), plain.store(shift), epsilon=1e-12)
    stored = [2, 3, 4, 5, 6]
    return (
        call("EmbedLayerNormalization", ids, segments, words, places, kinds, scale, shift, stored=stored, results=2),
        plain,
        y,
    )


@case
def convolution_with_a_sum_and_a_function() -> Case:
    x, w, b, z = f(1, 4, 8, 8), f(6, 4, 3, 3), f(6), f(1, 6, 6, 6)
    plain = Plain()
    y = plain.node("Add", plain.node("Conv", plain.feed(x), plain.store(w), plain.store(b)), plain.feed(z))
    return call("FusedConv", x, w, b, z, activation="Relu", stored=[1, 2]), plain, plain.node("Relu", y)


@case
def product_with_turned_operands() -> Case:
    x, w = f(4, 2, 3), f(5, 2, 4)
    plain = Plain()
    y = plain.node("MatMul", plain.swap(plain.feed(x), 1, 2, 0), plain.swap(plain.store(w), 1, 2, 0))
    y = plain.node("Mul", y, plain.store(0.5, "float32"))
    turned = {"transBatchA": 1, "transBatchB": 1, "transA": 1, "transB": 1}
    return call("FusedMatMul", x, w, alpha=0.5, stored=[1], **turned), plain, y


def four_bits(rows: int, k: int, size: int) -> Callable[[], Case]:
    """Low halves of bytes come first; what lies behind the last value of a row is left out."""

    def make() -> Case:
        blocks = -(-k // size)
        x, packed, scales, zeros = f(2, k), u8(rows, blocks, size // 2), f(rows, blocks), u8(rows, -(-blocks // 2))
        values, points = (
            np.stack([one & 15, one >> 4], -1).reshape(rows, -1).astype("float32") for one in (packed, zeros)
        )
        points = points[:, :blocks]
        weight = ((values.reshape(rows, blocks, size) - points[..., None]) * scales[..., None]).reshape(rows, -1)[:, :k]
        plain = Plain()
        y = plain.node("MatMul", plain.feed(x), plain.store(np.ascontiguousarray(weight.T)))
        attributes = {"N": rows, "K": k, "bits": 4, "block_size": size}
        return call("MatMulNBits", x, packed, scales, zeros, stored=[1, 2, 3], **attributes), plain, y

    make.__name__ = f"weight_of_four_bits_{rows}_{k}_{size}"
    return make


CASES += [four_bits(6, 64, 32), four_bits(6, 40, 16), four_bits(5, 2, 32)]


@case
def product_of_integers() -> Case:
    x, w, scale = u8(3, 4), u8(4, 5), np.array(0.1, "float32")
    zero = np.array(3, "uint8")
    plain = Plain()
    sums = plain.node("MatMulInteger", plain.feed(x), plain.store(w), plain.store(zero), plain.store(zero))
    y = plain.node("Mul", plain.node("Cast", sums, to=1), plain.store(scale * scale))
    return call("QGemm", x, scale, zero, w, scale, zero, stored=[3]), plain, y


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_plain_onnx_computes_the_same_and_counts_the_same(make: Callable[[], Case]) -> None:
    whole, plain, y = make()
    spelled = plain.model(y)
    np.testing.assert_allclose(execute(whole)[0], run(spelled, plain.fed)[0], rtol=1e-3, atol=1e-4)
    ours, theirs = weigh(load(model_of(whole))).facts, weigh(load(spelled)).facts
    assert ours.exact
    assert (ours.macs, ours.parameters, ours.weights) == (theirs.macs, theirs.parameters, theirs.weights)

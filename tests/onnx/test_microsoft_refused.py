"""ONNX Runtime's own operators in files that are damaged, and in those whose values nobody knows."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnx.build import load
from tests.onnx.execute import Single, model_of
from tests.onnx.microsoft_cases import EXECUTED, MICROSOFT, OTHERS, SCALE, call, f, i32, ones, u8
from tests.onnx.test_microsoft_experts import EXPERTS
from weighbridge import weigh
from weighbridge.errors import BadModel, WeighbridgeError
from weighbridge.graph import Shape

X, W, B = f(2, 3, 16), f(16, 48), f(48)
FOUR = {"K": 40, "N": 6, "bits": 4, "block_size": 32}
GROUPED = (f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 5, 16), f(2, 2, 5, 16), i32(5, 5))
KV = {"num_heads": 4, "kv_num_heads": 2}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (call("Attention", X, W, B), "this Attention lacks its attribute 'num_heads'"),
        (call("Attention", X, W, B, num_heads=0), "num_heads is 0"),
        (call("Attention", X, W, B, num_heads=-4), "num_heads is -4"),
        (call("Attention", X, W, B, num_heads="four"), "the attribute 'num_heads' of Attention is text"),
        (call("Attention", X, W, B, num_heads=5), "48 columns of weights are no queries, keys and values of 5 heads"),
        (call("Attention", X, f(16, 47), num_heads=1), "47 columns of weights"),
        (call("Attention", X, W, B, num_heads=4, qkv_hidden_sizes=[16, 32]), "48 columns of weights"),
        (call("Attention", X, W, B, num_heads=4, qkv_hidden_sizes=[16, 16, 8]), "do not split into"),
        (call("Attention", f(3, 16), W, B, num_heads=4), "its operand 0 has 2 dimensions, not 3"),
        (call("Attention", X, W, B, ones(2, 9), num_heads=4), "does not fit scores of shape"),
        (call("Attention", X, W, B, None, f(2, 2, 4, 5, 3), num_heads=4), "past has the shape"),
        (call("MultiHeadAttention", X, f(2, 5, 16), num_heads=4), "its operand 1 has 3 dimensions, not 5"),
        (call("MultiHeadAttention", X, f(2, 5, 16), f(2, 4, 16), num_heads=4), "do not fit each other"),
        (call("MultiHeadAttention", X, X, X, f(2, 24), num_heads=4), r"a bias of shape \(2, 24\)"),
        (call("MultiHeadAttention", X, X, X, f(20), num_heads=4), "negative"),
        (call("GroupQueryAttention", *GROUPED, i32(6), stored=[6], num_heads=4), "lacks its attribute 'kv_num_heads'"),
        (call("GroupQueryAttention", *GROUPED, i32(0), stored=[6], **KV), "1 new positions of 0 in all"),
        (call("GroupQueryAttention", *GROUPED, i32(9), stored=[6], **KV), "8 of the 5 positions of a cache"),
        (call("GroupQueryAttention", f(2, 3, 100), None, None, **KV), "100 features are no 4 heads of queries"),
        (call("SkipLayerNormalization", X, X), "SkipLayerNormalization lacks its operand 2"),
        (call("SkipLayerNormalization", X, f(2, 4, 16), f(16)), "do not broadcast"),
        (call("MatMulNBits", f(3, 40), u8(6, 2, 16), f(6, 2), K=40, N=6), "lacks its attribute 'block_size'"),
        (call("MatMulNBits", f(3, 40), u8(6, 2, 16), f(6, 2), **{**FOUR, "block_size": 0}), "block_size is 0"),
        (call("MatMulNBits", f(3, 40), u8(6, 2, 16), f(6, 2), **{**FOUR, "N": -6}), "a weight of -6 x 40"),
        (call("MatMulNBits", f(3, 40), u8(6, 2, 17), f(6, 2), **FOUR), "its weight has 204 bytes, not the 192"),
        (call("MatMulNBits", f(3, 41), u8(6, 2, 16), f(6, 2), **FOUR), "under a weight for 40 features"),
        (call("MatMulBnb4", f(3, 40), u8(100), f(15), K=40, N=6, block_size=16, quant_type=1), "do not hold"),
        (call("FusedMatMul", f(2, 3), f(3, 5), transBatchA=1), "transBatchA of 2 dimensions"),
        (call("GroupNorm", f(1, 8, 8, 4), f(4), f(4), groups=3, activation=0), "4 channels are no 3 groups"),
        (call("GroupNorm", f(1, 8, 8, 4), f(4), f(4), groups=2, activation=2), "a group norm has no activation 2"),
        (call("QLinearConcat", SCALE, u8(), f(2), axis=0), "3 operands are no tensors with scales and zero points"),
        (call("YieldOp", X, results=2, full_shape_outputs=[0]), "2 derivatives of 1 tensors"),
    ],
    ids=lambda given: given.op if isinstance(given, Single) else "",
)
def test_a_contradiction_names_its_node(call: Single, message: str) -> None:
    with pytest.raises(BadModel, match=message) as error:
        load(model_of(call))
    assert error.value.where.startswith("model.onnx: node")


@pytest.mark.parametrize(
    ("call", "shape", "reason"),
    [
        (
            call("LongformerAttention", X, W, B, ones(2, 3), W, B, ones(2, 3), num_heads=4, window=1),
            (2, 3, 16),
            "how many positions attend to all others",
        ),
        (call("GroupQueryAttention", *GROUPED, i32(6), **KV), (2, 1, 64), "how many positions of the cache are filled"),
        (
            call("GroupQueryAttention", *GROUPED, i32(6), **KV, results=3),
            (2, 1, 64),
            "how many positions of the cache are filled depends on values",
        ),
        (
            call("GroupQueryAttention", *GROUPED, i32(6), sliding_window_cache=1, **KV),
            (2, 1, 64),
            "which positions a cache of one window holds",
        ),
        (
            call("GroupQueryAttention", *GROUPED, i32(6), kv_cache_bit_width=4, **KV),
            (2, 1, 64),
            "no rule for a cache of 4-bit values",
        ),
        (
            call("MultiHeadAttention", X, X, X, None, None, None, f(2, 4, 9, 4), f(2, 4, 9, 4), i32(4), num_heads=4),
            (2, 3, 16),
            "how many positions of the cache",
        ),
        (
            call("PackedAttention", f(5, 16), W, B, ones(2, 3), i32(0, 3, 5), num_heads=4),
            (5, 16),
            "how long each sequence of a packed batch is",
        ),
        (
            call("PackedMultiHeadAttention", f(5, 16), f(5, 16), f(5, 24), None, ones(2, 3), i32(0, 3, 5), num_heads=4),
            (5, 24),
            "how long each sequence",
        ),
        (call("MatMulNBits", f(3, 40), u8(6, 2, 12), f(6, 2), **{**FOUR, "bits": 3}), None, "packed weights of 3 bits"),
        (
            call("FusedConv", f(1, 4, 8, 8), f(6, 4, 3, 3), activation="Swish"),
            None,
            "the function 'Swish' that it ends with",
        ),
        (call("CDist", f(3, 4), f(5, 4), metric="cosine"), None, "the metric 'cosine'"),
        (call("EPContext", X, source="OpenVINOExecutionProvider"), None, "a network compiled for OpenVINO"),
    ],
    ids=lambda given: given.op if isinstance(given, Single) else "",
)
def test_what_nobody_can_know_is_named(call: Single, shape: Shape | None, reason: str) -> None:
    graph = load(model_of(call))
    assert graph.tensors[graph.outputs[0]].shape == shape
    facts = weigh(graph).facts
    assert not facts.exact
    (only,) = facts.uncounted
    assert reason in only.reason
    assert only.operator == f"{MICROSOFT}.{call.op}"


def test_a_packed_attention_counts_its_projection() -> None:
    """Only the attention behind it depends on values."""
    made = call("PackedAttention", f(5, 16), W, B, ones(2, 3), i32(0, 3, 5), num_heads=4, stored=[1, 2])
    facts = weigh(load(model_of(made))).facts
    assert (facts.macs, facts.weights, facts.biases) == (5 * 16 * 48, 16 * 48, 48)


def test_the_length_of_a_cache_is_known_from_the_bias_of_the_scores() -> None:
    made = call("GroupQueryAttention", *GROUPED, i32(6), None, None, None, f(1, 1, 1, 6), **KV, results=3)
    graph = load(model_of(made))
    assert [graph.tensors[one].shape for one in graph.outputs] == [(2, 1, 64), (2, 2, 6, 16), (2, 2, 6, 16)]
    assert weigh(graph).facts.macs == 2 * 4 * 6 * 16 * 2


def test_a_sliding_window_counts_the_full_rectangle() -> None:
    whole = (*GROUPED, i32(6), None, None, None, f(1, 1, 1, 6))
    macs = {
        size: weigh(load(model_of(call("GroupQueryAttention", *whole, local_window_size=size, **KV)))).facts.macs
        for size in (-1, 2)
    }
    assert macs[-1] == macs[2] == 2 * 4 * 6 * 16 * 2


def test_shared_buffers_keep_their_shape_however_far_they_are_filled() -> None:
    buffer = f(2, 2, 4, 9, 4)
    made = call("Attention", X, W, B, None, buffer, None, i32(4), num_heads=4, past_present_share_buffer=1, results=2)
    graph = load(model_of(made))
    assert [graph.tensors[one].shape for one in graph.outputs] == [(2, 3, 16), buffer.shape]


CALLS = [*EXECUTED, *(one for one, _ in OTHERS), *(one for one, _ in EXPERTS)]
ODD: tuple[Any, ...] = (
    -1,
    0,
    1,
    7,
    1 << 40,
    -(1 << 63),
    0.5,
    float("nan"),
    "",
    "Relu",
    "x" * 50,
    [],
    [1],
    [0, -1, 9],
    [0.5],
    ["a"],
)
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (1,),
    (7,),
    (2, 3),
    (0, 4),
    (2, 3, 4),
    (1, 1, 1, 1),
    (2, 2, 2, 2, 2),
    (1 << 40, 3),
)


def spoiled(made: onnx.ModelProto, random: Random) -> None:
    """One or two faults in a model of one node."""
    (only,) = made.graph.node
    for _ in range(random.choice((1, 1, 2))):
        fault = random.choice(("attribute", "attribute", "shape", "shape", "operand", "type", "stored"))
        if fault == "attribute" and only.attribute:
            one = random.choice(only.attribute)
            name = one.name
            only.attribute.remove(one)
            value = random.choice((*ODD, None))
            if value is not None:
                kind = onnx.AttributeProto.INTS if value == [] else None
                only.attribute.append(helper.make_attribute(name, value, attr_type=kind))
        elif fault == "shape" and made.graph.input:
            one = random.choice(made.graph.input)
            kind = one.type.tensor_type.elem_type
            one.CopyFrom(helper.make_tensor_value_info(one.name, kind, random.choice((*SHAPES, None))))
        elif fault == "operand":
            place = random.randrange(len(only.input))
            only.input[place] = random.choice(("", *only.input))
        elif fault == "type" and made.graph.input:
            one = random.choice(made.graph.input)
            one.type.tensor_type.elem_type = random.choice((TensorProto.FLOAT16, TensorProto.INT64, TensorProto.STRING))
        elif fault == "stored" and made.graph.initializer:
            one = random.choice(made.graph.initializer)
            shape = random.choice(SHAPES[:-1])
            one.CopyFrom(onnx.numpy_helper.from_array(np.zeros(shape, "int32"), one.name))


@pytest.mark.parametrize("place", range(len(CALLS)))
def test_damaged_calls_end_in_a_report_or_one_clear_error(place: int) -> None:
    random = Random(place)
    for _ in range(25):
        made = model_of(CALLS[place])
        spoiled(made, random)
        try:
            report = weigh(
                load(
                    made,
                    inputs={
                        one.name: (2, 3, 16) for one in made.graph.input if not one.type.tensor_type.HasField("shape")
                    },
                )
            )
        except WeighbridgeError as error:
            assert str(error).isprintable()
        else:
            assert report.facts.exact or report.facts.uncounted

"""Calls of ONNX Runtime's own operators (com.microsoft): those that its processor runs, and those that only others do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.onnx.execute import Single

__all__ = ["EXECUTED", "MICROSOFT", "OTHERS"]

MICROSOFT = "com.microsoft"
_RANDOM = np.random.default_rng(0)
EXECUTED: list[Single] = []
"""Calls that ONNX Runtime executes on a processor."""
OTHERS: list[tuple[Single, list[tuple[int, ...] | None]]] = []
"""Calls that it executes on other devices only, or in training, and the shapes that its documentation gives their results."""


def f(*shape: int) -> np.ndarray:
    return _RANDOM.standard_normal(shape).astype("float32")


def u8(*shape: int) -> np.ndarray:
    return _RANDOM.integers(0, 255, shape).astype("uint8")


def i32(*values: int) -> np.ndarray:
    return np.array(values, "int32")


def i64(*values: int) -> np.ndarray:
    return np.array(values, "int64")


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, "int32")


SCALE, ZERO = np.array(0.1, "float32"), np.array(3, "uint8")


def call(
    op: str,
    *arrays: Any,
    stored: Sequence[int] = (),
    results: int | Sequence[int] = 1,
    domain: str = MICROSOFT,
    **attributes: Any,
) -> Single:
    version = 1 if domain else 17
    return Single(op, arrays, attributes, results, domain, version, stored)


def runs(*given: Any, **more: Any) -> None:
    EXECUTED.append(call(*given, **more))


def others(*given: Any, shapes: list[tuple[int, ...] | None], **more: Any) -> None:
    OTHERS.append((call(*given, **more), shapes))


def _attention() -> None:
    x, w, b, past = f(2, 3, 16), f(16, 48), f(48), f(2, 2, 4, 5, 4)
    runs("Attention", x, w, b, num_heads=4)
    runs("Attention", x, w, num_heads=4, unidirectional=1, stored=[1])
    runs("Attention", x, f(16, 40), f(40), num_heads=4, qkv_hidden_sizes=[16, 16, 8])
    for mask in (ones(2, 3), ones(2, 3, 3), i32(3, 2), i32(3, 2, 0, 1)):
        runs("Attention", x, w, b, mask, num_heads=4)
    runs("Attention", x, w, b, None, past, num_heads=4, results=2)
    runs("Attention", x, w, b, ones(2, 8), past, num_heads=4, results=2)
    runs("Attention", x, w, b, None, None, f(1, 4, 3, 3), num_heads=4, results=2)
    large = ones(2, 1, 8, 8)
    others("Attention", x, w, b, large, num_heads=4, shapes=[(2, 3, 16)])
    others(
        "Attention",
        x,
        w,
        b,
        large[:, :, :9],
        past[:, :, :, :4],
        num_heads=4,
        results=2,
        shapes=[(2, 3, 16), (2, 2, 4, 7, 4)],
    )
    others("Attention", x, w, b, num_heads=4, do_rotary=1, shapes=[(2, 3, 16)])
    buffer = f(2, 2, 4, 9, 4)
    shared = {"num_heads": 4, "past_present_share_buffer": 1, "results": 2}
    shapes = [(2, 3, 16), (2, 2, 4, 9, 4)]
    others("Attention", x, w, b, None, buffer, None, i32(4), stored=[6], shapes=shapes, **shared)
    one = f(2, 1, 16)
    others(
        "DecoderMaskedSelfAttention",
        one,
        w,
        b,
        None,
        buffer,
        None,
        i32(4),
        stored=[6],
        shapes=[(2, 1, 16), (2, 2, 4, 9, 4)],
        **shared,
    )
    others(
        "PackedAttention",
        f(6, 16),
        w,
        b,
        np.arange(6, dtype="int32").reshape(2, 3),
        i32(0, 3, 6),
        num_heads=4,
        shapes=[(6, 16)],
    )
    quantised = (u8(2, 3, 16), u8(16, 48), b, SCALE, SCALE)
    runs("QAttention", *quantised, None, ZERO, ZERO, num_heads=4, stored=[1])
    runs("QAttention", *quantised, i32(3, 2), ZERO, ZERO, past, num_heads=4, results=2, unidirectional=1)


def _multi_head_attention() -> None:
    q, k, v = f(2, 3, 16), f(2, 5, 16), f(2, 5, 16)
    runs("MultiHeadAttention", q, k, v, num_heads=4)
    runs("MultiHeadAttention", q, k, f(2, 5, 24), f(56), num_heads=4)
    runs("MultiHeadAttention", q, k, v, f(48), num_heads=4, stored=[3])
    for mask in (ones(2, 5), i32(5, 4), ones(2, 3, 5)):
        runs("MultiHeadAttention", q, k, v, None, mask, num_heads=4)
    runs("MultiHeadAttention", q, k, v, None, None, f(1, 4, 3, 5), num_heads=4)
    runs("MultiHeadAttention", q, k, v, num_heads=4, results=3)
    cache = f(2, 4, 4, 4)
    runs(
        "MultiHeadAttention",
        q,
        f(2, 3, 16),
        f(2, 3, 16),
        None,
        None,
        None,
        cache,
        cache,
        num_heads=4,
        results=3,
        unidirectional=1,
    )
    complete = f(2, 4, 7, 4)
    runs("MultiHeadAttention", q, complete, complete, num_heads=4)
    runs("MultiHeadAttention", q, complete, complete, f(48), num_heads=4)
    one, buffer = f(2, 1, 16), f(2, 4, 9, 4)
    runs(
        "MultiHeadAttention",
        one,
        one,
        one,
        None,
        None,
        None,
        buffer,
        buffer,
        i32(4),
        num_heads=4,
        results=3,
        stored=[8],
    )
    masked = "DecoderMaskedMultiHeadAttention"
    shared = {"num_heads": 4, "results": 3, "past_present_share_buffer": 1, "stored": [7]}
    runs(masked, one, one, one, None, None, buffer, buffer, i32(4), **shared)
    runs(masked, one, complete, complete, num_heads=4)
    crossed = (one, complete, complete, *[None] * 7, f(48))
    others(masked, *crossed, num_heads=4, results=[0, 3], output_qk=1, shapes=[(2, 1, 16), (2, 4, 1, 7)])
    grown = [(2, 1, 16), (2, 4, 10, 4), (2, 4, 10, 4)]
    others(masked, one, one, one, None, None, buffer, buffer, num_heads=4, results=3, shapes=grown)
    kept = [(2, 1, 16), (2, 4, 9, 4), (2, 4, 9, 4)]
    others(masked, f(2, 1, 48), None, None, None, None, buffer, buffer, i32(4), shapes=kept, **shared)
    others("MultiHeadAttention", f(2, 3, 4, 3, 4), num_heads=4, shapes=[(2, 3, 16)])
    others("MultiHeadAttention", f(2, 3, 4, 3, 4), None, None, f(48), num_heads=4, shapes=[(2, 3, 16)])
    others("MultiHeadAttention", q, f(2, 5, 4, 2, 4), num_heads=4, shapes=[(2, 3, 16)])
    others("MultiHeadAttention", q, k, v, num_heads=4, results=[0, 3], shapes=[(2, 3, 16), (2, 4, 3, 5)])
    offsets = np.arange(6, dtype="int32").reshape(2, 3)
    rows = [f(6, 16), f(6, 16), f(6, 24)]
    others("PackedMultiHeadAttention", *rows, f(56), offsets, i32(0, 3, 6), num_heads=4, shapes=[(6, 24)])
    others(
        "PackedMultiHeadAttention",
        f(6, 4, 3, 4),
        None,
        None,
        None,
        offsets,
        i32(0, 3, 6),
        num_heads=4,
        shapes=[(6, 16)],
    )


def _grouped_query_attention() -> None:
    """Four heads of queries and two of keys, of 16 values."""
    table, common = f(20, 8), {"num_heads": 4, "kv_num_heads": 2, "results": 3, "stored": [6]}

    def one(new: int, cached: int, total: int, *extra: Any, batch: int = 2, packed: bool = False, **more: Any) -> None:
        given = (
            (f(batch, new, 128), None, None) if packed else (f(batch, new, 64), f(batch, new, 32), f(batch, new, 32))
        )
        cache = (f(batch, 2, cached, 16),) * 2 if cached else (None, None)
        runs("GroupQueryAttention", *given, *cache, i32(*[total - 1] * batch), i32(total), *extra, **{**common, **more})

    for packed in (False, True):
        one(3, 0, 3, packed=packed)
        one(1, 5, 6, packed=packed)
        one(1, 9, 6, packed=packed)
        one(1, 5, 6, table, table, packed=packed, do_rotary=1)
    one(3, 9, 3)
    one(2, 9, 6, batch=1)
    one(2, 4, 6, batch=1)
    one(1, 9, 6, softcap=2.0, local_window_size=3, smooth_softmax=1)
    one(3, 0, 3, None, None, None, f(1, 1, 3, 3), f(4), results=4, qk_output=1)


def _fused_layers() -> None:
    x = f(2, 3, 16)
    for op in ("Gelu", "QuickGelu", "FastGelu"):
        runs(op, x)
    runs("FastGelu", x, f(16))
    runs("BiasGelu", x, f(16))
    others("GemmFastGelu", x, f(16, 8), f(8), shapes=[(2, 3, 8)])
    others("BiasSplitGelu", x, f(16), shapes=[(2, 3, 8)])
    others("BiasAdd", x, f(16), x, shapes=[(2, 3, 16)])
    others("BiasSoftmax", f(2, 4, 3, 3), f(2, 1, 1, 3), axis=3, is_inner_broadcast=1, shapes=[(2, 4, 3, 3)])
    others("BiasDropout", x, f(16), x, results=2, shapes=[(2, 3, 16), (2, 3, 16)])
    others("BitmaskDropout", x, results=2, shapes=[(2, 3, 16), (3,)])
    others("BitmaskBiasDropout", x, f(16), results=2, shapes=[(2, 3, 16), (3,)])
    for skip in (x, f(3, 16), f(1, 3, 16)):
        runs("SkipLayerNormalization", x, skip, f(16), f(16), stored=[2, 3])
    runs("SkipLayerNormalization", x, x, f(16), f(16), f(16), results=4)
    runs("SkipSimplifiedLayerNormalization", x, x, f(16), f(16), results=[0, 3])
    runs("SkipSimplifiedLayerNormalization", f(6, 16), f(6, 16), f(16))
    for results in (1, 2):
        runs("SimplifiedLayerNormalization", x, f(16), domain="", axis=-1, results=results)
    ids, tables = np.zeros((2, 3), "int32"), (f(20, 16), f(10, 16))
    norm = (f(16), f(16))
    runs("EmbedLayerNormalization", ids, ids, *tables, f(2, 16), *norm, ones(2, 3), stored=[2, 3, 4, 5, 6], results=3)
    runs("EmbedLayerNormalization", ids, None, *tables, None, *norm, stored=[2, 3, 5, 6], results=2)
    places = np.zeros((1, 3), "int32")
    runs("EmbedLayerNormalization", ids, None, *tables, None, *norm, None, places, stored=[2, 3], results=[0, 2])
    image, scale = f(1, 8, 8, 4), (f(4), f(4))
    others("GroupNorm", image, *scale, groups=2, activation=1, shapes=[(1, 8, 8, 4)])
    both = [(1, 8, 8, 4)] * 2
    for skip in (image, f(1, 4), f(1, 1, 1, 4)):
        others("SkipGroupNorm", image, *scale, skip, f(4), groups=2, activation=1, results=2, shapes=both)
    first = f(1, 4, 8, 8)
    others(
        "SkipGroupNorm", first, *scale, f(1, 4), f(4), groups=2, activation=0, channels_last=0, shapes=[(1, 4, 8, 8)]
    )
    for heads, size, width in ((4, 0, 2), (0, 0, 2), (4, 2, 1)):
        runs(
            "RotaryEmbedding",
            x,
            np.zeros((2, 3), "int64"),
            f(10, width),
            f(10, width),
            num_heads=heads,
            rotary_embedding_dim=size,
        )
    runs("RotaryEmbedding", f(2, 4, 3, 8), i64(0), f(10, 4), f(10, 4), interleaved=1)


def _fused_products() -> None:
    image, w, b = f(1, 4, 8, 8), f(6, 4, 3, 3), f(6)
    runs("FusedConv", image, w, b, activation="Relu", stored=[1, 2])
    runs("FusedConv", image, w, b, f(1, 6, 6, 6), activation="Relu")
    runs("FusedConv", image, w, activation="LeakyRelu", activation_params=[0.1])
    runs("FusedConv", image, w, activation="HardSigmoid", activation_params=[0.2, 0.5])
    runs("FusedConv", image, w)
    spaced = {"group": 4, "pads": [1, 1, 1, 1], "strides": [2, 2]}
    runs("FusedConv", image, f(4, 1, 3, 3), activation="Clip", activation_params=[0.0, 6.0], **spaced)
    last = f(1, 8, 9, 4)
    others("NhwcFusedConv", last, w, b, activation="Relu", shapes=[(1, 6, 7, 6)])
    others("NhwcConv", last, f(6, 3, 3, 4), b, kernel_shape=[3, 3], shapes=[(1, 6, 7, 6)])
    others("NhwcConv", last, f(6, 3, 3, 4), shapes=[(1, 6, 7, 6)])
    others("NhwcConv", last, w, kernel_shape=[3, 3], shapes=[(1, 6, 7, 6)])
    runs("NhwcMaxPool", u8(1, 8, 9, 4), kernel_shape=[3, 3], strides=[2, 2])
    runs("ConvTransposeWithDynamicPads", image, f(4, 6, 3, 3), i64(1, 1, 1, 1), stored=[2], strides=[2, 2])
    runs("FusedGemm", f(3, 4), f(4, 5), f(5), activation="Relu")
    runs("FusedGemm", f(4, 3), f(5, 4), f(5), transA=1, transB=1, activation="LeakyRelu", activation_alpha=0.2)
    for stored in ((), (1,)):
        kept = {"stored": stored}
        runs("FusedMatMul", f(2, 3, 4), f(4, 5), alpha=0.5, **kept)
        runs("FusedMatMul", f(2, 4, 3), f(5, 4), transA=1, transB=1, **kept)
        runs("TransposeMatMul", f(2, 3, 4), f(2, 5, 4), transB=1, **kept)
        runs("FusedMatMul", f(4), f(4, 5), transA=1, **kept)
        runs("FusedMatMul", f(2, 3, 4), f(4), transB=1, **kept)
        runs("FusedMatMul", f(3, 2, 7, 4), f(2, 7, 4, 5), transBatchA=1, **kept)
        runs("FusedMatMul", f(4, 2, 3), f(5, 2, 4), transBatchB=1, transB=1, transA=1, transBatchA=1, **kept)
    others("FusedMatMulActivation", f(3, 4), f(4, 5), activation="Relu", shapes=[(3, 5)])
    others("FusedMatMulActivation", f(3, 4), f(4, 5), activation="Softmax", activation_axis=1, shapes=[(3, 5)])
    runs("MatMulInteger16", np.ones((3, 4), "int16"), np.ones((4, 5), "int16"))


def _quantised() -> None:
    x, one = u8(2, 3), (SCALE, ZERO)
    for op in ("QLinearAdd", "QLinearMul"):
        runs(op, x, *one, u8(3), *one, *one)
    others("QLinearAdd", x, SCALE, None, u8(3), SCALE, None, SCALE, shapes=[(2, 3)])
    rest = {"stored": [1, 2, 3, 4]}
    runs("QLinearSigmoid", x, *one, *one, **rest)
    runs("QLinearLeakyRelu", x, *one, *one, alpha=0.1, **rest)
    runs("QLinearSoftmax", x, *one, *one, axis=-1, opset=13, **rest)
    runs("QLinearSoftmax", u8(2, 3, 4), *one, *one, axis=1, opset=11, **rest)
    others("QLinearReduceMean", u8(2, 3, 4), *one, *one, axes=[1], keepdims=0, shapes=[(2, 4)], **rest)
    for shape, last in (((1, 4, 8, 9), 0), ((1, 8, 9, 4), 1)):
        pooled = {"kernel_shape": [3, 3], "strides": [2, 2], "channels_last": last}
        runs("QLinearAveragePool", u8(*shape), *one, *one, **pooled, **rest)
        runs("QLinearGlobalAveragePool", u8(*shape), *one, *one, channels_last=last, **rest)
        runs("QLinearConv", u8(*shape), *one, u8(6, 4, 3, 3), *one, *one, channels_last=last, stored=[3])
    runs("QLinearConcat", *one, u8(2, 3), *one, u8(2, 5), *one, axis=1, stored=[0, 1, 3, 4, 6, 7])
    runs("QLinearWhere", np.array([True, False]), u8(2, 2), *one, u8(2), *one, *one, stored=[2, 3, 5, 6, 7, 8])
    runs("QGemm", u8(3, 4), *one, u8(5, 4), *one, np.zeros(5, "int32"), *one, transB=1, stored=[3])
    runs("QGemm", u8(3, 4), *one, u8(4, 5), *one, np.zeros(5, "int32"), stored=[3], alpha=0.5)
    runs("MatMulIntegerToFloat", u8(2, 3, 4), u8(4, 5), SCALE, f(5), ZERO, u8(5), f(5), stored=[1])
    runs("MatMulIntegerToFloat", u8(2, 3, 4), u8(4, 5), SCALE, SCALE)
    runs("DynamicQuantizeMatMul", f(2, 3, 4), u8(4, 5), SCALE, ZERO, f(5), stored=[1])
    runs("DynamicQuantizeMatMul", f(2, 3, 4), u8(2, 4, 5), SCALE)
    runs("QuantizeLinear", f(2, 3), SCALE, ZERO)
    runs("QuantizeLinear", f(2, 3), f(3), u8(3), axis=1)
    runs("DequantizeLinear", u8(2, 3).astype("uint16"), SCALE, np.array(3, "uint16"))
    ids = np.zeros((2, 3), "int32")
    tables = (u8(20, 16), u8(10, 16), u8(2, 16), u8(16), u8(16))
    kept = [*range(2, 7), *range(8, 18)]
    runs("QEmbedLayerNormalization", ids, ids, *tables, None, *[SCALE] * 5, *[ZERO] * 5, stored=kept, results=2)
    lstm, kept = {"hidden_size": 6, "results": 3}, [1, 2, 3, 8, 9, 10, 11]
    whole = (f(1), u8(1), f(1), u8(1))
    runs(
        "DynamicQuantizeLSTM",
        f(5, 2, 4),
        u8(1, 4, 24),
        u8(1, 6, 24),
        f(1, 48),
        *[None] * 4,
        *whole,
        stored=kept,
        **lstm,
    )
    column = (f(2, 24), np.zeros((2, 24), "uint8")) * 2
    both = {**lstm, "direction": "bidirectional", "stored": kept}
    runs("DynamicQuantizeLSTM", f(5, 2, 4), u8(2, 4, 24), u8(2, 6, 24), f(2, 96 // 2), *[None] * 4, *column, **both)


def _weights_of_few_bits() -> None:
    four = {"K": 40, "N": 6, "bits": 4, "block_size": 32}
    runs("MatMulNBits", f(2, 3, 40), u8(6, 2, 16), f(6, 2), stored=[1, 2], **four)
    runs("MatMulNBits", f(2, 3, 32), u8(6, 1, 16), f(6), u8(6), None, f(6), stored=[1, 2, 3, 5], **{**four, "K": 32})
    runs("MatMulNBits", f(3, 40), u8(6, 2, 0), f(6, 2), stored=[1, 2], **four)
    runs("MatMulNBits", f(3, 40), u8(6, 2, 0), f(6, 2), None, None, f(6), stored=[1, 2], **four)
    for bits in (2, 4, 8):
        wide = {"K": 64, "N": 6, "bits": bits, "block_size": 32, "stored": [1, 2, 3]}
        runs("MatMulNBits", f(3, 64), u8(6, 2, 4 * bits), f(6, 2), u8(6, -(-2 * bits // 8)), **wide)
    runs("MatMulNBits", f(3, 64), u8(6, 2, 16), f(6, 2), f(6, 2), stored=[1, 2, 3], **{**four, "K": 64})
    flat = {"K": 40, "N": 6, "block_size": 16, "stored": [1, 2]}
    runs("MatMulBnb4", f(2, 3, 40), u8(120), f(15), quant_type=1, **flat)
    runs("MatMulBnb4", f(2, 3, 6), u8(120), f(15), quant_type=0, transB=0, **flat)
    ids, rows = np.zeros((2, 3), "int64"), {"block_size": 16, "quantize_axis": 1}
    runs("GatherBlockQuantized", u8(10, 32), ids, f(10, 4), u8(10, 2), bits=4, stored=[0, 2, 3], **rows)
    runs("GatherBlockQuantized", u8(10, 64), ids, f(10, 4), bits=8, stored=[0, 2], **rows)


def _moves() -> None:
    for axis in (0, 2, -1, -2, -3):
        runs("ExpandDims", f(2, 3), np.array(axis, "int32"), stored=[1])
    for pads in (i64(0, 1, 2, 0), i64(0, 1, 2, 0)[None]):
        runs("Pad", f(2, 3), pads, np.array(1, "float32"), stored=[1])
    runs("Trilu", f(2, 3, 4), np.array(1, "int64"), upper=0)
    runs("GatherND", f(2, 3, 4), np.zeros((5, 2), "int64"))
    runs("Range", np.array(0, "int64"), np.array(10, "int64"), np.array(3, "int64"), stored=[0, 1, 2])
    runs("Range", np.array([0], "float32"), np.array([5], "float32"), stored=[0, 1])
    runs("UnfoldTensor", f(2, 10), size=4, step=2, dim=-1)
    image = f(1, 4, 8, 8)
    for mode in ("bilinear", "bicubic"):
        runs("GridSample", image, f(1, 5, 6, 2), mode=mode)
    for mode in ("bilinear", "nearest"):
        runs("CropAndResize", image, f(3, 4), i32(0, 0, 0), i32(5, 6), stored=[3], mode=mode)
    for metric in ("euclidean", "sqeuclidean"):
        runs("CDist", f(3, 4), f(5, 4), metric=metric)
    runs("Inverse", f(2, 3, 3))
    runs("NGramRepeatBlock", np.zeros((2, 5), "int64"), f(2, 9), ngram_size=2)
    form = {"signal_ndim": 1, "onesided": 1, "normalized": 0}
    others("Rfft", f(2, 8), shapes=[(2, 5, 2)], **form)
    others("Irfft", f(2, 5, 2), shapes=[(2, 8)], **form)
    others("Unique", f(6), results=3, shapes=[None, (6,), None])
    counts, places = i32(3, 2), np.arange(6, dtype="int32").reshape(2, 3)
    others("RemovePadding", f(2, 3, 8), counts, stored=[1], results=4, shapes=[(5, 8), (2, 3), (3,), (1,)])
    others("RemovePadding", f(2, 3, 8), counts, shapes=[None])
    others("RestorePadding", f(5, 8), places, shapes=[(2, 3, 8)])


for _family in (
    *(_attention, _multi_head_attention, _grouped_query_attention, _fused_layers, _fused_products, _quantised),
    *(_weights_of_few_bits, _moves),
):
    _family()

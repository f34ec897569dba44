"""Calls of PyTorch's conversions between real and quantised values; ``test_table_quantised`` runs them."""

from __future__ import annotations

import warnings

import torch

from tests.torch.examples_quantised import BYTES, X, eight_bits
from tests.torch.table_examples import example

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch.ao.quantization.fx._decomposed  # makes the operators of this name known

aten, decomposed = torch.ops.aten, torch.ops.quantized_decomposed
SCALES, ZEROS = torch.rand(16) + 0.1, torch.zeros(16, dtype=torch.int64)


def observed(function, x):
    """Quantised by the range of the values so far."""
    on, low, high, scale = torch.ones(1, dtype=torch.int64), torch.zeros(1), torch.ones(1), torch.ones(1)
    return function(x, on, on, low, high, scale, torch.zeros(1, dtype=torch.int32), 0.1, 0, 255, -1)


CONVERSIONS = [
    ("aten.quantize_per_tensor", example("quantize", lambda x: torch.quantize_per_tensor(x, 0.1, 3, torch.qint8), X)),
    (
        "aten.quantize_per_tensor",
        example(
            "quantize",
            lambda x, s, z: torch.quantize_per_tensor(x, s, z, torch.quint8),
            X,
            torch.tensor(0.1),
            torch.tensor(3),
        ),
    ),
    (
        "aten.quantize_per_channel",
        example("quantize", lambda x, s, z: torch.quantize_per_channel(x, s, z, 1, torch.qint8), X, SCALES, ZEROS),
    ),
    (
        "aten.quantize_per_tensor_dynamic",
        example("dynamic_quantize", lambda x: torch.quantize_per_tensor_dynamic(x, torch.quint8, False), X),
    ),
    ("aten.dequantize", example("dequantize", lambda x: eight_bits(x).dequantize(), X)),
    ("aten.int_repr", example("cast", lambda x: eight_bits(x).int_repr(), X)),
    (
        "aten._make_per_tensor_quantized_tensor",
        example(
            "cast", lambda x: torch._make_per_tensor_quantized_tensor(x, 0.1, 3), torch.ones(4, 16, dtype=torch.uint8)
        ),
    ),
    (
        "aten._make_per_channel_quantized_tensor",
        example(
            "cast",
            lambda x, s, z: torch._make_per_channel_quantized_tensor(x, s, z, 1),
            BYTES,
            SCALES,
            ZEROS,
        ),
    ),
    (
        "quantized_decomposed.quantize_per_tensor",
        example("quantize", lambda x: decomposed.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8), X),
    ),
    (
        "quantized_decomposed.quantize_per_tensor",
        example(
            "quantize",
            lambda x, s, z: decomposed.quantize_per_tensor.tensor(x, s, z, -128, 127, torch.int8),
            X,
            torch.tensor(0.1),
            torch.tensor(3),
        ),
    ),
    (
        "quantized_decomposed.quantize_per_channel",
        example(
            "quantize",
            lambda x, s, z: decomposed.quantize_per_channel(x, s, z, 1, -128, 127, torch.int8),
            X,
            SCALES,
            ZEROS,
        ),
    ),
    (
        "quantized_decomposed.dequantize_per_tensor",
        example(
            "dequantize",
            lambda x: decomposed.dequantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8),
            BYTES,
        ),
    ),
    (
        "quantized_decomposed.dequantize_per_channel",
        example(
            "dequantize",
            lambda x, s, z: decomposed.dequantize_per_channel(x, s, z, 1, -128, 127, torch.int8),
            BYTES,
            SCALES,
            ZEROS,
        ),
    ),
    (
        "quantized_decomposed.quantize_per_channel_group",
        example(
            "quantize",
            lambda x, s, z: decomposed.quantize_per_channel_group(x, s, z, -8, 7, torch.int8, 8),
            X,
            torch.rand(4, 2),
            torch.zeros(4, 2),
        ),
    ),
    (
        "quantized_decomposed.dequantize_per_channel_group",
        example(
            "dequantize",
            lambda x, s, z: decomposed.dequantize_per_channel_group(x, s, z, -8, 7, torch.int8, 8, torch.float32),
            BYTES,
            torch.rand(4, 2),
            torch.zeros(4, 2),
        ),
    ),
    (
        "quantized_decomposed.convert_element_type",
        example("cast", lambda x: decomposed.convert_element_type.no_fuse(x, torch.float16), X),
    ),
    (
        "aten.fake_quantize_per_tensor_affine",
        example("fake_quantize", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255), X),
    ),
    (
        "aten.fake_quantize_per_tensor_affine_cachemask",
        example("fake_quantize", lambda x: aten.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 3, 0, 255), X),
    ),
    (
        "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        example(
            "fake_quantize",
            lambda x, s, z, e: aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s, z, e, 0, 255)[0],
            X,
            torch.tensor(0.1),
            torch.tensor(3, dtype=torch.int32),
            torch.tensor(1),
        ),
    ),
    (
        "aten.fused_moving_avg_obs_fake_quant",
        example("fake_quantize", lambda x: observed(torch.fused_moving_avg_obs_fake_quant, x), X),
    ),
    (
        "aten._fused_moving_avg_obs_fq_helper",
        example("fake_quantize", lambda x: observed(aten._fused_moving_avg_obs_fq_helper, x), X),
    ),
    (
        "aten.fake_quantize_per_channel_affine",
        example(
            "fake_quantize",
            lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 1, 0, 255),
            X,
            SCALES,
            ZEROS.int(),
        ),
    ),
    (
        "aten.fake_quantize_per_channel_affine_cachemask",
        example(
            "fake_quantize",
            lambda x, s, z: aten.fake_quantize_per_channel_affine_cachemask(x, s, z, 1, 0, 255)[0],
            X,
            SCALES,
            ZEROS.int(),
        ),
    ),
    (
        "aten._fake_quantize_learnable_per_tensor_affine",
        example(
            "fake_quantize",
            lambda x, s, z: torch._fake_quantize_learnable_per_tensor_affine(x, s, z, 0, 255),
            X,
            torch.rand(1),
            torch.zeros(1),
        ),
    ),
    (
        "aten._fake_quantize_learnable_per_channel_affine",
        example(
            "fake_quantize",
            lambda x, s, z: torch._fake_quantize_learnable_per_channel_affine(x, s, z, 1, 0, 255),
            X,
            SCALES,
            ZEROS.float(),
        ),
    ),
]

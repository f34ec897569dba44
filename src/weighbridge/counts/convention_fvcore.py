"""What fvcore 0.1.5 calls flops and activations (fvcore.nn.flop_count, fvcore.nn.activation_count; Apache-2.0).

Its flops are multiply-accumulates.  It has no rule for PyTorch's fused attention; here that counts as the two products that it
is made of, which fvcore sees where the fusion is off, as it was for the tables that timm publishes.
"""

from __future__ import annotations

from typing import Final

from weighbridge.counts.convention import Convention, Use, is_no_contraction, learned_bytes, products

__all__ = ["FVCORE"]


def _matrix_products(use: Use) -> int:
    """Elements of the first operand times columns of the second: fvcore does not see that the first is stretched."""
    call = use.call
    return call.x.elements * (call.outputs[0].shape[-1] if len(call.w.shape) > 1 else 1)


def _result(use: Use) -> int:
    return use.result


def _results_of_products(use: Use) -> int:
    """The results of all products inside an operator: of attention, the scores and the weighted values."""
    return 0 if use.op.loops is None else sum(loops.groups * loops.m * loops.n for loops in use.op.loops(use.call))


def _normalised(use: Use) -> int:
    """5 a value with a learned scale, else 4."""
    return use.call.x.elements * (5 if use.call.has("scale") else 4)


def _batch_normalised(use: Use) -> int:
    """2 a value with a learned scale, else 1; in training as the other normalisations."""
    if use.call["training"]:
        return _normalised(use)
    return use.call.x.elements * (2 if use.call.has("scale") else 1)


def _pooled_adaptively(use: Use) -> int:
    """1 for every value read by a pool whose result is an image of two dimensions; of other dimensions nothing."""
    call = use.call
    is_image = len(call.x.shape) == 4 or ("output_size" in call.attributes and len(call.integers("output_size")) == 2)
    return call.x.elements if is_image else 0


_RESIZED: Final = {"nearest": 1, "linear": 4}


def _resized(use: Use) -> int:
    """A value of an image of two dimensions: 1 from the nearest neighbour, 4 by bilinear interpolation.

    Bicubic and antialiased resizing and other dimensions count nothing.
    """
    if len(use.call.x.shape) != 4 or use.call["antialias"]:
        return 0
    return use.result * _RESIZED.get(use.call.text("mode"), 0)


def _sampled(use: Use) -> int:
    """4 a value, whatever the interpolation."""
    return 4 * use.result


FVCORE: Final = Convention(
    "as fvcore counts a run of the module: contractions, attention as its two products, 2 a value of batch norm, 5 of "
    "layer, group and instance norm (4 without a scale), 1 a value read by adaptive average pooling, 1 or 4 a resized one, "
    "4 a sampled one",
    macs={
        **dict.fromkeys(("conv", "conv_transpose", "linear", "einsum", "attention"), products),
        "matmul": _matrix_products,
        "batch_norm": _batch_normalised,
        **dict.fromkeys(("layer_norm", "group_norm", "instance_norm"), _normalised),
        **dict.fromkeys(("adaptive_average_pool", "global_average_pool"), _pooled_adaptively),
        "resize": _resized,
        "grid_sample": _sampled,
    },
    activations={
        **dict.fromkeys(("conv", "conv_transpose", "linear", "matmul", "einsum"), _result),
        "attention": _results_of_products,
    },
    is_free=is_no_contraction,
    weight_bytes=learned_bytes,
)

"""Calls of PyTorch's quantised operators, each with what it becomes; ``test_table_quantised`` runs them."""

from __future__ import annotations

import torch

from tests.torch.table_examples import example

R, aten = torch.randn, torch.ops.aten
quantized = torch.ops.quantized
X, IMAGE, VOLUME, LINE = R(4, 16), R(2, 8, 6, 5), R(2, 4, 5, 4, 6), R(2, 8, 9)
OUT = (0.05, 10)
C = torch.rand(8) + 0.5
BYTES = torch.ones(4, 16, dtype=torch.int8)


def eight_bits(x, scale=0.1, zero_point=10):
    return torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)


def of(name):
    return getattr(quantized, name)


def weight(*shape):
    return torch.quantize_per_tensor(R(*shape), 0.05, 0, torch.qint8)


LINEAR = quantized.linear_prepack(weight(32, 16), R(32))
HALF = quantized.linear_prepack_fp16(R(32, 16), R(32))
PACKED = {
    1: quantized.conv1d_prepack(weight(6, 4, 3), R(6), [2], [1], [1], 2),
    2: quantized.conv2d_prepack(weight(6, 4, 3, 2), R(6), [2, 1], [1, 0], [1, 2], 2),
    3: quantized.conv3d_prepack(weight(6, 4, 3, 2, 1), R(6), [2, 1, 1], [1, 0, 0], [1, 1, 1], 1),
}
TRANSPOSED = {
    1: quantized.conv_transpose1d_prepack(weight(8, 6, 3), R(6), [2], [1], [1], [1], 1),
    2: quantized.conv_transpose2d_prepack(weight(8, 6, 3, 2), R(6), [2, 1], [1, 0], [1, 0], [1, 1], 1),
    3: quantized.conv_transpose3d_prepack(weight(4, 6, 3, 2, 1), R(6), [2, 1, 1], [1, 0, 0], [1, 0, 0], [1, 1, 1], 1),
}
INPUTS = {1: LINE, 2: IMAGE, 3: VOLUME}


def in_a_row(rank, *names):
    """What a convolution over so many axes becomes."""
    return " ".join(["unsqueeze", *names, "squeeze"] if rank == 1 else names)


LAYERS = [
    ("quantized.linear", example("linear", lambda x: quantized.linear(eight_bits(x), LINEAR, *OUT), X)),
    ("quantized.linear_relu", example("linear relu", lambda x: quantized.linear_relu(eight_bits(x), LINEAR, *OUT), X)),
    ("quantized.linear_dynamic", example("linear", lambda x: quantized.linear_dynamic(x, LINEAR), X)),
    ("quantized.linear_relu_dynamic", example("linear relu", lambda x: quantized.linear_relu_dynamic(x, LINEAR), X)),
    ("quantized.linear_dynamic_fp16", example("linear", lambda x: quantized.linear_dynamic_fp16(x, HALF), X)),
    (
        "quantized.linear_relu_dynamic_fp16",
        example("linear relu", lambda x: quantized.linear_relu_dynamic_fp16(x, HALF), X),
    ),
    (
        "quantized.linear_dynamic_fp16_unpacked_weight",
        example("linear", quantized.linear_dynamic_fp16_unpacked_weight, X, R(32, 16), R(32)),
    ),
    *[
        (
            f"quantized.conv{rank}d",
            example(
                in_a_row(rank, "conv"),
                lambda x, r=rank: of(f"conv{r}d")(eight_bits(x), PACKED[r], *OUT),
                INPUTS[rank],
            ),
        )
        for rank in PACKED
    ],
    *[
        (
            f"quantized.conv{rank}d_relu",
            example(
                in_a_row(rank, "conv", "relu"),
                lambda x, r=rank: of(f"conv{r}d_relu")(eight_bits(x), PACKED[r], *OUT),
                INPUTS[rank],
            ),
        )
        for rank in PACKED
    ],
    *[
        (
            f"quantized.conv{rank}d_dynamic",
            example(
                in_a_row(rank, "conv"),
                lambda x, r=rank: of(f"conv{r}d_dynamic")(x, PACKED[r]),
                INPUTS[rank],
            ),
        )
        for rank in PACKED
    ],
    *[
        (
            f"quantized.conv_transpose{rank}d",
            example(
                in_a_row(rank, "conv_transpose"),
                lambda x, r=rank: of(f"conv_transpose{r}d")(eight_bits(x), TRANSPOSED[r], *OUT),
                INPUTS[rank],
            ),
        )
        for rank in TRANSPOSED
    ],
    *[
        (
            f"quantized.conv_transpose{rank}d_dynamic",
            example(
                in_a_row(rank, "conv_transpose"),
                lambda x, r=rank: of(f"conv_transpose{r}d_dynamic")(x, TRANSPOSED[r]),
                INPUTS[rank],
            ),
        )
        for rank in TRANSPOSED
    ],
    (
        "quantized.matmul",
        example("matmul", lambda a, b: quantized.matmul(eight_bits(a), eight_bits(b), *OUT), R(3, 4, 5), R(3, 5, 6)),
    ),
    (
        "aten._weight_int8pack_mm",
        example(
            "linear",
            torch._weight_int8pack_mm,
            X.bfloat16(),
            torch.ones(32, 16, dtype=torch.int8),
            torch.rand(32).bfloat16(),
        ),
    ),
]

OTHERS = [
    *[
        (
            f"quantized.{name}",
            example(operators, lambda a, b, name=name: of(name)(eight_bits(a), eight_bits(b), *OUT), X, X),
        )
        for name, operators in (("add", "add"), ("add_relu", "add relu"), ("mul", "mul"), ("mul_relu", "mul relu"))
    ],
    *[
        (f"quantized.{name}", example(operators, lambda a, name=name: of(name)(eight_bits(a), 1.5), X))
        for name, operators in (
            ("add_scalar", "add"),
            ("add_scalar_relu", "add relu"),
            ("mul_scalar", "mul"),
            ("mul_scalar_relu", "mul relu"),
        )
    ],
    ("quantized.cat", example("concat", lambda a: quantized.cat([eight_bits(a), eight_bits(a)], 1, *OUT), X)),
    (
        "quantized.cat_relu",
        example("concat relu", lambda a: quantized.cat_relu([eight_bits(a), eight_bits(a)], 1, *OUT), X),
    ),
    *[
        (
            f"quantized.batch_norm{rank}",
            example(
                "batch_norm",
                lambda x, c, r=rank: of(f"batch_norm{r}")(eight_bits(x), c, c, c, c, 1e-5, *OUT),
                x,
                C,
            ),
        )
        for rank, x in (("", IMAGE), ("1d", LINE), ("2d", IMAGE), ("3d", R(2, 8, 3, 4, 5)))
    ],
    *[
        (
            f"quantized.batch_norm{rank}_relu",
            example(
                "batch_norm relu",
                lambda x, c, r=rank: of(f"batch_norm{r}_relu")(eight_bits(x), c, c, c, c, 1e-5, *OUT),
                x,
                C,
            ),
        )
        for rank, x in (("", IMAGE), ("1d", LINE), ("2d", IMAGE), ("3d", R(2, 8, 3, 4, 5)))
    ],
    (
        "aten.quantized_batch_norm",
        example("batch_norm", lambda x, c: aten.quantized_batch_norm(eight_bits(x), c, c, c, c, 1e-5, *OUT), IMAGE, C),
    ),
    (
        "quantized.layer_norm",
        example("layer_norm", lambda x, w: quantized.layer_norm(eight_bits(x), [16], w, w, 1e-5, *OUT), X, R(16)),
    ),
    (
        "quantized.group_norm",
        example("group_norm", lambda x, w: quantized.group_norm(eight_bits(x), 2, w, w, 1e-5, *OUT), IMAGE, C),
    ),
    (
        "quantized.instance_norm",
        example("instance_norm", lambda x, w: quantized.instance_norm(eight_bits(x), w, w, 1e-5, *OUT), IMAGE, C),
    ),
    ("quantized.softmax", example("softmax", lambda x: quantized.softmax(eight_bits(x), 1, 1 / 256, 0), X)),
    (
        "quantized.max_pool1d",
        example("max_pool", lambda x: quantized.max_pool1d(eight_bits(x), [2], [2], [0], [1], False), LINE),
    ),
    (
        "quantized.max_pool2d",
        example(
            "max_pool", lambda x: quantized.max_pool2d(eight_bits(x), [2, 2], [1, 1], [0, 0], [1, 1], False), IMAGE
        ),
    ),
    ("quantized.hardswish", example("hard_swish", lambda x: quantized.hardswish(eight_bits(x), *OUT), X)),
    ("quantized.sigmoid", example("sigmoid", lambda x: quantized.sigmoid(eight_bits(x), 1 / 256, 0), X)),
    ("quantized.leaky_relu", example("leaky_relu", lambda x: quantized.leaky_relu(eight_bits(x), 0.2, False, *OUT), X)),
    ("quantized.elu", example("elu", lambda x: quantized.elu(eight_bits(x), *OUT), X)),
    ("quantized.celu", example("celu", lambda x: quantized.celu(eight_bits(x), *OUT), X)),
    ("quantized.relu6", example("clip", lambda x: quantized.relu6(eight_bits(x)), X)),
    (
        "quantized.prelu",
        example("prelu", lambda x, w: quantized.prelu(eight_bits(x), eight_bits(w), *OUT), IMAGE, torch.rand(1)),
    ),
    ("quantized.dropout", example("dropout", lambda x: quantized.dropout(eight_bits(x), *OUT), X)),
]

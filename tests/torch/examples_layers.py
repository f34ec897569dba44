"""Calls of PyTorch's layers, each with the operator of ours that it becomes; ``test_table_layers`` runs them."""

from __future__ import annotations

import torch
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

from tests.torch.table_examples import example

R, aten = torch.randn, torch.ops.aten
X, W, B, M = R(2, 6, 4, 5), R(6), R(6), R(6)
V = torch.rand(6) + 0.5
ROW = (R(5), R(5))
LINE, VOLUME = R(2, 6, 8), R(2, 3, 4, 6, 5)
SCORES, LABELS = R(4, 3), torch.tensor([0, 2, 1, 1])
MAPS, MAP_LABELS = R(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))
A, T = torch.rand(3, 4), torch.rand(3, 4)
MANY = torch.tensor([[0, 2, -1, 1], [3, -1, 0, 0], [1, 2, 3, 0]])
INDICES = F.max_pool2d(X, 2, return_indices=True)[1]
VOLUME_INDICES = F.max_pool3d(VOLUME, 2, return_indices=True)[1]


def eight_bits(x):
    return torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)


def norm(key, function, *inputs):
    return key, example("batch_norm", function, *inputs)


def pool(key, ours, function, *inputs):
    return key, example(ours, function, *inputs)


NORMALISATIONS = [
    norm("aten.batch_norm", lambda *t: F.batch_norm(t[0], t[3], t[4], t[1], t[2]), X, W, B, M, V),
    norm("aten.batch_norm", lambda *t: F.batch_norm(t[0], t[3], t[4], t[1], t[2], training=True), X, W, B, M, V),
    norm("aten.batch_norm", lambda x: F.batch_norm(x, None, None, training=True), X),
    norm("aten.native_batch_norm", lambda *t: aten.native_batch_norm(*t, False, 0.1, 1e-5)[0], X, W, B, M, V),
    norm("aten.native_batch_norm", lambda *t: aten.native_batch_norm(*t, True, 0.1, 1e-5), X, W, B, M, V),
    norm(
        "aten._native_batch_norm_legit",
        lambda *t: aten._native_batch_norm_legit(*t, True, 0.1, 1e-5),
        X,
        W,
        B,
        M,
        V,
    ),
    norm(
        "aten._native_batch_norm_legit",
        lambda *t: aten._native_batch_norm_legit.no_stats(*t, True, 0.1, 1e-5),
        X,
        W,
        B,
    ),
    norm(
        "aten._native_batch_norm_legit_no_training",
        lambda *t: aten._native_batch_norm_legit_no_training(*t, 0.1, 1e-5)[0],
        X,
        W,
        B,
        M,
        V,
    ),
    norm(
        "aten._native_batch_norm_legit_functional",
        lambda *t: aten._native_batch_norm_legit_functional(*t, True, 0.1, 1e-5),
        X,
        W,
        B,
        M,
        V,
    ),
    norm("aten._batch_norm_with_update", lambda *t: aten._batch_norm_with_update(*t, 0.1, 1e-5)[:3], X, W, B, M, V),
    norm(
        "aten._batch_norm_with_update_functional",
        lambda *t: aten._batch_norm_with_update_functional(*t, 0.1, 1e-5)[0],
        X,
        W,
        B,
        M,
        V,
    ),
    norm("aten._batch_norm_no_update", lambda *t: aten._batch_norm_no_update(*t, 0.1, 1e-5)[0], X, W, B, M, V),
    ("aten.instance_norm", example("instance_norm", lambda x, w, b: F.instance_norm(x, None, None, w, b), X, W, B)),
    ("aten.instance_norm", example("instance_norm", F.instance_norm, X, M, V)),
    norm("aten.instance_norm", lambda *t: F.instance_norm(*t, use_input_stats=False), X, M, V),
    ("aten.layer_norm", example("layer_norm", lambda x, w, b: F.layer_norm(x, (5,), w, b), X, *ROW)),
    ("aten.layer_norm", example("layer_norm", lambda x: F.layer_norm(x, (4, 5)), X)),
    (
        "aten.native_layer_norm",
        example("layer_norm", lambda x, w, b: aten.native_layer_norm(x, (5,), w, b, 1e-5), X, *ROW),
    ),
    ("aten.group_norm", example("group_norm", lambda x, w, b: F.group_norm(x, 3, w, b), X, W, B)),
    (
        "aten.native_group_norm",
        example("group_norm", lambda x, w, b: aten.native_group_norm(x, w, b, 2, 6, 20, 3, 1e-5), X, W, B),
    ),
    ("aten.rms_norm", example("rms_norm", lambda x, w: F.rms_norm(x, (5,), w), X, ROW[0])),
    ("aten._fused_rms_norm", example("rms_norm", lambda x, w: aten._fused_rms_norm(x, (5,), w, 1e-5), X, ROW[0])),
    ("aten.softmax", example("softmax", lambda x: x.softmax(1), X)),
    ("aten.softmax", example("softmax", lambda x: F.softmax(x, -1, dtype=torch.float64), X)),
    ("aten._softmax", example("softmax", lambda x: aten._softmax(x, 1, False), X)),
    ("aten._safe_softmax", example("softmax", lambda x: aten._safe_softmax(x, 1), X)),
    ("aten.special_softmax", example("softmax", lambda x: torch.special.softmax(x, 1), X)),
    ("aten.log_softmax", example("log_softmax", lambda x: x.log_softmax(1), X)),
    ("aten._log_softmax", example("log_softmax", lambda x: aten._log_softmax(x, 1, False), X)),
    ("aten.special_log_softmax", example("log_softmax", lambda x: torch.special.log_softmax(x, 1), X)),
]

POOLS = [
    pool("aten.max_pool1d", "max_pool", lambda x: F.max_pool1d(x, 3, 2, 1), LINE),
    pool("aten.max_pool1d", "max_pool", lambda x: F.max_pool1d(x, 2), LINE[0]),
    pool("aten.max_pool2d", "max_pool", lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), X),
    pool("aten.max_pool2d", "max_pool", lambda x: F.max_pool2d(x, [2], dilation=2), X[0]),
    pool("aten.max_pool3d", "max_pool", lambda x: F.max_pool3d(x, (1, 2, 3), (1, 2, 1), (0, 1, 1)), VOLUME),
    pool("aten.quantized_max_pool1d", "max_pool", lambda x: aten.quantized_max_pool1d(eight_bits(x), 2), LINE),
    pool("aten.quantized_max_pool2d", "max_pool", lambda x: aten.quantized_max_pool2d(eight_bits(x), 2), X),
    pool("aten.max_pool1d_with_indices", "max_pool", lambda x: F.max_pool1d(x, 2, return_indices=True), LINE),
    pool("aten.max_pool2d_with_indices", "max_pool", lambda x: F.max_pool2d(x, 2, return_indices=True), X),
    pool("aten.max_pool2d_with_indices", "max_pool", lambda x: F.max_pool2d(x, 2, return_indices=True)[1], X),
    pool("aten.max_pool3d_with_indices", "max_pool", lambda x: F.max_pool3d(x, 2, return_indices=True), VOLUME),
    pool("aten.avg_pool1d", "average_pool", lambda x: F.avg_pool1d(x, 3, padding=1), LINE),
    pool("aten.avg_pool2d", "average_pool", lambda x: F.avg_pool2d(x, (2, 3), 1, divisor_override=5), X),
    pool("aten.avg_pool3d", "average_pool", lambda x: F.avg_pool3d(x, 2, ceil_mode=True), VOLUME),
    pool("aten.adaptive_avg_pool1d", "adaptive_average_pool", lambda x: F.adaptive_avg_pool1d(x, 3), LINE),
    pool("aten.adaptive_avg_pool2d", "adaptive_average_pool", lambda x: F.adaptive_avg_pool2d(x, (None, 2)), X),
    pool("aten.adaptive_avg_pool3d", "adaptive_average_pool", lambda x: F.adaptive_avg_pool3d(x, 2), VOLUME),
    pool("aten._adaptive_avg_pool2d", "adaptive_average_pool", lambda x: aten._adaptive_avg_pool2d(x, (3, 2)), X),
    pool(
        "aten._adaptive_avg_pool3d", "adaptive_average_pool", lambda x: aten._adaptive_avg_pool3d(x, (3, 2, 1)), VOLUME
    ),
    pool("aten.adaptive_max_pool1d", "adaptive_max_pool", lambda x: F.adaptive_max_pool1d(x, 3), LINE),
    pool(
        "aten.adaptive_max_pool2d", "adaptive_max_pool", lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True), X
    ),
    pool("aten.adaptive_max_pool3d", "adaptive_max_pool", lambda x: F.adaptive_max_pool3d(x, (1, 2, 3)), VOLUME),
    pool(
        "aten.max_unpool2d",
        "max_unpool",
        lambda x, i: F.max_unpool2d(x, i, 2, output_size=(4, 5)),
        F.max_pool2d(X, 2),
        INDICES,
    ),
    pool(
        "aten.max_unpool3d",
        "max_unpool",
        lambda x, i: F.max_unpool3d(x, i, 2, output_size=(4, 6, 5)),
        F.max_pool3d(VOLUME, 2),
        VOLUME_INDICES,
    ),
    pool("aten.fractional_max_pool2d", "fractional_max_pool", lambda x: F.fractional_max_pool2d(x, 2, (2, 3)), X),
    pool(
        "aten.fractional_max_pool3d",
        "fractional_max_pool",
        lambda x: F.fractional_max_pool3d(x, 2, (2, 3, 2), return_indices=True),
        VOLUME,
    ),
]


def resized(key, function, x):
    return key, example("resize", function, x)


SAMPLES = [
    *[
        resized(f"aten.upsample_nearest{x.dim() - 2}d", lambda x: F.interpolate(x, scale_factor=1.5), x)
        for x in (LINE, X, VOLUME)
    ],
    *[
        resized(
            f"aten._upsample_nearest_exact{x.dim() - 2}d",
            lambda x: F.interpolate(x, size=[7] * (x.dim() - 2), mode="nearest-exact"),
            x,
        )
        for x in (LINE, X, VOLUME)
    ],
    *[
        resized(key, lambda x, mode=mode: F.interpolate(x, scale_factor=1 / 3 + 1, mode=mode, align_corners=True), x)
        for key, mode, x in (
            ("aten.upsample_linear1d", "linear", LINE),
            ("aten.upsample_bilinear2d", "bilinear", X),
            ("aten.upsample_trilinear3d", "trilinear", VOLUME),
            ("aten.upsample_bicubic2d", "bicubic", X),
        )
    ],
    *[
        resized(
            f"aten._upsample_{mode}2d_aa", lambda x, mode=mode: F.interpolate(x, (2, 9), mode=mode, antialias=True), x
        )
        for mode, x in (("bilinear", X), ("bicubic", X))
    ],
    resized("aten._upsample_lanczos2d_aa", lambda x: aten._upsample_lanczos2d_aa(x, (2, 9), False), X),
    resized("aten.upsample_bilinear2d", lambda x: aten.upsample_bilinear2d(x, (9, 9), False), X),
    *[
        (
            "aten.grid_sampler",
            example(
                "grid_sample", lambda x, g, mode=mode: F.grid_sample(x, g, mode, align_corners=False), X, R(2, 3, 7, 2)
            ),
        )
        for mode in ("bilinear", "nearest", "bicubic")
    ],
    (
        "aten.grid_sampler_2d",
        example("grid_sample", lambda x, g: aten.grid_sampler_2d(x, g, 0, 0, False), X, R(2, 3, 7, 2)),
    ),
    (
        "aten._grid_sampler_2d_cpu_fallback",
        example("grid_sample", lambda x, g: aten._grid_sampler_2d_cpu_fallback(x, g, 0, 0, False), X, R(2, 3, 7, 2)),
    ),
    (
        "aten.grid_sampler_3d",
        example("grid_sample", lambda x, g: aten.grid_sampler_3d(x, g, 0, 0, False), VOLUME, R(2, 2, 3, 7, 3)),
    ),
    (
        "aten.affine_grid_generator",
        example("affine_grid", lambda t: F.affine_grid(t, [2, 3, 4, 5], align_corners=False), R(2, 2, 3)),
    ),
]


def loss(key, ours, function, *inputs):
    return key, example(ours, function, *inputs)


LOSSES = [
    *[
        loss(f"aten.{name}", ours, lambda x, t, f=f, r=r: f(x, t, reduction=r), A, T)
        for name, ours, f in (
            ("mse_loss", "mean_squared_error_loss", F.mse_loss),
            ("l1_loss", "l1_loss", F.l1_loss),
            ("smooth_l1_loss", "smooth_l1_loss", F.smooth_l1_loss),
            ("huber_loss", "huber_loss", F.huber_loss),
            ("binary_cross_entropy", "binary_cross_entropy_loss", F.binary_cross_entropy),
            (
                "binary_cross_entropy_with_logits",
                "binary_cross_entropy_with_logits_loss",
                F.binary_cross_entropy_with_logits,
            ),
            ("soft_margin_loss", "soft_margin_loss", F.soft_margin_loss),
        )
        for r in ("none", "mean", "sum")
    ],
    *[
        loss("aten.kl_div", "kl_divergence_loss", lambda x, t, r=r: F.kl_div(x, t, reduction=r, log_target=True), A, T)
        for r in ("none", "batchmean", "sum")
    ],
    loss("aten.kl_div", "kl_divergence_loss", lambda x, t: F.kl_div(x, t, reduction="sum"), A, T),
    *[
        loss(
            "aten.cross_entropy_loss",
            "softmax_cross_entropy_loss",
            lambda x, t, r=r: F.cross_entropy(x, t, reduction=r),
            MAPS,
            MAP_LABELS,
        )
        for r in ("none", "mean", "sum")
    ],
    loss(
        "aten.cross_entropy_loss",
        "softmax_cross_entropy_loss",
        lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1),
        SCORES,
        LABELS,
        R(3),
    ),
    loss("aten.cross_entropy_loss", "softmax_cross_entropy_loss", F.cross_entropy, SCORES, SCORES.softmax(1)),
    loss("aten.cross_entropy_loss", "softmax_cross_entropy_loss", F.cross_entropy, SCORES[0], LABELS[0]),
    loss("aten.nll_loss_nd", "negative_log_likelihood_loss", F.nll_loss, MAPS, MAP_LABELS),
    loss("aten.nll_loss", "negative_log_likelihood_loss", aten.nll_loss, SCORES, LABELS),
    loss("aten.nll_loss2d", "negative_log_likelihood_loss", aten.nll_loss2d, MAPS, MAP_LABELS),
    loss(
        "aten.nll_loss_forward",
        "negative_log_likelihood_loss",
        lambda x, t: aten.nll_loss_forward(x, t, None, 1, -100),
        SCORES,
        LABELS,
    ),
    loss(
        "aten.nll_loss2d_forward",
        "negative_log_likelihood_loss",
        lambda x, t: aten.nll_loss2d_forward(x, t, None, 1, -100)[0],
        MAPS,
        MAP_LABELS,
    ),
    loss(
        "aten.multi_margin_loss",
        "multi_margin_loss",
        lambda x, t, w: F.multi_margin_loss(x, t, 2, 1.0, w),
        SCORES,
        LABELS,
        R(3),
    ),
    loss(
        "aten.multi_margin_loss",
        "multi_margin_loss",
        lambda x, t: F.multi_margin_loss(x, t, reduction="none"),
        SCORES,
        LABELS,
    ),
    loss("aten.multilabel_margin_loss", "multilabel_margin_loss", F.multilabel_margin_loss, A, MANY),
    loss(
        "aten.multilabel_margin_loss_forward",
        "multilabel_margin_loss",
        lambda x, t: aten.multilabel_margin_loss_forward(x, t, 0),
        A,
        MANY,
    ),
    loss(
        "aten.ctc_loss",
        "ctc_loss",
        lambda x, t: F.ctc_loss(x, t, (9, 8), (3, 2)),
        R(9, 2, 5).log_softmax(2),
        torch.randint(1, 5, (2, 4)),
    ),
    loss(
        "aten.ctc_loss",
        "ctc_loss",
        lambda x, t, i, j: F.ctc_loss(x, t, i, j, reduction="none"),
        R(9, 2, 5).log_softmax(2),
        torch.randint(1, 5, (2, 4)),
        torch.tensor([9, 8]),
        torch.tensor([3, 2]),
    ),
    loss(
        "aten._ctc_loss",
        "ctc_loss",
        lambda x, t: aten._ctc_loss(x, t, (9, 8), (3, 2))[0],
        R(9, 2, 5).log_softmax(2),
        torch.randint(1, 5, (2, 4)),
    ),
]

EXAMPLES = [*NORMALISATIONS, *POOLS, *SAMPLES, *LOSSES]

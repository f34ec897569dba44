"""PyTorch's layers as ours, other than contractions: normalisations, softmax, pools, resizing, losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule, bind
from weighbridge.frontends.foreign import Step
from weighbridge.graph import UNKNOWN, Attribute

__all__ = ["RULES_LAYERS", "max_window", "spatial"]

_STATISTICS: Final = "mean=running_mean variance=running_var"
_BATCH_NORM: Final = f"x=input scale=weight bias=bias {_STATISTICS}"
_OWN_STATISTICS: Final = "y batch_mean inverse_deviation"


def _epsilon(call: AtenCall) -> float:
    return call.number("eps", 1e-5)


def _batch_norm(call: AtenCall) -> dict[str, Attribute]:
    """The forms of cuDNN and MIOpen say ``epsilon``, the others ``eps``."""
    return {"epsilon": call.number("epsilon", _epsilon(call)), "training": bool(call.integer("training"))}


def _batch_norm_inference(call: AtenCall) -> dict[str, Attribute]:
    return {"epsilon": _epsilon(call)}


def _batch_norm_training(call: AtenCall) -> dict[str, Attribute]:
    return {"epsilon": _epsilon(call), "training": True}


def _instance_norm(call: AtenCall) -> Sequence[Step]:
    """With running statistics in place of the images' own it is batch norm at inference."""
    own, attributes = bool(call.integer("use_input_stats", 1)), {"epsilon": _epsilon(call)}
    return (Step("instance_norm" if own else "batch_norm", list(bind(call, _BATCH_NORM)), attributes, call.outputs),)


def _from_axis(call: AtenCall) -> dict[str, Attribute]:
    return {"axis": -len(call.integers("normalized_shape")), "epsilon": _epsilon(call)}


def _group_norm(call: AtenCall) -> dict[str, Attribute]:
    return {"groups": call.integer("num_groups", call.integer("group", 1)), "epsilon": _epsilon(call)}


def _along(call: AtenCall) -> dict[str, Attribute]:
    return {"axis": call.integer("dim", -1)}


_NORMALISATIONS: Final[dict[str, Rule]] = {
    "aten.batch_norm": As("batch_norm", _BATCH_NORM, _batch_norm, "y"),
    "aten.native_batch_norm": As("batch_norm", _BATCH_NORM, _batch_norm, _OWN_STATISTICS),
    "aten._native_batch_norm_legit": As("batch_norm", _BATCH_NORM, _batch_norm, _OWN_STATISTICS),
    "aten._native_batch_norm_legit_no_training": As("batch_norm", _BATCH_NORM, _batch_norm_inference, _OWN_STATISTICS),
    "aten._native_batch_norm_legit_functional": As(
        "batch_norm", _BATCH_NORM, _batch_norm, f"{_OWN_STATISTICS} mean variance"
    ),
    "aten._batch_norm_with_update": As("batch_norm", _BATCH_NORM, _batch_norm_training, _OWN_STATISTICS),
    "aten._batch_norm_with_update_functional": As(
        "batch_norm", _BATCH_NORM, _batch_norm_training, f"{_OWN_STATISTICS} reserve mean variance"
    ),
    "aten._batch_norm_no_update": As("batch_norm", _BATCH_NORM, _batch_norm_inference, _OWN_STATISTICS),
    "aten.cudnn_batch_norm": As("batch_norm", _BATCH_NORM, _batch_norm, _OWN_STATISTICS),
    "aten.miopen_batch_norm": As("batch_norm", _BATCH_NORM, _batch_norm, _OWN_STATISTICS),
    "aten.instance_norm": _instance_norm,
    "aten.layer_norm": As("layer_norm", "x=input scale=weight bias=bias", _from_axis, "y"),
    "aten.native_layer_norm": As(
        "layer_norm", "x=input scale=weight bias=bias", _from_axis, "y mean inverse_deviation"
    ),
    "aten.group_norm": As("group_norm", "x=input scale=weight bias=bias", _group_norm, "y"),
    "aten.native_group_norm": As(
        "group_norm", "x=input scale=weight bias=bias", _group_norm, "y mean inverse_deviation"
    ),
    "aten.rms_norm": As("rms_norm", "x=input scale=weight", _from_axis, "y"),
    "aten._fused_rms_norm": As("rms_norm", "x=input scale=weight", _from_axis, "y inverse_root"),
    "aten.softmax": As("softmax", "x=self", _along),
    "aten._softmax": As("softmax", "x=self", _along),
    "aten._safe_softmax": As("softmax", "x=self", _along),
    "aten.special_softmax": As("softmax", "x=self", _along),
    "aten.log_softmax": As("log_softmax", "x=self", _along),
    "aten._log_softmax": As("log_softmax", "x=self", _along),
    "aten.special_log_softmax": As("log_softmax", "x=self", _along),
}


def spatial(call: AtenCall, name: str, rank: int, default: tuple[int, ...] = ()) -> tuple[int, ...]:
    """An argument with a value for each of ``rank`` axes; a lone one holds for all, an empty list is ``default``."""
    values = call.integers(name) or default
    return values * rank if len(values) == 1 else values


def _window(call: AtenCall, rank: int, kernel: str = "kernel_size") -> dict[str, Attribute]:
    """Kernel, stride (as large as the kernel, where none is given) and padding of a pool."""
    size = spatial(call, kernel, rank)
    return {
        "kernel": size,
        "stride": spatial(call, "stride", rank, size),
        "padding": spatial(call, "padding", rank, (0,)),
        "ceil_mode": bool(call.integer("ceil_mode")),
    }


def max_window(rank: int) -> Callable[[AtenCall], dict[str, Attribute]]:
    """The attributes of a largest-value pool over ``rank`` axes."""
    return lambda call: {**_window(call, rank), "dilation": spatial(call, "dilation", rank, (1,))}


def _average_pool(rank: int) -> Callable[[AtenCall], dict[str, Attribute]]:
    return lambda call: {**_window(call, rank), "count_include_pad": bool(call.integer("count_include_pad", 1))}


def _to_size(rank: int) -> Callable[[AtenCall], dict[str, Attribute]]:
    return lambda call: {"output_size": spatial(call, "output_size", rank)}


def _unpool(rank: int) -> Callable[[AtenCall], dict[str, Attribute]]:
    """The size of the result is given, so that no window has to be known for it."""
    one = (1,) * rank
    return lambda call: {"kernel": one, "stride": one, "output_size": spatial(call, "output_size", rank)}


def _fractional(rank: int) -> Callable[[AtenCall], dict[str, Attribute]]:
    return lambda call: {
        "kernel": spatial(call, "kernel_size", rank),
        "output_size": spatial(call, "output_size", rank),
    }


def _pools(rank: int) -> dict[str, Rule]:
    """The pools over so many axes, those that exist."""
    maximum, with_indices = As("max_pool", "x=self", max_window(rank), "y"), "y indices"
    adaptive = As("adaptive_average_pool", "x=self", _to_size(rank))
    rules: dict[str, Rule] = {
        f"aten.max_pool{rank}d": maximum,
        f"aten.quantized_max_pool{rank}d": maximum,
        f"aten.mkldnn_max_pool{rank}d": maximum,
        f"aten.max_pool{rank}d_with_indices": As("max_pool", "x=self", max_window(rank), with_indices),
        f"aten.avg_pool{rank}d": As("average_pool", "x=self", _average_pool(rank)),
        f"aten.adaptive_avg_pool{rank}d": adaptive,
        f"aten.adaptive_max_pool{rank}d": As("adaptive_max_pool", "x=self", _to_size(rank), with_indices),
    }
    if rank > 1:
        rules[f"aten._adaptive_avg_pool{rank}d"] = adaptive
        rules[f"aten.max_unpool{rank}d"] = As("max_unpool", "x=self indices=indices", _unpool(rank))
        rules[f"aten.fractional_max_pool{rank}d"] = As(
            "fractional_max_pool", "x=self samples=random_samples", _fractional(rank), with_indices
        )
    return rules


_POOLING: Final[dict[str, Rule]] = {**_pools(1), **_pools(2), **_pools(3)}


def _resize(rank: int, mode: str, *, antialias: bool = False, exact: bool = False) -> Rule:
    """The size of the result is given, or (in the forms ``vec``) one scale an axis: the product is rounded down.

    ``exact`` are nearest neighbours of the middle of a place and not of its beginning.
    """

    def attributes(call: AtenCall) -> Mapping[str, Attribute]:
        size = call.integers("output_size")
        if not size:
            size = _scaled(call, rank)
        return {
            "axes": tuple(range(2, 2 + rank)),
            "sizes": size,
            "mode": mode,
            "antialias": antialias,
            "coordinates": _coordinates(call, size, mode, exact=exact),
            "rounding": "floor",
        }

    def rule(call: AtenCall) -> Sequence[Step]:
        source = call.operand("input" if call.has("input") else "self")
        return (Step("resize", (("x", source),), attributes(call), call.outputs),)

    return rule


def _coordinates(call: AtenCall, sizes: tuple[int, ...], mode: str, *, exact: bool) -> Attribute:
    """How places are mapped (UpSample.h); unknown where a scale is given that is not that of the sizes, as it is used in their place."""
    if call.integer("align_corners", 0):
        return "align_corners"
    given = call.get("scale_factors")
    scales = given if isinstance(given, tuple) else tuple(call.get(f"scales{axis}") for axis in ("_d", "_h", "_w", ""))
    factors = [scale for scale in scales if isinstance(scale, int | float)]
    old = call.type("input" if call.has("input") else "self").shape[2:]
    if factors and [size * scale for size, scale in zip(old, factors, strict=False)] != list(sizes):
        return UNKNOWN
    if mode == "nearest":
        return "tf_half_pixel_for_nn" if exact else "asymmetric"
    return "half_pixel"


def _scaled(call: AtenCall, rank: int) -> tuple[int, ...]:
    scales = call.get("scale_factors")
    scales = scales if isinstance(scales, tuple) else ()
    factors = [scale for scale in scales if isinstance(scale, int | float)]
    if len(factors) != rank:
        raise GraphError(f"{call.op} has neither a size nor {rank} scales", where=call.name)
    sizes = call.type("input").shape[2:]
    return tuple(int(size * factor) for size, factor in zip(sizes, factors, strict=True))


_GRID_MODES: Final = ("linear", "nearest", "cubic")


def _grid(call: AtenCall) -> dict[str, Attribute]:
    mode = call.integer("interpolation_mode")
    if not 0 <= mode < len(_GRID_MODES):
        raise GraphError(f"{call.op} has no interpolation {mode}", where=call.name)
    return {"mode": _GRID_MODES[mode]}


def _grid_size(call: AtenCall) -> dict[str, Attribute]:
    return {"size": call.integers("size") or tuple(call.integer(name) for name in "NCHW")}


_SAMPLE: Final = As("grid_sample", "x=input grid=grid", _grid)

_SAMPLING: Final[dict[str, Rule]] = {
    **{f"aten.upsample_nearest{rank}d": _resize(rank, "nearest") for rank in (1, 2, 3)},
    **{f"aten._upsample_nearest_exact{rank}d": _resize(rank, "nearest", exact=True) for rank in (1, 2, 3)},
    "aten.upsample_linear1d": _resize(1, "linear"),
    "aten.upsample_bilinear2d": _resize(2, "linear"),
    "aten.upsample_trilinear3d": _resize(3, "linear"),
    "aten.upsample_bicubic2d": _resize(2, "cubic"),
    "aten._upsample_bilinear2d_aa": _resize(2, "linear", antialias=True),
    "aten._upsample_bicubic2d_aa": _resize(2, "cubic", antialias=True),
    "aten._upsample_lanczos2d_aa": _resize(2, "lanczos", antialias=True),
    "aten.grid_sampler": _SAMPLE,
    "aten.grid_sampler_2d": _SAMPLE,
    "aten.grid_sampler_3d": _SAMPLE,
    "aten._grid_sampler_2d_cpu_fallback": _SAMPLE,
    "aten.cudnn_grid_sampler": As("grid_sample", "x=self grid=grid"),
    "aten.affine_grid_generator": As("affine_grid", "theta=theta", _grid_size),
    "aten.cudnn_affine_grid_generator": As("affine_grid", "theta=theta", _grid_size),
}

_REDUCTIONS: Final = ("none", "mean", "sum")


def _reduction(call: AtenCall) -> dict[str, Attribute]:
    number = call.integer("reduction", 1)
    if not 0 <= number < len(_REDUCTIONS):
        raise GraphError(f"{call.op} has no reduction {number}", where=call.name)
    return {"reduction": _REDUCTIONS[number]}


def _cross_entropy(call: AtenCall) -> dict[str, Attribute]:
    return {**_reduction(call), "label_smoothing": call.number("label_smoothing")}


def _kl_divergence(call: AtenCall) -> dict[str, Attribute]:
    return {**_reduction(call), "log_targets": bool(call.integer("log_target"))}


def _number(name: str) -> Callable[[AtenCall], dict[str, Attribute]]:
    return lambda call: {**_reduction(call), name: call.number(name, 1.0)}


def _margin(call: AtenCall) -> dict[str, Attribute]:
    return {**_reduction(call), "p": call.number("p", 1)}


_PAIR: Final = "x=self targets=target"
_LABEL_MARGIN: Final = As("multilabel_margin_loss", _PAIR, _reduction, "loss is_target")
_LIKELIHOOD: Final = As("negative_log_likelihood_loss", f"{_PAIR} weight=weight", _reduction, "loss total_weight")
_ALIGNED: Final = As(
    "ctc_loss",
    "x=log_probs targets=targets input_lengths=input_lengths target_lengths=target_lengths",
    _reduction,
)
_ALIGNED_EACH: Final = As(_ALIGNED.operator, _ALIGNED.operands, lambda call: {"reduction": "none"}, "loss")

_LOSSES: Final[dict[str, Rule]] = {
    "aten.cross_entropy_loss": As("softmax_cross_entropy_loss", f"{_PAIR} weight=weight", _cross_entropy, "loss"),
    "aten.nll_loss": _LIKELIHOOD,
    "aten.nll_loss_nd": _LIKELIHOOD,
    "aten.nll_loss2d": _LIKELIHOOD,
    "aten.nll_loss_forward": _LIKELIHOOD,
    "aten.nll_loss2d_forward": _LIKELIHOOD,
    "aten.mse_loss": As("mean_squared_error_loss", _PAIR, _reduction),
    "aten.l1_loss": As("l1_loss", _PAIR, _reduction),
    "aten.smooth_l1_loss": As("smooth_l1_loss", _PAIR, _number("beta")),
    "aten.huber_loss": As("huber_loss", _PAIR, _number("delta")),
    "aten.binary_cross_entropy": As("binary_cross_entropy_loss", f"{_PAIR} weight=weight", _reduction),
    "aten.binary_cross_entropy_with_logits": As(
        "binary_cross_entropy_with_logits_loss", f"{_PAIR} weight=weight positive_weight=pos_weight", _reduction
    ),
    "aten.kl_div": As("kl_divergence_loss", _PAIR, _kl_divergence),
    "aten.soft_margin_loss": As("soft_margin_loss", _PAIR, _reduction),
    "aten.multi_margin_loss": As("multi_margin_loss", f"{_PAIR} weight=weight", _margin),
    "aten.multilabel_margin_loss": _LABEL_MARGIN,
    "aten.multilabel_margin_loss_forward": _LABEL_MARGIN,
    "aten.ctc_loss": _ALIGNED,
    "aten._ctc_loss": _ALIGNED_EACH,
}

RULES_LAYERS: Final[Mapping[str, Rule]] = {**_NORMALISATIONS, **_POOLING, **_SAMPLING, **_LOSSES}

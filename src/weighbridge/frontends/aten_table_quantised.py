"""PyTorch's quantised operators as ours.

Tensors of quantised types carry their scales and zero points with them, so that these are no operands.  The packed weight
of a layer arrives as ``weight`` and ``bias``, and the window of a packed convolution under its usual names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.frontends.aten_call import As, AtenCall, Rule, bind
from weighbridge.frontends.aten_table_layers import max_window, spatial
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute

__all__ = ["RULES_QUANTISED"]

_IN_TENSORS: Final = "in_tensors"
_DYNAMIC: Final = "dynamic"
_WEIGHT_ONLY: Final = "weight_only"


def _chain(first: As, *links: As) -> Rule:
    """Operators in a row that are one in PyTorch: each takes the result before it as its first operand, ``x`` or ``a``."""

    def rule(call: AtenCall) -> Sequence[Step]:
        steps: list[Step] = []
        for place, link in enumerate((first, *links)):
            operands = list(bind(call, link.operands))
            if place:
                operands.insert(0, ("a" if link.operator == "add" else "x", call.inner(f"{place}")))
            attributes = link.attributes(call) if link.attributes is not None else {}
            is_last = place == len(links)
            steps.append(
                Step(link.operator, operands, attributes, call.outputs if is_last else (call.inner(f"{place + 1}"),))
            )
        return steps

    return rule


_RELU: Final = As("relu", "")


def _slope(call: AtenCall) -> dict[str, Attribute]:
    return {"alpha": call.number("negative_slope", 0.01)}


def _linear(quantisation: str) -> As:
    """The result is of the type that PyTorch made: float where the layer is dynamic."""
    return As(
        "linear",
        "x=X w=weight b=bias",
        lambda call: {"quantisation": quantisation, "output_dtype": call.made[0].dtype.name},
    )


def _convolution(rank: int, quantisation: str, *, transposed: bool = False) -> tuple[As, ...]:
    """A convolution over one axis is packed as one over two, the first of size 1."""
    packed = max(rank, 2)

    def attributes(call: AtenCall) -> dict[str, Attribute]:
        given: dict[str, Attribute] = {
            "stride": spatial(call, "stride", packed, (1,)),
            "padding": spatial(call, "padding", packed, (0,)),
            "dilation": spatial(call, "dilation", packed, (1,)),
            "groups": call.integer("groups", 1),
            "quantisation": quantisation,
            "output_dtype": call.made[0].dtype.name,
        }
        if transposed:
            given["output_padding"] = spatial(call, "output_padding", packed, (0,))
        return given

    operator = "conv_transpose" if transposed else "conv"
    if rank > 1:
        return (As(operator, "x=qx w=weight b=bias", attributes),)
    return As("unsqueeze", "x=qx", lambda call: {"axes": (2,)}), As(operator, "w=weight b=bias", attributes)


def _rows(rank: int) -> tuple[As, ...]:
    """What a convolution over one axis ends with."""
    return () if rank > 1 else (As("squeeze", "", lambda call: {"axes": (2,)}),)


def _layers() -> dict[str, Rule]:
    """Linear layers and convolutions in all their forms."""
    rules: dict[str, Rule] = {}
    for suffix, quantisation in (("", _IN_TENSORS), ("_dynamic", _DYNAMIC), ("_dynamic_fp16", "by_operands")):
        rules[f"quantized.linear{suffix}"] = _linear(quantisation)
        rules[f"quantized.linear_relu{suffix}"] = _chain(_linear(quantisation), _RELU)
    for rank in (1, 2, 3):
        for suffix, quantisation in (("", _IN_TENSORS), ("_dynamic", _DYNAMIC)):
            plain, transposed = _convolution(rank, quantisation), _convolution(rank, quantisation, transposed=True)
            rules[f"quantized.conv{rank}d{suffix}"] = _chain(*plain, *_rows(rank))
            rules[f"quantized.conv_transpose{rank}d{suffix}"] = _chain(*transposed, *_rows(rank))
        rules[f"quantized.conv{rank}d_relu"] = _chain(*_convolution(rank, _IN_TENSORS), _RELU, *_rows(rank))
    return rules


_ADD: Final = As("add", "b=qaccum")

_LAYERS: Final[dict[str, Rule]] = {
    **_layers(),
    "quantized.linear_dynamic_fp16_unpacked_weight": _linear("by_operands"),
    "quantized.linear_leaky_relu": _chain(_linear(_IN_TENSORS), As("leaky_relu", "", _slope)),
    "quantized.linear_tanh": _chain(_linear(_IN_TENSORS), As("tanh", "")),
    "quantized.linear_with_input_q_dq_qweight_dq_output_fp32": _linear(_DYNAMIC),
    "quantized.linear_with_input_q_dq_qweight_dq_relu_output_fp32": _chain(_linear(_DYNAMIC), _RELU),
    "quantized.conv2d_add": _chain(*_convolution(2, _IN_TENSORS), _ADD),
    "quantized.conv2d_add_relu": _chain(*_convolution(2, _IN_TENSORS), _ADD, _RELU),
    "quantized.matmul": As("matmul", "x=qa w=qb", lambda call: {"quantisation": _IN_TENSORS}),
    "aten._weight_int8pack_mm": As(
        "linear", "x=self w=mat2 w_scale=scales", lambda call: {"quantisation": _WEIGHT_ONLY}
    ),
}


def _normalised(call: AtenCall) -> dict[str, Attribute]:
    return {"epsilon": call.number("eps", 1e-5)}


_BATCH_NORM: Final = As("batch_norm", "x=qx scale=weight bias=bias mean=mean variance=var", _normalised)
_ATEN_BATCH_NORM: Final = As("batch_norm", "x=input scale=weight bias=bias mean=mean variance=var", _normalised)
_AFFINE: Final = "x=input scale=weight bias=bias"


def _binary(operator: str) -> dict[str, Rule]:
    """An operator of two quantised tensors, or of one and a number, with and without a ReLU."""
    two, scalar = As(operator, "a=qa b=qb"), As(operator, "a=qa b=b")
    return {
        f"quantized.{operator}": two,
        f"quantized.{operator}_relu": _chain(two, _RELU),
        f"quantized.{operator}_scalar": scalar,
        f"quantized.{operator}_scalar_relu": _chain(scalar, _RELU),
    }


def _axis(call: AtenCall) -> dict[str, Attribute]:
    return {"axis": call.integer("dim", -1)}


_CONCAT: Final = As("concat", "*xs=qx", _axis)


def _alpha(call: AtenCall) -> dict[str, Attribute]:
    return {"alpha": call.number("alpha", 1.0)}


_OTHERS: Final[dict[str, Rule]] = {
    **_binary("add"),
    **_binary("mul"),
    "quantized.cat": _CONCAT,
    "quantized.cat_relu": _chain(_CONCAT, _RELU),
    **{f"quantized.batch_norm{rank}": _BATCH_NORM for rank in ("", "1d", "2d", "3d")},
    **{f"quantized.batch_norm{rank}_relu": _chain(_BATCH_NORM, _RELU) for rank in ("", "1d", "2d", "3d")},
    "aten.quantized_batch_norm": _ATEN_BATCH_NORM,
    "quantized.layer_norm": As(
        "layer_norm", _AFFINE, lambda call: {"axis": -len(call.integers("normalized_shape")), **_normalised(call)}
    ),
    "quantized.group_norm": As(
        "group_norm", _AFFINE, lambda call: {"groups": call.integer("num_groups", 1), **_normalised(call)}
    ),
    "quantized.instance_norm": As("instance_norm", _AFFINE, _normalised),
    "quantized.softmax": As("softmax", "x=qx", _axis),
    "quantized.max_pool1d": As("max_pool", "x=qx", max_window(1), "y"),
    "quantized.max_pool2d": As("max_pool", "x=qx", max_window(2), "y"),
    "quantized.hardswish": As("hard_swish", "x=input"),
    "quantized.sigmoid": As("sigmoid", "x=qx"),
    "quantized.leaky_relu": As("leaky_relu", "x=qx", _slope),
    "quantized.elu": As("elu", "x=self", _alpha),
    "quantized.celu": As("celu", "x=self", _alpha),
    "quantized.relu6": As("clip", "x=qx", lambda call: {"low": 0.0, "high": 6.0}),
    "quantized.prelu": As("prelu", "x=qx slope=weight"),
    "quantized.dropout": As("dropout", "x=self"),
}


def _dtype(call: AtenCall) -> dict[str, Attribute]:
    return {"dtype": call.made[0].dtype.name}


def _along(call: AtenCall) -> dict[str, Attribute]:
    return {**_dtype(call), "axis": call.integer("axis", 1)}


def _fake_along(call: AtenCall) -> dict[str, Attribute]:
    return {"axis": call.integer("axis", 1)}


def _observed(call: AtenCall) -> dict[str, Attribute]:
    """The axis of the scales is -1 where there is one for the whole tensor."""
    return {"axis": max(call.integer("ch_axis", -1), 0), "observes": True}


def _in_blocks(call: AtenCall) -> dict[str, Attribute]:
    return {**_dtype(call), "axis": -1, "block_size": call.integer("group_size", 1)}


def _dynamic(call: AtenCall) -> Sequence[Step]:
    """Scale and zero point are the result's own."""
    return (Step("dynamic_quantize", list(bind(call, "x=self")), _dtype(call), (call.outputs[0], "", "")),)


_WITH_TENSORS: Final = "x=self scale=scale zero_point=zero_point"
_BY_CHANNEL: Final = "x=self scale=scales zero_point=zero_points"
_DECOMPOSED: Final = "x=input scale=scale zero_point=zero_point"
_DECOMPOSED_BY_CHANNEL: Final = "x=input scale=scales zero_point=zero_points"

_CONVERSIONS: Final[dict[str, Rule]] = {
    "aten.quantize_per_tensor": As("quantize", _WITH_TENSORS, _dtype),
    "aten.quantize_per_channel": As("quantize", _BY_CHANNEL, _along),
    "aten.quantize_per_tensor_dynamic": _dynamic,
    "aten.dequantize": As("dequantize", "x=self", _dtype),
    "aten.int_repr": As("cast", "x=self", _dtype),
    "aten._make_per_tensor_quantized_tensor": As("cast", "x=self", _dtype),
    "aten._make_per_channel_quantized_tensor": As("cast", "x=self", _dtype),
    "quantized_decomposed.quantize_per_tensor": As("quantize", _DECOMPOSED, _dtype),
    "quantized_decomposed.quantize_per_channel": As("quantize", _DECOMPOSED_BY_CHANNEL, _along),
    "quantized_decomposed.quantize_per_channel_group": As("quantize", _DECOMPOSED_BY_CHANNEL, _in_blocks),
    "quantized_decomposed.dequantize_per_tensor": As("dequantize", _DECOMPOSED, _dtype),
    "quantized_decomposed.dequantize_per_channel": As("dequantize", _DECOMPOSED_BY_CHANNEL, _along),
    "quantized_decomposed.dequantize_per_channel_group": As("dequantize", _DECOMPOSED_BY_CHANNEL, _in_blocks),
    "quantized_decomposed.convert_element_type": As("cast", "x=input", _dtype),
    "aten.fake_quantize_per_tensor_affine": As("fake_quantize", _WITH_TENSORS, None, "y"),
    "aten.fake_quantize_per_tensor_affine_cachemask": As("fake_quantize", _WITH_TENSORS, None, "y mask"),
    "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams": As(
        "fake_quantize", _WITH_TENSORS, None, "y mask"
    ),
    "aten.fused_moving_avg_obs_fake_quant": As("fake_quantize", _WITH_TENSORS, _observed, "y"),
    "aten._fused_moving_avg_obs_fq_helper": As("fake_quantize", _WITH_TENSORS, _observed, "y mask"),
    "aten.fake_quantize_per_channel_affine": As("fake_quantize", _WITH_TENSORS, _fake_along, "y"),
    "aten.fake_quantize_per_channel_affine_cachemask": As("fake_quantize", _WITH_TENSORS, _fake_along, "y mask"),
    "aten._fake_quantize_learnable_per_tensor_affine": As("fake_quantize", _WITH_TENSORS, None, "y"),
    "aten._fake_quantize_learnable_per_channel_affine": As("fake_quantize", _WITH_TENSORS, _fake_along, "y"),
}

RULES_QUANTISED: Final[Mapping[str, Rule]] = {**_LAYERS, **_OTHERS, **_CONVERSIONS}

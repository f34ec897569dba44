"""ONNX layers as ours: contractions, recurrent layers, attention, normalisation, pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import UNKNOWN, Attribute

__all__ = [
    "INT32",
    "LAYER_RULES",
    "average_pool",
    "convolution",
    "epsilon",
    "gemm",
    "pool",
    "product",
    "quantize",
    "recurrent",
    "window",
]

_AUTO_PAD: Final = {"SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower", "VALID": "valid"}
_QUANTISED: Final = "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point"
INT32: Final[dict[str, Attribute]] = {"output_dtype": "int32"}
"""The attribute of a product of quantised operands that stays an integer sum."""


def window(call: Foreign) -> dict[str, Attribute]:
    """Stride, padding and dilation as convolutions and pools have them."""
    automatic = _AUTO_PAD.get(call.get("auto_pad", "NOTSET"))
    return {
        "stride": call.get("strides") or 1,
        "padding": automatic or call.get("pads") or 0,
        "dilation": call.get("dilations") or 1,
    }


def convolution(call: Foreign) -> dict[str, Attribute]:
    """A convolution's window and groups.  Raises ``BadModel`` where ``kernel_shape`` and the weight disagree."""
    weight, kernel = call.type(3 if call.op == "QLinearConv" else 1), call.get("kernel_shape")
    if kernel and weight is not None and tuple(kernel) != weight.shape[2:]:
        raise BadModel(f"kernel_shape is {tuple(kernel)}, its weight has the shape {weight.shape}", where=call.name)
    return {**window(call), "groups": call.get("group", 1)}


def _convolution_to_int32(call: Foreign) -> dict[str, Attribute]:
    return {**convolution(call), **INT32}


def _transposed_convolution(call: Foreign) -> dict[str, Attribute]:
    """``output_shape`` has the spatial sizes; older files put batch and channels before them."""
    attributes = {**convolution(call), "output_padding": call.get("output_padding") or 0}
    weight, output = call.type(1), call.get("output_shape")
    if output and weight is not None:
        attributes["output_size"] = output[-(len(weight.shape) - 2) :]
    return attributes


def _deformable(call: Foreign) -> dict[str, Attribute]:
    return {**convolution(call), "offset_groups": call.get("offset_group", 1)}


def gemm(call: Foreign) -> dict[str, Attribute]:
    """A general matrix product's factors, and which of its operands are transposed."""
    return {
        "weight_layout": "oi" if call.get("transB", 0) else "io",
        "transpose_x": bool(call.get("transA", 0)),
        "alpha": call.get("alpha", 1.0),
        "beta": call.get("beta", 1.0),
    }


def product(operands: str, weight: int, attributes: Mapping[str, Attribute]) -> Rule:
    """A matrix product: a linear layer where the right operand is a stored matrix, whatever it passed through."""

    def rule(call: Foreign) -> Sequence[Step]:
        pairs = bind(call, operands)
        if call.rank(weight) == 2 and call.services.is_static(call.operand(weight)) and call.rank(0) != 0:
            return (Step("linear", pairs, {"weight_layout": "io", **attributes}, call.outputs),)
        return (Step("matmul", pairs, attributes, call.outputs),)

    return rule


def recurrent(call: Foreign) -> dict[str, Attribute]:
    """The order of axes and the functions of a recurrent layer."""
    names = tuple(_ACTIVATIONS.get(name.lower(), name.lower()) for name in call.get("activations") or ())
    return {"batch_first": bool(call.get("layout", 0)), "activations": names, "clip": call.get("clip") or 0.0}


_ACTIVATIONS: Final = {
    "hardsigmoid": "hard_sigmoid",
    "leakyrelu": "leaky_relu",
    "thresholdedrelu": "thresholded_relu",
    "scaledtanh": "scaled_tanh",
}
_SEQUENCE: Final = "x w r b sequence_lengths initial_h"


def _attention(call: Foreign) -> dict[str, Attribute]:
    return {
        "heads": call.get("q_num_heads", 0),
        "kv_heads": call.get("kv_num_heads", 0),
        "causal": bool(call.get("is_causal", 0)),
        "softcap": call.get("softcap", 0.0),
    }


def _rotary(call: Foreign) -> dict[str, Attribute]:
    return {
        "heads": call.get("num_heads", 0),
        "size": call.get("rotary_embedding_dim", 0),
        "interleaved": bool(call.get("interleaved", 0)),
    }


def pool(call: Foreign) -> dict[str, Attribute]:
    """A pool's window."""
    return {**window(call), "kernel": call.get("kernel_shape") or (), "ceil_mode": bool(call.get("ceil_mode", 0))}


def average_pool(call: Foreign) -> dict[str, Attribute]:
    """An average pool's window, and whether padding counts."""
    return {**pool(call), "count_include_pad": bool(call.get("count_include_pad", 0))}


def _power_pool(call: Foreign) -> dict[str, Attribute]:
    return {**pool(call), "p": call.get("p", 2)}


def _unpool(call: Foreign) -> dict[str, Attribute]:
    placed, kernel, output = window(call), call.get("kernel_shape") or (), call.values(2)
    attributes = {"kernel": kernel, "stride": placed["stride"], "padding": placed["padding"]}
    if not call.has(2):
        return attributes
    return {**attributes, "output_size": UNKNOWN if output is None else tuple(output[-len(kernel) :])}


def epsilon(call: Foreign) -> dict[str, Attribute]:
    """What is added to a variance."""
    return {"epsilon": call.get("epsilon", 1e-5)}


def _batch_norm(call: Foreign) -> Sequence[Step]:
    """Inference has one result.  Before opset 14 a file in training mode lists up to four more, the last two unspecified."""
    attributes: dict[str, Attribute] = epsilon(call)
    names = ("y", "mean", "variance")
    asked = [index for index in range(3) if call.has_output(index)] or [0]
    attributes["outputs"] = tuple(names[index] for index in asked)
    attributes["training"] = bool(call.get("training_mode", 0)) if call.version >= 14 else len(asked) > 1
    outputs = [call.outputs[index] for index in asked]
    return (Step("batch_norm", bind(call, "x scale bias mean variance"), attributes, outputs),)


def _layer_norm(call: Foreign) -> dict[str, Attribute]:
    stash = dtype_of(call.get("stash_type", 1)).name
    return {"axis": call.get("axis", -1), **epsilon(call), "statistics_dtype": stash}


def _rms_norm(call: Foreign) -> dict[str, Attribute]:
    return {"axis": call.get("axis", -1), **epsilon(call)}


def _group_norm(call: Foreign) -> dict[str, Attribute]:
    return {"groups": call.get("num_groups", 0), **epsilon(call)}


def _mean_variance(call: Foreign) -> dict[str, Attribute]:
    return {"axes": call.get("axes", (0, 2, 3))}


def _local_response(call: Foreign) -> dict[str, Attribute]:
    defaults = {"size": 0, "alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    return {name: call.get(name, default) for name, default in defaults.items()}


def _lp_norm(call: Foreign) -> dict[str, Attribute]:
    return {"axis": call.get("axis", -1), "p": call.get("p", 2)}


def _softmax(call: Foreign) -> dict[str, Attribute]:
    """Before opset 13 everything from the axis on is one row."""
    return {"axis": call.get("axis", -1)} if call.version >= 13 else {"axis": call.get("axis", 1), "flatten": True}


def quantize(call: Foreign) -> dict[str, Attribute]:
    """The axis and blocks of scales, and the type of the result."""
    number = call.get("output_dtype", 0)
    attributes: dict[str, Attribute] = {"axis": call.get("axis", 1), "block_size": call.get("block_size", 0)}
    return {**attributes, "dtype": dtype_of(number).name} if number else attributes


def _power(call: Foreign) -> dict[str, Attribute]:
    return {"p": call.get("p", 2)}


LAYER_RULES: Final[dict[str, Rule]] = {
    "Conv": As("conv", "x w b", convolution),
    "ConvInteger": As("conv", "x w x_zero_point w_zero_point", _convolution_to_int32),
    "QLinearConv": As("conv", f"{_QUANTISED} b", convolution),
    "ConvTranspose": As("conv_transpose", "x w b", _transposed_convolution),
    "DeformConv": As("deformable_conv", "x w offset b mask", _deformable),
    "Gemm": As("linear", "x w b", gemm),
    "MatMul": product("x w", 1, {}),
    "MatMulInteger": product("x w x_zero_point w_zero_point", 1, INT32),
    "QLinearMatMul": product(_QUANTISED, 3, {}),
    "LSTM": As("lstm", f"{_SEQUENCE} initial_c p", recurrent, "y y_h y_c"),
    "GRU": As("gru", _SEQUENCE, recurrent, "y y_h"),
    "RNN": As("rnn", _SEQUENCE, recurrent, "y y_h"),
    "Attention": As(
        "attention", "q k v mask past_key past_value kv_lengths", _attention, "y present_key present_value scores"
    ),
    "RotaryEmbedding": As("rotary_embedding", "x cos sin positions", _rotary),
    "Einsum": As("einsum", "*xs", lambda call: {"equation": call.get("equation", "").replace(" ", "")}),
    "MaxPool": As("max_pool", "x", pool, "y indices"),
    "AveragePool": As("average_pool", "x", average_pool),
    "LpPool": As("lp_pool", "x", _power_pool),
    "GlobalMaxPool": As("global_max_pool", "x"),
    "GlobalAveragePool": As("global_average_pool", "x"),
    "GlobalLpPool": As("global_lp_pool", "x", _power),
    "MaxUnpool": As("max_unpool", "x indices -", _unpool),
    "BatchNormalization": _batch_norm,
    "LayerNormalization": As("layer_norm", "x scale bias", _layer_norm, "y mean inverse_deviation"),
    # What ONNX Runtime writes in the place of the next one, in ONNX's own domain, too.
    "SimplifiedLayerNormalization": As("rms_norm", "x scale", _rms_norm, "y inverse_root"),
    "RMSNormalization": As("rms_norm", "x scale", _rms_norm),
    "GroupNormalization": As("group_norm", "x scale bias", _group_norm),
    "InstanceNormalization": As("instance_norm", "x scale bias", epsilon),
    "MeanVarianceNormalization": As("mean_variance_norm", "x", _mean_variance),
    "LRN": As("local_response_norm", "x", _local_response),
    "LpNormalization": As("lp_norm", "x", _lp_norm),
    "Softmax": As("softmax", "x", _softmax),
    "LogSoftmax": As("log_softmax", "x", _softmax),
    "Hardmax": As("hardmax", "x", _softmax),
    "QuantizeLinear": As("quantize", "x scale zero_point", quantize),
    "DequantizeLinear": As("dequantize", "x scale zero_point", quantize),
    "DynamicQuantizeLinear": As("dynamic_quantize", "x"),
}

"""Rules of TensorFlow Lite's layers: convolutions, linear layers, pools, normalisation, recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.graph import Attribute

__all__ = ["LAYER_RULES"]

_PADDINGS: Final[Mapping[int, Attribute]] = {0: "same_upper", 1: 0}


def quantisation_of(call: Foreign, weight: int = 1) -> str:
    """Where a contraction has its scales: in its tensors, or made as it runs where whole numbers meet fractions (hybrid)."""
    x, w = call.type(0), call.type(weight)
    if x is None or w is None or w.dtype.kind not in ("int", "uint"):
        return "by_operands"
    return "dynamic" if x.dtype.kind == "float" else "in_tensors"


def result_type(call: Foreign) -> str:
    """The element type that the file states of the first result."""
    return call.stated[0].dtype.name


def _padding(call: Foreign) -> Attribute:
    number = call.get("padding", 0)
    if number not in _PADDINGS:
        raise BadModel(f"the padding {number} is not known", where=call.name)
    return _PADDINGS[number]


def _window(call: Foreign, *axes: str) -> dict[str, Attribute]:
    return {
        "stride": tuple(call.get(f"stride_{axis}", 1) for axis in axes),
        "padding": _padding(call),
        "layout": "channels_last",
    }


def _convolution(call: Foreign) -> Mapping[str, Attribute]:
    """Groups follow from the channels: the filter has those of one group."""
    x, w = call.type(0), call.type(1)
    groups = x.shape[-1] // w.shape[-1] if x and w and x.shape and w.shape and w.shape[-1] else 1
    return {
        **_window(call, "h", "w"),
        "dilation": (call.get("dilation_h_factor", 1), call.get("dilation_w_factor", 1)),
        "groups": groups or 1,
        "weight_layout": "o_spatial_i",
        "quantisation": quantisation_of(call),
        "output_dtype": result_type(call),
    }


def _depthwise(call: Foreign) -> Mapping[str, Attribute]:
    x = call.type(0)
    return {
        **_convolution(call),
        "groups": x.shape[-1] if x is not None and x.shape else 1,
        "weight_layout": "1_spatial_o",
    }


def _linear(call: Foreign) -> Sequence[Step]:
    attributes: dict[str, Attribute] = {
        "weight_layout": "oi",
        "quantisation": quantisation_of(call),
        "output_dtype": result_type(call),
    }
    return (Step("linear", bind(call, "x w b"), attributes, call.outputs),)


def _pool(call: Foreign) -> Mapping[str, Attribute]:
    return {**_window(call, "h", "w"), "kernel": (call.get("filter_height", 1), call.get("filter_width", 1))}


LAYER_RULES: Final[Mapping[str, Rule]] = {
    "CONV_2D": As("conv", "x w b", _convolution),
    "DEPTHWISE_CONV_2D": As("conv", "x w b", _depthwise),
    "FULLY_CONNECTED": _linear,
    "AVERAGE_POOL_2D": As("average_pool", "x", _pool),
    "MAX_POOL_2D": As("max_pool", "x", _pool),
    "SOFTMAX": As("softmax", "x"),
}

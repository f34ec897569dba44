"""Rules of TensorFlow Lite's layers: contractions, pools, normalisation, lookups, images of other sizes, recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.tflite_table_contractions import CONTRACTION_RULES, finite, window
from weighbridge.frontends.tflite_table_lookups import LOOKUP_RULES
from weighbridge.frontends.tflite_table_recurrent import RECURRENT_RULES
from weighbridge.graph import UNKNOWN, Attribute

__all__ = ["LAYER_RULES"]


def _pool(call: Foreign) -> Mapping[str, Attribute]:
    return {**window(call, "h", "w"), "kernel": (call.get("filter_height", 1), call.get("filter_width", 1))}


def _root_mean_square(call: Foreign) -> Mapping[str, Attribute]:
    """An L2 pool divides the squares by their number before it takes the root (tensorflow/lite/kernels/pooling.cc)."""
    return {**_pool(call), "p": 2, "mean": True}


def _softmax(call: Foreign) -> Mapping[str, Attribute]:
    return {"beta": finite(call, "beta")}


def _local_response(call: Foreign) -> Mapping[str, Attribute]:
    """A window reaches ``radius`` channels to both sides."""
    given = {name: finite(call, name) for name in ("alpha", "beta", "bias")}
    return {"size": 2 * call.get("radius", 0) + 1, "layout": "channels_last", **given}


def _resize(mode: str) -> Rule:
    """The sizes of the image are the second operand."""

    def rule(call: Foreign) -> Sequence[Step]:
        sizes, stated = call.sizes(1), len(call.stated[0].shape) if call.stated else 4
        if call.rank(0) not in (4, None) or (sizes is None and stated != 4):
            raise GraphError("an image has 4 dimensions")
        attributes: dict[str, Attribute] = {
            "sizes": UNKNOWN if sizes is None else sizes,
            "axes": (1, 2),
            "mode": mode,
            **_coordinates(call, mode),
        }
        return (Step("resize", bind(call, "x sizes"), attributes, call.outputs),)

    return rule


def _coordinates(call: Foreign, mode: str) -> dict[str, Attribute]:
    """Of nearest neighbours corners that are aligned are rounded, all others rounded down (tensorflow/lite/kernels/internal/reference)."""
    if call.get("align_corners", 0):
        return {"coordinates": "align_corners", "rounding": "round_prefer_ceil"}
    centred = "half_pixel" if mode != "nearest" else "tf_half_pixel_for_nn"
    return {"coordinates": centred if call.get("half_pixel_centers", 0) else "asymmetric", "rounding": "floor"}


def _block(call: Foreign) -> Mapping[str, Attribute]:
    return {"block_size": call.get("block_size", 0), "layout": "channels_last"}


LAYER_RULES: Final[Mapping[str, Rule]] = {
    **CONTRACTION_RULES,
    **LOOKUP_RULES,
    **RECURRENT_RULES,
    "AVERAGE_POOL_2D": As("average_pool", "x", _pool),
    "MAX_POOL_2D": As("max_pool", "x", _pool),
    "L2_POOL_2D": As("lp_pool", "x", _root_mean_square),
    "SOFTMAX": As("softmax", "x", _softmax),
    "LOG_SOFTMAX": As("log_softmax", "x"),
    "L2_NORMALIZATION": As("lp_norm", "x", lambda call: {"axis": -1, "p": 2}),
    "LOCAL_RESPONSE_NORMALIZATION": As("local_response_norm", "x", _local_response),
    "RESIZE_BILINEAR": _resize("linear"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("nearest"),
    "DEPTH_TO_SPACE": As("depth_to_space", "x", _block),
    "SPACE_TO_DEPTH": As("space_to_depth", "x", _block),
}

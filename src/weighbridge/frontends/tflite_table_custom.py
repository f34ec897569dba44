"""TensorFlow Lite's custom operators as ours, where what they compute is certain.

What a name does not say stays unknown, named and with the reason: programs for a vendor's accelerator, operators of TensorFlow
itself (``Flex…``) that have no rule, and whatever a program registers under a name of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind, set_aside
from weighbridge.frontends.tflite_table_contractions import padding_of
from weighbridge.frontends.tflite_table_signals import SIGNAL_RULES, option
from weighbridge.graph import UNKNOWN, Attribute
from weighbridge.named_tuple import NamedTuple

__all__ = ["custom_rule"]


class _Window(NamedTuple):
    """The structure that MediaPipe's operators carry as it lies in memory: padding (1 SAME, 2 VALID), then width before height."""

    padding: Attribute
    stride: tuple[int, int]
    kernel: tuple[int, int]


def _window(call: Foreign, *, has_kernel: bool) -> _Window:
    """Raises ``GraphError`` where the options are too short."""
    given, count = call.get("custom_options", b""), 5 if has_kernel else 3
    if len(given) < 4 * count:
        raise GraphError(f"{call.op} has {len(given)} bytes of options, not {4 * count}")
    padding, stride_w, stride_h, *kernel = struct.unpack_from(f"<{count}i", given)
    if padding not in (1, 2):
        raise GraphError(f"the padding {padding} is not known")
    taps = (kernel[1], kernel[0]) if has_kernel else (1, 1)
    return _Window(padding_of(call, padding - 1), (stride_h, stride_w), taps)


def _transposed(call: Foreign) -> Mapping[str, Attribute]:
    """A transposed convolution whose result follows from its padding (mediapipe/util/tflite/operations/transpose_conv_bias.cc)."""
    found, x, w = _window(call, has_kernel=False), call.type(0), call.type(1)
    attributes: dict[str, Attribute] = {
        "stride": found.stride,
        "padding": found.padding,
        "layout": "channels_last",
        "weight_layout": "o_spatial_i",
    }
    if x is None or w is None or len(x.shape) != 4 or len(w.shape) != 4 or min(found.stride) < 1 or not found.padding:
        return attributes
    cut = [max(0, k - (size - 1) % s - 1) for size, k, s in zip(x.shape[1:3], w.shape[1:3], found.stride, strict=True)]
    sizes = zip(x.shape[1:3], w.shape[1:3], found.stride, cut, strict=True)
    return {**attributes, "output_size": tuple((size - 1) * s + k - less for size, k, s, less in sizes)}


def _max_pool(call: Foreign) -> Sequence[Step]:
    """A max pool and where in its window each value came from, as a fraction (max_pool_argmax.cc)."""
    found = _window(call, has_kernel=True)
    attributes: dict[str, Attribute] = {
        "kernel": found.kernel,
        "stride": found.stride,
        "padding": found.padding,
        "layout": "channels_last",
        "outputs": ("y", "indices"),
    }
    places = call.inner("indices")
    dtype = call.stated[1].dtype.name if len(call.stated) > 1 else "float32"
    if not call.has_output(1):
        return (Step("max_pool", bind(call, "x"), {**attributes, "outputs": ("y",)}, call.outputs),)
    return (
        Step("max_pool", bind(call, "x"), attributes, [call.outputs[0], places]),
        Step("cast", [("x", places)], {"dtype": dtype}, call.outputs[1:2]),
    )


def _unpool(*, by_stride: bool) -> Rule:
    """The way back from it.  MediaPipe's result is as many times larger as the window is (max_unpooling.cc); LiteRT's as a stride,
    or all that the windows reach.
    """

    def rule(call: Foreign) -> Sequence[Step]:
        found, x = _window(call, has_kernel=True), call.type(0)
        if x is None or len(x.shape) != 4:
            raise GraphError("an image has 4 dimensions")
        sizes = x.shape[1:3]
        if not by_stride:
            output = tuple(size * k for size, k in zip(sizes, found.kernel, strict=True))
        elif found.padding:
            output = tuple(size * s for size, s in zip(sizes, found.stride, strict=True))
        else:
            both = zip(sizes, found.stride, found.kernel, strict=True)
            output = tuple((size - 1) * s + k for size, s, k in both)
        attributes: dict[str, Attribute] = {
            "kernel": found.kernel,
            "stride": found.stride,
            "output_size": output,
            "layout": "channels_last",
        }
        return (Step("max_unpool", bind(call, "x indices"), attributes, call.outputs),)

    return rule


def _detections(call: Foreign) -> Mapping[str, Attribute]:
    """tensorflow/lite/kernels/detection_postprocess.cc."""
    count = option(call, "max_detections") * option(call, "max_classes_per_detection")
    return {"count": count, "classes": option(call, "num_classes")}


_CUSTOM_RULES: Final[Mapping[str, Rule]] = {
    **SIGNAL_RULES,
    "TFLite_Detection_PostProcess": As("detections", "boxes scores anchors", _detections),
    "Convolution2DTransposeBias": As("conv_transpose", "x w b", _transposed),
    "MaxPoolingWithArgmax2D": _max_pool,
    "MaxUnpooling2D": _unpool(by_stride=False),
    "LiteRtMaxUnpooling2D": _unpool(by_stride=True),
}

_FLEX: Final = "Flex"
_UNARY: Final = (
    "Abs Neg Square Sign Floor Ceil Reciprocal Sqrt Rsqrt Exp Expm1 Log Log1p Erf Erfc Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh "
    "Acosh Atanh Tanh Sigmoid Relu Elu Selu Softplus Softsign"
)
_BINARY: Final = {
    "Add": "add",
    "AddV2": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "RealDiv": "div",
    "Pow": "pow",
    "Atan2": "atan2",
    "Equal": "equal",
    "NotEqual": "not_equal",
    "Greater": "greater",
    "GreaterEqual": "greater_or_equal",
    "Less": "less",
    "LessEqual": "less_or_equal",
    "LogicalAnd": "and",
    "LogicalOr": "or",
}


def _slice(call: Foreign) -> Mapping[str, Attribute]:
    """Which axes it adds or drops stands in TensorFlow's own form: the result is as large as the file says."""
    return {"starts": UNKNOWN, "ends": UNKNOWN}


def _running_sum(call: Foreign) -> Mapping[str, Attribute]:
    axis = call.sizes(1)
    return {"axis": UNKNOWN if axis is None or len(axis) != 1 else axis[0]}


_FLEX_RULES: Final[Mapping[str, Rule]] = {
    **{name: As(name.lower(), "x") for name in _UNARY.split()},
    **{theirs: As(ours, "a b") for theirs, ours in _BINARY.items()},
    "LogicalNot": As("not", "x"),
    "Maximum": As("max", "xs xs"),
    "Minimum": As("min", "xs xs"),
    "Identity": As("identity", "x"),
    "StridedSlice": As("slice", "x", _slice),
    "Cumsum": As("cumsum", "x", _running_sum),
}
"""Operators of TensorFlow that are one of ours whatever their attributes say, by their name without ``Flex``."""

_VENDORS: Final = (
    (
        "DISPATCH_OP",
        "it runs a program for an accelerator, compiled by its vendor's tools: what that computes the file does not say",
    ),
    ("edgetpu-custom-op", "it runs a program for Google's Edge TPU: what that computes the file does not say"),
    ("ethos-u", "it runs a program for Arm's Ethos-U: what that computes the file does not say"),
    ("MTKEXT_", "it is MediaTek's own, and not published"),
)


def custom_rule(name: str) -> Rule:
    """The rule of a custom operator by its name; one that says why there is none where nobody can tell what it computes."""
    if name in _CUSTOM_RULES:
        return _CUSTOM_RULES[name]
    if name.startswith(_FLEX):
        found = _FLEX_RULES.get(name.removeprefix(_FLEX))
        return found or _reason(f"{name} is an operator of TensorFlow without a rule here")
    for start, reason in _VENDORS:
        if name.startswith(start):
            return _reason(f"{name}: {reason}")
    return _reason(
        f"{name or 'a custom operator'} is not one of TensorFlow Lite's: what it computes is in the program that runs it"
    )


def _reason(reason: str) -> Rule:
    return lambda call: set_aside(call, reason)

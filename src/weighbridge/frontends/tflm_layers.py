"""What the kernels of TensorFlow Lite Micro that contract or recur demand (their files in tensorflow/lite/micro/kernels)."""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from typing import Final

from weighbridge.frontends.tflite_model import Quantisation, TfliteTensor
from weighbridge.frontends.tflm_call import Call, count_of, dimension_of
from weighbridge.frontends.tflm_rules import is_quantised, kinds, pairs, quantised

__all__ = ["convolution", "depthwise", "embedded", "fully_connected", "matmul", "prelu", "softmax", "transposed"]

_HYBRID: Final = "float32/float32 int8/int8 int8/int4 int16/int8"
_MATMUL: Final = "float32/float32/float32 int8/int8/int8 int16/int16/int16"


def convolution(call: Call) -> str:
    """conv_common.cc."""
    return _types(call) or _scales(call, call.input(1), 0)


def depthwise(call: Call) -> str:
    """depthwise_conv_common.cc."""
    if len(call.operator.inputs) > 2 and call.input(2) is None:
        return "its bias is left out by number instead of by count"
    return pairs("i0 i1", _HYBRID)(call) or _scales(call, call.input(1), 3)


def transposed(call: Call) -> str:
    """transpose_conv.cc: input 0 is the shape of the output, input 2 the data."""
    return pairs("i2 i1", "float32/float32 int8/int8 int16/int8")(call) or _scales(call, call.input(1), 0, data=2)


def _types(call: Call) -> str:
    data, output = call.input(0), call.output(0)
    if data is not None and output is not None and data.dtype != output.dtype:
        return f"{data.dtype.name} and {output.dtype.name} are mixed"
    return pairs("i0 i1", _HYBRID)(call)


def _scales(call: Call, filters: TfliteTensor | None, axis: int, *, data: int = 0) -> str:
    """Whole numbers need scales: one, or one for every output channel."""
    first = call.input(data)
    if first is None or filters is None or first.dtype.name == "float32":
        return ""
    for what, tensor in (("weights have", filters), ("input has", first)):
        if not is_quantised(tensor):
            return f"its {what} no scale and zero point"
    scales, channels = filters.quantisation.scales if filters.quantisation else 0, dimension_of(filters, axis)
    if scales not in (1, channels):
        return f"its weights have {scales} scales for {channels} channels"
    return kinds("o0", "int8 uint8 int16")(call)


def fully_connected(call: Call) -> str:
    """fully_connected.cc, fully_connected_common.cc."""
    data, weights = call.input(0), call.input(1)
    if data is None or weights is None:
        return ""
    allowed = {"float32": ("float32",), "int8": ("int8", "int4"), "int16": ("int8",)}.get(data.dtype.name)
    if allowed is not None and weights.dtype.name not in allowed:
        return f"{data.dtype.name} with weights of {weights.dtype.name} is not supported"
    if is_quantised(weights) and weights.quantisation and weights.quantisation.scales > 1:
        return _per_channel(weights, weights.quantisation)
    if data.dtype.name != "float32" and not all(
        map(is_quantised, (data, weights, call.output(0), call.input(2) or data))
    ):
        return "some of its operands have no scale and zero point"
    return ""


def _per_channel(weights: TfliteTensor, found: Quantisation) -> str:
    if weights.dtype.name == "int4":
        return "weights of int4 with a scale for every channel are not supported"
    channels = dimension_of(weights, found.axis)
    return "" if found.scales == channels else f"its weights have {found.scales} scales for {channels} channels"


def embedded(call: Call) -> str:
    """embedding_lookup.cc."""
    values, output = call.input(1), call.output(0)
    if values is None or output is None or len(output.shape or ()) < len(values.shape or ()):
        return "its output has fewer dimensions than its table"
    rows = dimension_of(call.input(0), 0) * prod((values.shape or ())[1:])
    return "" if rows <= count_of(output) else "its output is too small for the rows that are looked up"


def matmul(call: Call) -> str:
    """batch_matmul.cc."""
    reason = pairs("i0 i1 o0", _MATMUL)(call)
    left, right = call.input(0), call.input(1)
    if reason or left is None or right is None:
        return reason
    ranks = len(left.shape or ()), len(right.shape or ())
    if not all(2 <= rank <= 5 for rank in ranks):
        return f"operands of {ranks[0]} and {ranks[1]} dimensions are not supported, only of 2 to 5"
    return _products(call, left.shape or (), right.shape or ())


def _products(call: Call, left: tuple[int, ...], right: tuple[int, ...]) -> str:
    options, output = call.operator.options, call.output(0)
    rows, inner = (left[-1], left[-2]) if options.get("adj_x") else (left[-2], left[-1])
    other, columns = (right[-1], right[-2]) if options.get("adj_y") else (right[-2], right[-1])
    if inner != other:
        return f"{inner} values meet {other} in the contraction"
    batches = list(zip_longest(reversed(left[:-2]), reversed(right[:-2]), fillvalue=1))
    if any(1 not in pair and pair[0] != pair[1] for pair in batches):
        return "the shapes of its operands cannot be broadcast"
    rank = max(len(left), len(right))
    if output is None or len(output.shape or ()) < rank or count_of(output) != rows * columns * prod(map(max, batches)):
        return "its output has another size than its operands make"
    return ""


def prelu(call: Call) -> str:
    """prelu_common.cc."""
    output, slopes = call.output(0), call.input(1)
    if output is None or slopes is None or output.dtype.name != "int16":
        return ""
    return "" if slopes.dtype.name == "int8" else f"slopes of {slopes.dtype.name} are not supported"


def softmax(call: Call) -> str:
    """softmax_common.cc."""
    data, output = call.input(0), call.output(0)
    if data is None or output is None:
        return ""
    types = f"{data.dtype.name}/{output.dtype.name}"
    if types in ("int8/int8", "int8/int16", "int16/int16"):
        return quantised("o0", "i0", "int8 int16")(call)
    if data.dtype == output.dtype:
        return ""
    return f"{data.dtype.name} and {output.dtype.name} are mixed"

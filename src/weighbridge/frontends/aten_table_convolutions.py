"""PyTorch's convolutions as ours, under all the names that its back ends give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute

__all__ = ["RULES_CONVOLUTIONS"]

_PADDING: Final = {"same": "same_upper", "valid": "valid"}
"""PyTorch's words; it puts the odd element of an even kernel behind, as TensorFlow does."""


def _padding(call: AtenCall) -> Attribute:
    word = call.get("padding")
    if not isinstance(word, str):
        return call.integers("padding", (0,))
    if word not in _PADDING:
        raise GraphError(f"there is no padding {word!r}", where=call.name)
    return _PADDING[word]


def _window(call: AtenCall) -> dict[str, Attribute]:
    return {
        "stride": call.integers("stride", (1,)),
        "padding": _padding(call),
        "dilation": call.integers("dilation", (1,)),
        "groups": call.integer("groups", 1),
    }


def _transposed_window(call: AtenCall) -> dict[str, Attribute]:
    return {**_window(call), "output_padding": call.integers("output_padding", (0,))}


def _by_channel(call: AtenCall) -> dict[str, Attribute]:
    """Depthwise: a group for every input channel, which stands in front of the spatial axes."""
    return {**_window(call), "groups": call.type("self").shape[1 - call.rank("weight")]}


def _either_convolution(call: AtenCall) -> Sequence[Step]:
    """The one operator behind all convolutions: an argument says whether it is a transposed one."""
    pairs = [("x", call.operand("input")), ("w", call.operand("weight"))]
    if call.has("bias"):
        pairs.append(("b", call.operand("bias")))
    if call.get("transposed", False):
        return (Step("conv_transpose", pairs, _transposed_window(call), call.outputs),)
    return (Step("conv", pairs, _window(call), call.outputs),)


def _time_first(call: AtenCall) -> Sequence[Step]:
    """conv_tbc: (time, batch, channels) under a weight of (taps, input channels, output channels)."""
    x, y = call.inner("batch_first"), call.inner("convolved")
    swapped: dict[str, Attribute] = {"permutation": (1, 0, 2)}
    operands = [("x", x), ("w", call.operand("weight")), ("b", call.operand("bias"))]
    attributes: dict[str, Attribute] = {
        "padding": call.integer("pad"),
        "layout": "channels_last",
        "weight_layout": "spatial_io",
    }
    return (
        Step("transpose", [("x", call.operand("self"))], swapped, [x]),
        Step("conv", operands, attributes, [y]),
        Step("transpose", [("x", y)], swapped, call.outputs),
    )


def _with_relu(call: AtenCall) -> Sequence[Step]:
    """A convolution, an addition where ``z`` is given, and a ReLU."""
    if call.number("alpha", 1) != 1:
        raise GraphError("a factor of what is added has no rule", where=call.name)
    pairs = [("x", call.operand("self")), ("w", call.operand("weight"))]
    if call.has("bias"):
        pairs.append(("b", call.operand("bias")))
    made = call.inner("convolved")
    steps = [Step("conv", pairs, _window(call), [made])]
    if call.has("z"):
        steps.append(Step("add", [("a", made), ("b", call.operand("z"))], {}, [call.inner("added")]))
        made = call.inner("added")
    return (*steps, Step("relu", [("x", made)], {}, call.outputs))


def _convolutions(x: str, *names: str, attributes: Callable[[AtenCall], Mapping[str, Attribute]]) -> dict[str, Rule]:
    operator = "conv_transpose" if attributes is _transposed_window else "conv"
    return {f"aten.{name}": As(operator, f"x={x} w=weight b=bias", attributes) for name in names}


RULES_CONVOLUTIONS: Final[Mapping[str, Rule]] = {
    **_convolutions("input", "conv1d", "conv2d", "conv3d", "_convolution_mode", attributes=_window),
    **_convolutions("input", "_nnpack_spatial_convolution", attributes=_window),
    **_convolutions("self", "mkldnn_convolution", "cudnn_convolution", "miopen_convolution", attributes=_window),
    **_convolutions("self", "_slow_conv2d_forward", "thnn_conv2d", "slow_conv_dilated2d", attributes=_window),
    **_convolutions("self", "slow_conv3d", "slow_conv3d_forward", "slow_conv_dilated3d", attributes=_window),
    **_convolutions(
        "self", "_conv_depthwise2d", "conv_depthwise3d", "miopen_depthwise_convolution", attributes=_by_channel
    ),
    **_convolutions("input", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", attributes=_transposed_window),
    **_convolutions("self", "slow_conv_transpose2d", "slow_conv_transpose3d", attributes=_transposed_window),
    **_convolutions(
        "self", "cudnn_convolution_transpose", "miopen_convolution_transpose", attributes=_transposed_window
    ),
    "aten.convolution": _either_convolution,
    "aten._convolution": _either_convolution,
    "aten.convolution_overrideable": _either_convolution,
    "aten.conv_tbc": _time_first,
    "aten.cudnn_convolution_relu": _with_relu,
    "aten.cudnn_convolution_add_relu": _with_relu,
}

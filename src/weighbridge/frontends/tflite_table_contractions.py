"""TensorFlow Lite's convolutions and matrix products as ours.

A weight of whole numbers under an input of fractions makes a hybrid kernel: the input is quantised as it runs.  Where both are
whole numbers the tensors have their scales.  Weight layouts are those of tensorflow/lite/kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Final

from weighbridge.errors import BadModel, GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.graph import Attribute, Shape

__all__ = ["CONTRACTION_RULES", "finite", "padding_of", "quantisation_of", "result_type", "transposed", "window"]

_PADDINGS: Final[Mapping[int, Attribute]] = {0: "same_upper", 1: 0}
"""Padding of the schema."""


def quantisation_of(call: Foreign, weight: int = 1, x: int = 0) -> str:
    """Where a contraction has its scales: in its tensors, or made as it runs where whole numbers meet fractions (hybrid)."""
    data, w = call.type(x), call.type(weight)
    if data is None or w is None or w.dtype.kind not in ("int", "uint"):
        return "by_operands"
    return "dynamic" if data.dtype.kind == "float" else "in_tensors"


def result_type(call: Foreign, place: int = 0) -> str:
    """The element type that the file states of a result; "" where it has none."""
    return call.stated[place].dtype.name if place < len(call.stated) else ""


def finite(call: Foreign, name: str) -> float:
    """A fraction among the options, 0 where there is none.  Raises ``GraphError`` for one that is no number."""
    value: float = call.get(name, 0.0)
    if not isfinite(value):
        raise GraphError(f"{name} is {value}")
    return value


def padding_of(call: Foreign, number: int) -> Attribute:
    """Our padding of the schema's.  Raises ``BadModel`` for one that is not known."""
    if number not in _PADDINGS:
        raise BadModel(f"the padding {number} is not known", where=call.name)
    return _PADDINGS[number]


def _strides(call: Foreign, axes: Iterable[str]) -> Shape:
    return tuple(call.get(f"stride_{axis}", 1) for axis in axes)


def window(call: Foreign, *axes: str) -> dict[str, Attribute]:
    """Stride and padding of a window over these axes, channels last."""
    return {
        "stride": _strides(call, axes),
        "padding": padding_of(call, call.get("padding", 0)),
        "layout": "channels_last",
    }


def _quantised(call: Foreign, weight: int = 1, x: int = 0) -> dict[str, Attribute]:
    return {"quantisation": quantisation_of(call, weight, x), "output_dtype": result_type(call)}


def _dilation(call: Foreign, *axes: str) -> tuple[int, ...]:
    return tuple(call.get(f"dilation_{axis}_factor", 1) for axis in axes)


def _groups(call: Foreign, axis: int) -> int:
    """Groups follow from the channels: the filter has along ``axis`` those of one group."""
    x, w = call.type(0), call.type(1)
    if x is None or w is None or not x.shape or len(w.shape) < 3 or not w.shape[axis]:
        return 1
    return max(x.shape[-1] // w.shape[axis], 1)


def _convolution(call: Foreign) -> Mapping[str, Attribute]:
    return {
        **window(call, "h", "w"),
        **_quantised(call),
        "dilation": _dilation(call, "h", "w"),
        "groups": _groups(call, -1),
        "weight_layout": "o_spatial_i",
    }


def _depthwise(call: Foreign) -> Mapping[str, Attribute]:
    """Every channel is a group; its filters stand side by side, as many as the depth multiplier says."""
    x = call.type(0)
    groups = x.shape[-1] if x is not None and x.shape else 1
    return {**_convolution(call), "groups": groups, "weight_layout": "1_spatial_o"}


def _volume(call: Foreign) -> Mapping[str, Attribute]:
    return {
        **window(call, "d", "h", "w"),
        **_quantised(call),
        "dilation": _dilation(call, "d", "h", "w"),
        "groups": _groups(call, -2),
        "weight_layout": "spatial_io",
    }


def transposed(call: Foreign, axes: str, layout: str) -> dict[str, Attribute]:
    """A transposed convolution of the operands (sizes of the result, weight, x)."""
    return {
        **window(call, *axes),
        **_quantised(call, x=2),
        "dilation": _dilation(call, *axes) if f"dilation_{axes[0]}_factor" in call.attributes else 1,
        "weight_layout": layout,
        "output_size": _output_size(call, axes),
    }


def _output_size(call: Foreign, axes: str) -> Shape:
    """The spatial sizes of the result: the operand's, else those that the file states if x could be what a convolution makes of
    them, else what stride and padding say, ().
    """
    sizes, x, w, rank = call.sizes(0), call.type(2), call.type(1), len(axes)
    if sizes is not None:
        if len(sizes) != rank + 2:
            raise GraphError(f"{len(sizes)} sizes of a result of {rank + 2} dimensions")
        return sizes[1:-1]
    stated = call.stated[0].shape if call.stated else ()
    if x is None or w is None or not len(x.shape) == len(w.shape) == len(stated) == rank + 2:
        return ()
    strides = _strides(call, axes)
    if min(strides) < 1:
        return ()
    taps = w.shape[1:-1] if call.op == "TRANSPOSE_CONV" else w.shape[:-2]
    reach = taps if call.get("padding", 0) else (1,) * rank
    backwards = tuple((size - k) // s + 1 for size, k, s in zip(stated[1:-1], reach, strides, strict=True))
    return stated[1:-1] if backwards == x.shape[1:-1] else ()


def _transposed_image(call: Foreign) -> Mapping[str, Attribute]:
    return transposed(call, "hw", "o_spatial_i")


def _transposed_volume(call: Foreign) -> Mapping[str, Attribute]:
    return transposed(call, "dhw", "spatial_oi")


def _linear(call: Foreign) -> Sequence[Step]:
    """A fully connected layer.  Its input is rows of as many values as the weight has features, however it is shaped; only if it
    keeps its dimensions the last one is the features.
    """
    attributes: dict[str, Attribute] = {"weight_layout": "oi", **_quantised(call)}
    pairs, rows = bind(call, "x w b"), _rows(call)
    before = []
    if rows:
        x = call.inner("rows")
        before.append(Step("reshape", [("x", call.operand(0))], {"shape": rows}, [x]))
        pairs = [("x", x), *pairs[1:]]
    if call.has_output(1):
        before.append(_shuffled(call))
    return [*before, Step("linear", pairs, attributes, call.outputs[:1])]


def _shuffled(call: Foreign) -> Step:
    """The second result of a layer whose weights are shuffled for its kernel: a copy of the input in that order."""
    shape = call.stated[1].shape if len(call.stated) > 1 else ()
    x = call.type(0)
    return Step("expand", [("x", call.operand(0))], {"shape": x.shape if x is not None else shape}, call.outputs[1:2])


def _rows(call: Foreign) -> Shape:
    """The shape that a fully connected layer sees its input in; () where it is that already."""
    x, w = call.type(0), call.type(1)
    if x is None or w is None or len(w.shape) != 2 or not w.shape[1]:
        return ()
    if x.shape[-1:] == w.shape[1:] and (call.get("keep_num_dims", False) or len(x.shape) == 2):
        return ()
    if call.get("keep_num_dims", False) or x.elements % w.shape[1]:
        raise GraphError(f"an input of shape {x.shape} under a weight for {w.shape[1]} features")
    return (x.elements // w.shape[1], w.shape[1])


def _product(call: Foreign) -> Sequence[Step]:
    """A product of batches of matrices; a linear layer where the right one is a stored matrix."""
    adjoint_x, adjoint_y = bool(call.get("adj_x", False)), bool(call.get("adj_y", False))
    attributes: dict[str, Attribute] = {**_quantised(call), "transpose_x": adjoint_x}
    pairs = bind(call, "x w")
    if call.rank(1) == 2 and call.services.is_static(call.operand(1)) and call.rank(0) != 0:
        layout = "oi" if adjoint_y else "io"
        return (Step("linear", pairs, {**attributes, "weight_layout": layout}, call.outputs),)
    return (Step("matmul", pairs, {**attributes, "transpose_w": adjoint_y}, call.outputs),)


CONTRACTION_RULES: Final[Mapping[str, Rule]] = {
    "CONV_2D": As("conv", "x w b", _convolution),
    "DEPTHWISE_CONV_2D": As("conv", "x w b", _depthwise),
    "CONV_3D": As("conv", "x w b", _volume),
    "TRANSPOSE_CONV": As("conv_transpose", "- w x b", _transposed_image),
    "CONV_3D_TRANSPOSE": As("conv_transpose", "- w x b", _transposed_volume),
    "FULLY_CONNECTED": _linear,
    "BATCH_MATMUL": _product,
}

"""Quantised layers as ONNX Runtime's own operators have them (com.microsoft).

Operators on quantised operands are spelled as their documentation defines them: dequantised, computed, quantised, which
deployment makes one quantised operator again.  Weights of a few bits, packed into bytes, count as the integers they are.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, set_aside
from weighbridge.frontends.onnx_steps import PACKED, Pairs, Steps, required
from weighbridge.frontends.onnx_table_layers import LAYER_RULES, average_pool, convolution, recurrent
from weighbridge.frontends.onnx_table_microsoft_layers import embedded
from weighbridge.graph import Attribute, Shape

__all__ = ["QUANTISED_RULES", "dequantised"]

_FLOAT: Final[dict[str, Attribute]] = {"output_dtype": "float32"}


def dequantised(steps: Steps, x: int, scale: int, zero_point: int) -> str:
    """A quantised operand as the floats that it stands for, by the operands that hold its scale and zero point."""
    call = steps.call
    pairs = [("x", call.operand(x)), ("scale", call.operand(scale)), ("zero_point", steps.optional(zero_point))]
    return steps.make("dequantize", pairs)


def _requantised(steps: Steps, x: str, scale: int, zero_point: int, like: int) -> Sequence[Step]:
    """``x`` quantised as the result of the call; without a zero point of the type of the operand ``like``."""
    call = steps.call
    pairs = [("x", x), ("scale", call.operand(scale)), ("zero_point", steps.optional(zero_point))]
    dtype = "" if call.has(zero_point) else call.services.dtype_name(call.operand(like))
    return steps.done("quantize", pairs, {"dtype": dtype})


def _unary(operator: str, attributes: Mapping[str, Attribute] | None = None) -> Rule:
    """x, its scale and zero point, those of the result."""

    def rule(call: Foreign) -> Sequence[Step]:
        steps = Steps(call)
        known = attributes if attributes is not None else _ATTRIBUTES[operator](call)
        y = steps.make(operator, [("x", dequantised(steps, 0, 1, 2))], known)
        return _requantised(steps, y, 3, 4, 0)

    return rule


def _binary(operator: str) -> Rule:
    """Both operands with their scales and zero points, those of the result."""

    def rule(call: Foreign) -> Sequence[Step]:
        steps = Steps(call)
        pairs = [("a", dequantised(steps, 0, 1, 2)), ("b", dequantised(steps, 3, 4, 5))]
        return _requantised(steps, steps.make(operator, pairs), 6, 7, 0)

    return rule


def _joined(call: Foreign) -> Sequence[Step]:
    """The result's scale and zero point, then three operands for each tensor."""
    steps = Steps(call)
    if len(call.inputs) < 5 or len(call.inputs) % 3 != 2:
        raise BadModel(f"{len(call.inputs)} operands are no tensors with scales and zero points", where=call.name)
    xs = [("xs", dequantised(steps, at, at + 1, at + 2)) for at in range(2, len(call.inputs), 3)]
    return _requantised(steps, steps.make("concat", xs, {"axis": required(call, "axis")}), 0, 1, 2)


def _chosen(call: Foreign) -> Sequence[Step]:
    steps = Steps(call)
    pairs = [("condition", call.operand(0)), ("x", dequantised(steps, 1, 2, 3)), ("y", dequantised(steps, 4, 5, 6))]
    return _requantised(steps, steps.make("where", pairs), 7, 8, 1)


def _layout(call: Foreign) -> dict[str, Attribute]:
    return {"layout": "channels_last" if call.get("channels_last", 0) else "channels_first"}


def _softmax(call: Foreign) -> dict[str, Attribute]:
    """Before opset 13 everything from the axis on is one row."""
    return {"axis": call.get("axis", -1), "flatten": required(call, "opset") < 13}


def _reduced(call: Foreign) -> dict[str, Attribute]:
    return {"axes": call.get("axes") or "all", "keep_dims": bool(call.get("keepdims", 1))}


_ATTRIBUTES: Final = {
    "leaky_relu": lambda call: {"alpha": call.get("alpha", 0.01)},
    "average_pool": lambda call: {**average_pool(call), **_layout(call)},
    "global_average_pool": _layout,
    "softmax": _softmax,
    "reduce_mean": _reduced,
}


def _gemm(call: Foreign) -> dict[str, Attribute]:
    """The result is float where it has no scale of its own."""
    return {
        "weight_layout": "oi" if call.get("transB", 0) else "io",
        "transpose_x": bool(call.get("transA", 0)),
        "alpha": call.get("alpha", 1.0),
        **({} if call.has(7) else _FLOAT),
    }


def _product(steps: Steps, pairs: Pairs, dtype: str) -> Sequence[Step]:
    """A product of quantised operands that is float: linear where the right one is a stored matrix."""
    call = steps.call
    if call.rank(1) == 2 and call.services.is_static(call.operand(1)):
        return steps.done("linear", pairs, {"weight_layout": "io", "output_dtype": dtype})
    return steps.done("matmul", pairs, {"output_dtype": dtype})


def _integer_product(call: Foreign) -> Sequence[Step]:
    names = ("x", "w", "x_scale", "w_scale", "x_zero_point", "w_zero_point", "b")
    steps = Steps(call)
    pairs = [(name, steps.optional(position)) for position, name in enumerate(names)]
    return _product(steps, pairs, call.services.dtype_name(call.operand(2)))


def _dynamic_product(call: Foreign) -> Sequence[Step]:
    """The left operand is quantised by its own range as the network runs."""
    steps = Steps(call)
    made = [call.inner(name) for name in ("x", "x_scale", "x_zero_point")]
    steps.steps.append(Step("dynamic_quantize", [("x", call.operand(0))], {}, made))
    pairs = [*zip(("x", "x_scale", "x_zero_point"), made, strict=True), ("w", call.operand(1))]
    pairs += [("w_scale", call.operand(2)), ("w_zero_point", steps.optional(3)), ("b", steps.optional(4))]
    return _product(steps, pairs, call.services.dtype_name(call.operand(0)))


def _blocks(call: Foreign) -> int:
    size = required(call, "block_size")
    if size < 1:
        raise BadModel(f"block_size is {size}", where=call.name)
    return size


def _unpacked(steps: Steps, position: int, bits: int, shape: Shape) -> str:
    """Packed integers of ``bits`` bits as a tensor of ``shape``."""
    return steps.make("unpack", [("x", steps.call.operand(position))], {"shape": shape, "dtype": PACKED[bits]})


def _weight_of_bits(steps: Steps, n: int, k: int, bits: int) -> str:
    """The weight of a product of few bits: N rows of K values, in blocks along them that have a scale each."""
    call, size = steps.call, _blocks(steps.call)
    blocks = -(-k // size)
    scales, zeros = call.operand(2), steps.optional(3)
    kind = call.type(2)
    if kind is not None and kind.shape != (n, blocks):
        scales = steps.make("reshape", [("x", scales)], {"shape": (n, blocks)})
    if zeros and call.services.dtype_name(zeros) == "uint8":
        zeros = _unpacked(steps, 3, bits, (n, blocks))
    pairs = [("x", _unpacked(steps, 1, bits, (n, k))), ("scale", scales), ("zero_point", zeros)]
    return steps.make("dequantize", pairs, {"axis": 1, "block_size": size})


def _product_of_bits(call: Foreign) -> Sequence[Step]:
    """MatMulNBits: a linear layer whose weight is dequantised, block by block."""
    n, k, bits, steps = required(call, "N"), required(call, "K"), call.get("bits", 4), Steps(call)
    weight = call.type(1)
    if bits not in PACKED:
        return set_aside(call, f"there is no rule for packed weights of {bits} bits")
    if n < 1 or k < 1:
        raise BadModel(f"a weight of {n} x {k}", where=call.name)
    held = n * -(-k // _blocks(call)) * (_blocks(call) * bits // 8)
    if weight is not None and not call.get("weight_prepacked", 0) and weight.elements != held:
        if weight.elements:
            what = f"its weight has {weight.elements:,} bytes, not the {held:,} of {n} x {k} values of {bits} bits"
            raise BadModel(what, where=call.name)
        return _left_out(call, n)
    pairs = [("x", call.operand(0)), ("w", _weight_of_bits(steps, n, k, bits)), ("b", steps.optional(5))]
    return steps.done("linear", pairs)


def _left_out(call: Foreign, n: int) -> Sequence[Step]:
    """A product whose weight is empty is its bias, or 0."""
    x = call.type(0)
    if x is None or not x.shape:
        return set_aside(call, "its weight is left out")
    shape = (*x.shape[:-1], n)
    if call.has(5):
        return (Step("expand", [("x", call.operand(5))], {"shape": shape}, call.outputs),)
    return (Step("constant_of_shape", [], {"shape": shape, "dtype": x.dtype.name}, call.outputs),)


def _product_of_nibbles(call: Foreign) -> Sequence[Step]:
    """MatMulBnb4: N x K values of 4 bits one after the other, in blocks that run on over the ends of rows."""
    n, k, steps = required(call, "N"), required(call, "K"), Steps(call)
    if n < 1 or k < 1:
        raise BadModel(f"a weight of {n} x {k}", where=call.name)
    pairs = [("x", _unpacked(steps, 1, 4, (n * k,))), ("scale", call.operand(2))]
    flat = steps.make("dequantize", pairs, {"axis": 0, "block_size": _blocks(call)})
    weight = steps.make("reshape", [("x", flat)], {"shape": (n, k)})
    layout = "oi" if call.get("transB", 1) else "io"
    return steps.done("linear", [("x", call.operand(0)), ("w", weight)], {"weight_layout": layout})


def _gathered_blocks(call: Foreign) -> Sequence[Step]:
    """Rows of a table that is quantised in blocks; a table of bytes may hold smaller integers, packed along its last axis."""
    steps, table, bits = Steps(call), call.type(0), call.get("bits", 4)
    axis, along, size = call.get("gather_axis", 0), call.get("quantize_axis", 1), call.get("block_size", 128)
    if table is None or not table.shape:
        return set_aside(call, "the shape of its table is unknown")
    x, zeros, shape = call.operand(0), steps.optional(3), table.shape
    if table.dtype.name == "uint8" and bits != 8:
        if bits not in PACKED:
            return set_aside(call, f"there is no rule for packed weights of {bits} bits")
        shape = (*shape[:-1], shape[-1] * 8 // bits)
        x = _unpacked(steps, 0, bits, shape)
        scales = call.type(2)
        if zeros and scales is not None:
            zeros = _unpacked(steps, 3, bits, scales.shape)
    if not -len(shape) <= along < len(shape):
        raise BadModel(f"quantize_axis {along} does not exist in {len(shape)} dimensions", where=call.name)
    pairs = [("x", x), ("scale", _stretched(steps, shape, along, size)), ("zero_point", zeros)]
    table_id = steps.make("dequantize", pairs, {"axis": along, "block_size": size or max(shape[along], 1)})
    if axis in (0, -len(shape)) and call.services.is_static(call.operand(0)):
        return steps.done("embedding", [("w", table_id), ("indices", call.operand(1))])
    return steps.done("gather", [("x", table_id), ("indices", call.operand(1))], {"axis": axis})


def _stretched(steps: Steps, shape: Shape, along: int, size: int) -> str:
    """Scales that hold for several rows, stretched to one for each."""
    scales = steps.call.type(2)
    blocks = -(-shape[along] // size) if size else 1
    wanted = tuple(blocks if axis == along % len(shape) else one for axis, one in enumerate(shape))
    if scales is None or scales.shape == wanted:
        return steps.call.operand(2)
    return steps.make("expand", [("x", steps.call.operand(2))], {"shape": wanted})


def _quantised_embedding(call: Foreign) -> Sequence[Step]:
    """Every table has its scale six operands behind it, its zero point eleven."""
    steps = Steps(call)
    return embedded(steps, lambda position: dequantised(steps, position, position + 6, position + 11))


def _dynamic_lstm(call: Foreign) -> Sequence[Step]:
    """Weights are quantised, and stand with their outputs last; a scale is of a direction, or of each of its columns."""
    steps = Steps(call)
    weights = [_turned(steps, 1, 8, 9), _turned(steps, 2, 10, 11)]
    words = {3: "b", 4: "sequence_lengths", 5: "initial_h", 6: "initial_c", 7: "p"}
    pairs = [("x", call.operand(0)), ("w", weights[0]), ("r", weights[1])]
    pairs += [(word, steps.optional(position)) for position, word in words.items()]
    steps.ask("lstm", pairs, {**recurrent(call), "dynamic": True}, "y y_h y_c", call.outputs)
    return steps.steps


def _turned(steps: Steps, position: int, scale: int, zero_point: int) -> str:
    call = steps.call
    weight, scales = call.type(position), call.type(scale)
    pairs = [("x", call.operand(position)), ("scale", call.operand(scale)), ("zero_point", steps.optional(zero_point))]
    attributes: dict[str, Attribute] = {"axis": 0}
    if weight is not None and scales is not None and len(scales.shape) == 2 and len(weight.shape) == 3:
        pairs[1] = ("scale", steps.make("unsqueeze", [("x", call.operand(scale))], {"axes": (1,)}))
        attributes = {"axis": 1, "block_size": weight.shape[1]}
    floats = steps.make("dequantize", pairs, attributes)
    return steps.make("transpose", [("x", floats)], {"permutation": (0, 2, 1)})


QUANTISED_RULES: Final[Mapping[str, Rule]] = {
    "QuantizeLinear": LAYER_RULES["QuantizeLinear"],
    "DequantizeLinear": LAYER_RULES["DequantizeLinear"],
    "QLinearAdd": _binary("add"),
    "QLinearMul": _binary("mul"),
    "QLinearSigmoid": _unary("sigmoid", {}),
    "QLinearLeakyRelu": _unary("leaky_relu"),
    "QLinearSoftmax": _unary("softmax"),
    "QLinearReduceMean": _unary("reduce_mean"),
    "QLinearAveragePool": _unary("average_pool"),
    "QLinearGlobalAveragePool": _unary("global_average_pool"),
    "QLinearConcat": _joined,
    "QLinearWhere": _chosen,
    "QLinearConv": As(
        "conv",
        "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point b",
        lambda call: {**convolution(call), **_layout(call)},
    ),
    "QGemm": As("linear", "x x_scale x_zero_point w w_scale w_zero_point b y_scale y_zero_point", _gemm),
    "MatMulIntegerToFloat": _integer_product,
    "DynamicQuantizeMatMul": _dynamic_product,
    "MatMulNBits": _product_of_bits,
    "MatMulBnb4": _product_of_nibbles,
    "GatherBlockQuantized": _gathered_blocks,
    "QEmbedLayerNormalization": _quantised_embedding,
    "DynamicQuantizeLSTM": _dynamic_lstm,
}
"""By the operators' names."""

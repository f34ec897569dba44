"""Layers as ONNX Runtime's optimizer fuses them (com.microsoft), taken apart again: additions, products, functions, norms.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind, set_aside
from weighbridge.frontends.onnx_steps import Pairs, Steps, required
from weighbridge.frontends.onnx_table_layers import LAYER_RULES, convolution, epsilon, gemm, pool, product, window
from weighbridge.graph import UNKNOWN, Attribute, Shape

__all__ = ["FUSED_LAYER_RULES", "embedded"]

_FUNCTIONS: Final[Mapping[str, tuple[str, str]]] = {
    **{name: (name.lower(), "") for name in ("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign")},
    "LeakyRelu": ("leaky_relu", "alpha"),
    "Elu": ("elu", "alpha"),
    "Celu": ("celu", "alpha"),
    "Selu": ("selu", "alpha gamma"),
    "ThresholdedRelu": ("thresholded_relu", "alpha"),
    "HardSigmoid": ("hard_sigmoid", "alpha beta"),
    "HardSwish": ("hard_swish", ""),
    "Clip": ("clip", "low high"),
    "Gelu": ("gelu", ""),
}
"""Functions that a layer may end with: ours, and its attributes in the order of ``activation_params``."""


def _function(call: Foreign) -> tuple[str, dict[str, Attribute]] | None:
    """The function that a layer ends with: identity where it names none, None where there is no rule for it."""
    name = call.get("activation", "")
    if not name:
        return "identity", {}
    if name not in _FUNCTIONS:
        return None
    ours, words = _FUNCTIONS[name]
    given = dict(zip(words.split(), call.get("activation_params", ()), strict=False))
    named = {word: call.get(f"activation_{word}") for word in words.split()}
    return ours, {**given, **{word: value for word, value in named.items() if value is not None}}


def _ends_with_function(steps: Steps, x: str, function: tuple[str, dict[str, Attribute]]) -> Sequence[Step]:
    return steps.done(function[0], [("x", x)], function[1])


def _no_function(call: Foreign) -> Sequence[Step]:
    return set_aside(call, f"there is no rule for the function {call.get('activation')!r} that it ends with")


def _fused_convolution(attributes: Any) -> Rule:
    """A convolution, a tensor added to its result where there is one, and a function."""

    def rule(call: Foreign) -> Sequence[Step]:
        function, steps = _function(call), Steps(call)
        if function is None:
            return _no_function(call)
        y = steps.make("conv", bind(call, "x w b -"), attributes(call))
        if call.has(3):
            y = steps.make("add", [("a", y), ("b", call.operand(3))])
        return _ends_with_function(steps, y, function)

    return rule


def _channels_last(call: Foreign) -> dict[str, Attribute]:
    return {**convolution(call), "layout": "channels_last"}


def _nhwc_convolution(call: Foreign) -> dict[str, Attribute]:
    """The weight has its input channels last, or where only that fits its kernel the order of Conv."""
    weight, kernel = call.type(1), call.get("kernel_shape")
    attributes: dict[str, Attribute] = {**window(call), "groups": call.get("group", 1), "layout": "channels_last"}
    if kernel and weight is not None and tuple(kernel) != weight.shape[1:-1]:
        return {**attributes, **convolution(call)}
    return {**attributes, "weight_layout": "o_spatial_i"}


def _nhwc_pool(call: Foreign) -> dict[str, Attribute]:
    return {**pool(call), "layout": "channels_last"}


def _dynamic_pads(call: Foreign) -> Sequence[Step]:
    """A transposed convolution whose padding is an operand."""
    pads = call.sizes(2) if call.has(2) else (0,)
    if pads is None:
        return set_aside(call, "its padding depends on values")
    attributes = {**convolution(call), "padding": pads, "output_padding": call.get("output_padding") or 0}
    return (Step("conv_transpose", bind(call, "x w - b"), attributes, call.outputs),)


def _fused_gemm(call: Foreign) -> Sequence[Step]:
    function, steps = _function(call), Steps(call)
    if function is None:
        return _no_function(call)
    return _ends_with_function(steps, steps.make("linear", bind(call, "x w b"), gemm(call)), function)


def _operand_of_product(steps: Steps, position: int, moves_batch: str) -> str:
    """An operand with its first axis behind those of the batch, where an attribute says that it stands in front."""
    call = steps.call
    tensor, rank = call.operand(position), call.rank(position)
    if not call.get(moves_batch, 0) or rank is None:
        return tensor
    if rank < 3:
        raise BadModel(f"{moves_batch} of {rank} dimensions", where=call.name)
    return steps.make("transpose", [("x", tensor)], {"permutation": (*range(1, rank - 1), 0, rank - 1)})


def _multiplied(steps: Steps, bias: str = "", *, into: str = "") -> str:
    """The product of a fused matrix product: linear where the right operand is a stored matrix."""
    call = steps.call
    x, w = _operand_of_product(steps, 0, "transBatchA"), _operand_of_product(steps, 1, "transBatchB")
    turns_x = bool(call.get("transA", 0)) and call.rank(0) != 1
    turns_w = bool(call.get("transB", 0)) and call.rank(1) != 1
    pairs = [("x", x), ("w", w), ("b", bias)]
    attributes: dict[str, Attribute] = {"transpose_x": turns_x, "alpha": call.get("alpha", 1.0)}
    if call.rank(1) == 2 and call.services.is_static(call.operand(1)) and call.rank(0) != 0:
        return steps.make("linear", pairs, {**attributes, "weight_layout": "oi" if turns_w else "io"}, into=into)
    return steps.make("matmul", pairs, {**attributes, "transpose_w": turns_w}, into=into)


def _fused_product(call: Foreign) -> Sequence[Step]:
    steps = Steps(call)
    _multiplied(steps, into=call.outputs[0])
    return steps.steps


def _fused_product_with_function(call: Foreign) -> Sequence[Step]:
    steps = Steps(call)
    if call.get("activation") == "Softmax":
        return steps.done("softmax", [("x", _multiplied(steps))], {"axis": call.get("activation_axis", -1)})
    function = _function(call)
    return _no_function(call) if function is None else _ends_with_function(steps, _multiplied(steps), function)


def _gemm_fast_gelu(call: Foreign) -> Sequence[Step]:
    steps = Steps(call)
    return steps.done("gelu", [("x", _multiplied(steps, steps.optional(2)))], {"approximate": "tanh"})


def _biased(function: str, attributes: Mapping[str, Attribute] | None = None) -> Rule:
    """A function of a sum with a bias, which may be absent."""

    def rule(call: Foreign) -> Sequence[Step]:
        steps = Steps(call)
        return steps.done(function, [("x", _sum(steps, 0, 1))], attributes)

    return rule


def _sum(steps: Steps, *positions: int, into: str = "") -> str:
    """The sum of those operands that are there, the first of which always is."""
    x, *others = [tensor for tensor in map(steps.optional, positions) if tensor] or [steps.call.operand(positions[0])]
    for place, other in enumerate(others):
        is_last = place == len(others) - 1
        x = steps.make("add", [("a", x), ("b", other)], into=into if is_last else "")
    if into and not others:
        return steps.make("identity", [("x", x)], into=into)
    return x


def _bias_add(call: Foreign) -> Sequence[Step]:
    steps = Steps(call)
    _sum(steps, 0, 1, 2, into=call.outputs[0])
    return steps.steps


def _bias_softmax(call: Foreign) -> Sequence[Step]:
    """Everything from the axis on is one row."""
    steps = Steps(call)
    return steps.done("softmax", [("x", _sum(steps, 0, 1))], {"axis": call.get("axis", 1), "flatten": True})


def _split_gelu(call: Foreign) -> Sequence[Step]:
    """The left half times the function of the right one."""
    steps = Steps(call)
    left, right = steps.split(_sum(steps, 0, 1), 2, {"axis": -1})
    return steps.done("mul", [("a", left), ("b", steps.make("gelu", [("x", right)]))])


def _bias_dropout(mask: str) -> Rule:
    """A bias added, dropout, and a residual added."""

    def rule(call: Foreign) -> Sequence[Step]:
        steps = Steps(call)
        y = steps.call.inner("dropped") if call.has(2) else call.outputs[0]
        pairs = [("x", _sum(steps, 0, 1)), ("ratio", steps.optional(3)), ("training", steps.optional(4))]
        steps.ask("dropout", pairs, {}, f"y {mask}", (y, *call.outputs[1:]))
        return steps.done("add", [("a", y), ("b", call.operand(2))]) if call.has(2) else steps.steps

    return rule


def _skip_norm(operator: str, bias: int, results: str) -> Rule:
    """A residual and a bias added, then a norm; the sum is a result too, where it is read.

    The bias comes first, as it belongs to the layer in front.
    """

    def rule(call: Foreign) -> Sequence[Step]:
        steps = Steps(call)
        total = _sum(steps, 0, bias, 1, into=call.outputs[3] if call.has_output(3) else "")
        pairs: Pairs = [("x", total), ("scale", call.operand(2)), ("bias", steps.optional(3) if bias == 4 else "")]
        outputs = call.outputs[:3] if bias == 4 else (call.outputs[0], *call.outputs[2:3])
        steps.ask(operator, pairs, {"epsilon": call.get("epsilon", 1e-12)}, results, outputs)
        return steps.steps

    return rule


def _group_norm(call: Foreign) -> tuple[dict[str, Attribute], str, Shape]:
    """Attributes, the function behind it, and the axes that a skip connection without space lacks."""
    layout = "channels_last" if call.get("channels_last", 1) else "channels_first"
    function = {0: "identity", 1: "silu"}.get(call.get("activation", 0))
    if function is None:
        raise BadModel(f"a group norm has no activation {call.get('activation')}", where=call.name)
    attributes: dict[str, Attribute] = {"groups": required(call, "groups"), "layout": layout, **epsilon(call)}
    return attributes, function, (1, 2) if layout == "channels_last" else (2, 3)


def _normalised_groups(call: Foreign) -> Sequence[Step]:
    attributes, function, _ = _group_norm(call)
    steps = Steps(call)
    return steps.done(function, [("x", steps.make("group_norm", bind(call, "x scale bias"), attributes))])


def _skip_group_norm(call: Foreign) -> Sequence[Step]:
    """A residual, of every position or one for all of an image, and a bias a channel are added before the norm."""
    attributes, function, space = _group_norm(call)
    steps = Steps(call)
    skip, bias = call.operand(3), steps.optional(4)
    if call.rank(3) == 2:
        skip = steps.make("unsqueeze", [("x", skip)], {"axes": space})
    if bias and space == (2, 3):
        bias = steps.make("unsqueeze", [("x", bias)], {"axes": (1, 2)})
    x = call.operand(0)
    if bias:
        x = steps.make("add", [("a", x), ("b", bias)])
    total = steps.make("add", [("a", x), ("b", skip)], into=call.outputs[1] if call.has_output(1) else "")
    pairs = [("x", total), ("scale", call.operand(1)), ("bias", call.operand(2))]
    y = steps.make("group_norm", pairs, attributes)
    steps.make(function, [("x", y)], into=call.outputs[0])
    return steps.steps


def embedded(steps: Steps, table: Any) -> Sequence[Step]:
    """Words, positions and segments looked up, added and normalised; ``table(position)`` is the tensor of an operand.

    Positions that no operand gives are the first ones of their table.  The index of the mask counts its ones.
    """
    call = steps.call
    ids = call.type(0)
    total = steps.make("embedding", [("w", table(2)), ("indices", call.operand(0))])
    if call.op == "EmbedLayerNormalization" and call.has(8):
        places = steps.make("embedding", [("w", table(3)), ("indices", call.operand(8))])
    else:
        ends: Attribute = (ids.shape[1],) if ids is not None and len(ids.shape) == 2 else UNKNOWN
        places = steps.make("slice", [("x", table(3))], {"axes": (0,), "starts": (0,), "ends": ends})
    has_segments = call.has(4)
    into = call.outputs[2] if call.has_output(2) else ""
    total = steps.make("add", [("a", total), ("b", places)], into="" if has_segments else into)
    if has_segments:
        segments = steps.make("embedding", [("w", table(4)), ("indices", call.operand(1))])
        total = steps.make("add", [("a", total), ("b", segments)], into=into)
    if call.has_output(1):
        _mask_index(steps, ids.shape[:1] if ids is not None else None)
    pairs = [("x", total), ("scale", table(5)), ("bias", table(6))]
    steps.make("layer_norm", pairs, {"epsilon": call.get("epsilon", 1e-12)}, into=call.outputs[0])
    return steps.steps


def _mask_index(steps: Steps, batch: Shape | None) -> None:
    call = steps.call
    if call.has(7):
        counted: dict[str, Attribute] = {"axes": (1,), "keep_dims": False}
        steps.make("reduce_sum", [("x", call.operand(7))], counted, into=call.outputs[1])
    elif batch is not None:
        steps.make("constant_of_shape", [], {"shape": batch, "dtype": "int32"}, into=call.outputs[1])
    else:
        unknown: dict[str, Attribute] = {"shape": UNKNOWN, "dtype": "int32"}
        steps.make("constant_of_shape", [("shape", call.operand(0))], unknown, into=call.outputs[1])


def _embedding(call: Foreign) -> Sequence[Step]:
    return embedded(Steps(call), call.operand)


def _rotary(call: Foreign) -> dict[str, Attribute]:
    """Heads of three dimensions that no attribute counts are as wide as their tables say."""
    heads, x, table = call.get("num_heads", 0), call.type(0), call.type(2)
    if not heads and x is not None and table is not None and len(x.shape) == 3 and table.shape:
        heads = x.shape[2] // max(2 * table.shape[-1], 1)
    size = call.get("rotary_embedding_dim", 0)
    return {"heads": heads, "size": size, "interleaved": bool(call.get("interleaved", 0))}


FUSED_LAYER_RULES: Final[Mapping[str, Rule]] = {
    "FusedConv": _fused_convolution(convolution),
    "NhwcFusedConv": _fused_convolution(_channels_last),
    "NhwcConv": As("conv", "x w b", _nhwc_convolution),
    "NhwcMaxPool": As("max_pool", "x", _nhwc_pool),
    "ConvTransposeWithDynamicPads": _dynamic_pads,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _fused_product,
    "TransposeMatMul": _fused_product,
    "FusedMatMulActivation": _fused_product_with_function,
    "GemmFastGelu": _gemm_fast_gelu,
    "MatMulInteger16": product("x w", 1, {"output_dtype": "int32"}),
    "Gelu": As("gelu", "x"),
    "QuickGelu": As("silu", "x", lambda call: {"alpha": call.get("alpha", 1.702)}),
    "BiasGelu": _biased("gelu"),
    "FastGelu": _biased("gelu", {"approximate": "tanh"}),
    "BiasSplitGelu": _split_gelu,
    "BiasAdd": _bias_add,
    "BiasSoftmax": _bias_softmax,
    "BiasDropout": _bias_dropout("mask"),
    "BitmaskBiasDropout": _bias_dropout("bitmask"),
    "BitmaskDropout": As("dropout", "x ratio training", None, "y bitmask"),
    **{name: LAYER_RULES[name] for name in ("LayerNormalization", "SimplifiedLayerNormalization")},
    "SkipLayerNormalization": _skip_norm("layer_norm", 4, "y mean inverse_deviation"),
    "SkipSimplifiedLayerNormalization": _skip_norm("rms_norm", 3, "y inverse_root"),
    "GroupNorm": _normalised_groups,
    "SkipGroupNorm": _skip_group_norm,
    "EmbedLayerNormalization": _embedding,
    "RotaryEmbedding": As("rotary_embedding", "x positions cos sin", _rotary),
}
"""By the operators' names."""

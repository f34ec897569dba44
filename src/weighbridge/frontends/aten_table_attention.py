"""PyTorch's attention as ours: the function, the kernels that may stand behind it, and whole layers in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule, bind, translate
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute

__all__ = ["RULES_ATTENTION"]

_QKV: Final = "q=query k=key v=value"
_NO_FUNCTION: Final = "_identity"
"""The name of the function that PyTorch passes to flex attention where the model has none."""


def _causal(call: AtenCall) -> dict[str, Attribute]:
    return {"causal": bool(call.get("is_causal", False))}


def _attention(call: AtenCall) -> Sequence[Step]:
    """Keys with fewer heads serve several heads of queries; a single head of queries is stretched over those of the keys."""
    pairs = list(bind(call, f"{_QKV} mask=attn_mask"))
    q, k = call.type("query").shape, call.type("key").shape
    if len(q) < 3 or len(k) < 3 or q[-3] != 1 or k[-3] == 1:
        return (Step("attention", pairs, _causal(call), call.outputs),)
    stretched, shape = call.inner("query"), (*q[:-3], k[-3], *q[-2:])
    return (
        Step("expand", [("x", call.operand("query"))], {"shape": shape}, [stretched]),
        Step("attention", [("q", stretched), *pairs[1:]], _causal(call), call.outputs),
    )


def _flexible(call: AtenCall) -> dict[str, Attribute]:
    """Flex attention: whatever its function does to the scores, and whatever its mask hides, the rectangle is full."""
    return {"score_function": call.get("score_mod") != _NO_FUNCTION}


def _check_not_packed(call: AtenCall) -> None:
    ends = ("cum_seq_q", "cum_seq_k", "cu_seqlens_q", "cu_seqlens_k", "block_table")
    if any(call.has(name) for name in ends):
        what = "where the sequences of a packed batch end are values, and the MACs depend on them"
        raise GraphError(what, where=call.name)


def _heads_in_front(call: AtenCall) -> Sequence[Step]:
    """A kernel that takes (batch, heads, positions, depth), like the function."""
    _check_not_packed(call)
    return translate(call, _BIASED)


def _heads_behind_positions(call: AtenCall) -> Sequence[Step]:
    """Kernels that take (batch, positions, heads, depth): the heads side by side are a view of that."""
    _check_not_packed(call)
    steps, pairs = [], []
    for slot, name in (("q", "query"), ("k", "key"), ("v", "value")):
        shape, flat = call.type(name).shape, call.inner(name)
        steps.append(Step("reshape", [("x", call.operand(name))], _flat(shape), [flat]))
        pairs.append((slot, flat))
    heads, depth = call.type("query").shape[2], call.type("value").shape[3]
    joined = call.inner("joined")
    attributes: dict[str, Attribute] = {
        "heads": heads,
        "kv_heads": call.type("key").shape[2],
        "causal": bool(call.get("is_causal", False)) or call.integer("custom_mask_type", 0) != 0,
        "outputs": ("y", "log_sums") if call.has_output(1) else ("y",),
    }
    made = [joined, call.outputs[1]] if call.has_output(1) else [joined]
    steps.append(Step("attention", [*pairs, *bind(call, "mask=bias")], attributes, made))
    apart = (*call.type("query").shape[:2], heads, depth)
    steps.append(Step("reshape", [("x", joined)], {"shape": apart, "allow_zero": True}, call.outputs[:1]))
    return steps


def _flat(shape: tuple[int, ...]) -> dict[str, Attribute]:
    """The attributes of a view with the last two axes as one."""
    if len(shape) != 4:
        raise GraphError(f"this kernel takes 4 dimensions, not {len(shape)}")
    return {"shape": (*shape[:2], shape[2] * shape[3]), "allow_zero": True}


def _projected(call: AtenCall, names: Sequence[str]) -> tuple[list[Step], list[str]]:
    """The steps that make queries, keys and values of the tensors ``names``, and their ids.

    The weights of the three lie in one tensor.  One input is projected at once and taken apart then, as PyTorch does;
    several take the weights apart.
    """
    weight, bias = call.operand("qkv_weight"), call.operand("qkv_bias")
    made = [call.inner(name) for name in ("q", "k", "v")]
    parts: dict[str, Attribute] = {"axis": -1, "parts": 3}
    if len(set(names)) == 1:
        joined = call.inner("qkv")
        return [
            Step("linear", [("x", names[0]), ("w", weight), ("b", bias)], {}, [joined]),
            Step("split", [("x", joined)], parts, made),
        ], made
    weights = [call.inner(f"weight.{place}") for place in range(3)]
    biases = [call.inner(f"bias.{place}") for place in range(3)]
    steps = [
        Step("split", [("x", weight)], {**parts, "axis": 0}, weights),
        Step("split", [("x", bias)], {**parts, "axis": 0}, biases),
    ]
    for x, w, b, y in zip(names, weights, biases, made, strict=True):
        steps.append(Step("linear", [("x", x), ("w", w), ("b", b)], {}, [y]))
    return steps, made


def _masked(call: AtenCall) -> tuple[list[Step], list[tuple[str, str]]]:
    """The mask as the scores take it: of type 1 it says for each sequence which keys are padding."""
    if not call.has("mask"):
        return [], []
    mask = call.operand("mask")
    if call.integer("mask_type", 0) != 1:
        return [], [("mask", mask)]
    axes: dict[str, Attribute] = {"axes": (1, 2)}
    return [Step("unsqueeze", [("x", mask)], axes, [call.inner("mask")])], [("mask", call.inner("mask"))]


def _attended(call: AtenCall, names: Sequence[str], heads: int, made: str, scores: str = "") -> list[Step]:
    """Multi-head attention with its projections, from the tensors ``names`` to ``made``; ``scores`` where they are read."""
    steps, projected = _projected(call, names)
    before, mask = _masked(call)
    attributes: dict[str, Attribute] = {"heads": heads, "outputs": ("y", "scores") if scores else ("y",)}
    pairs = [*zip(("q", "k", "v"), projected, strict=True), *mask]
    mixed = call.inner("mixed")
    last = [("x", mixed), ("w", call.operand("proj_weight")), ("b", call.operand("proj_bias"))]
    return [
        *steps,
        *before,
        Step("attention", pairs, attributes, [mixed, scores] if scores else [mixed]),
        Step("linear", last, {}, [made]),
    ]


def _multi_head(call: AtenCall) -> Sequence[Step]:
    """A whole module in one call; the scores are averaged over the heads unless told otherwise."""
    names = [call.operand(name) for name in ("query", "key", "value")]
    heads = call.integer("num_head", 1)
    if not call.has_output(1):
        return _attended(call, names, heads, call.outputs[0])
    if not call.get("average_attn_weights", True):
        return _attended(call, names, heads, call.outputs[0], call.outputs[1])
    scores = call.inner("scores")
    mean: dict[str, Attribute] = {"axes": (1,), "keep_dims": False}
    return [
        *_attended(call, names, heads, call.outputs[0], scores),
        Step("reduce_mean", [("x", scores)], mean, [call.outputs[1]]),
    ]


def _normalised(call: AtenCall, number: int, x: str, made: str) -> Step:
    pairs = [("x", x), ("scale", call.operand(f"norm_weight_{number}")), ("bias", call.operand(f"norm_bias_{number}"))]
    return Step("layer_norm", pairs, {"epsilon": call.number("eps", 1e-5)}, [made])


def _fed_forward(call: AtenCall, x: str, made: str) -> list[Step]:
    """Two linear layers and the function between them."""
    inside, active = call.inner("inside"), call.inner("active")
    first = [("x", x), ("w", call.operand("ffn_weight_1")), ("b", call.operand("ffn_bias_1"))]
    second = [("x", active), ("w", call.operand("ffn_weight_2")), ("b", call.operand("ffn_bias_2"))]
    return [
        Step("linear", first, {}, [inside]),
        Step("gelu" if call.get("use_gelu", False) else "relu", [("x", inside)], {}, [active]),
        Step("linear", second, {}, [made]),
    ]


def _encoder_layer(call: AtenCall) -> Sequence[Step]:
    """A transformer's encoder layer in one call, normalised in front of attention and feed-forward layers or behind them."""
    x, heads, out = call.operand("src"), call.integer("num_heads", 1), call.outputs[0]
    a, b, c, d = (call.inner(name) for name in ("a", "b", "c", "d"))
    if call.get("norm_first", False):
        return [
            _normalised(call, 1, x, a),
            *_attended(call, [a] * 3, heads, b),
            Step("add", [("a", x), ("b", b)], {}, [c]),
            _normalised(call, 2, c, d),
            *_fed_forward(call, d, call.inner("fed")),
            Step("add", [("a", c), ("b", call.inner("fed"))], {}, [out]),
        ]
    return [
        *_attended(call, [x] * 3, heads, a),
        Step("add", [("a", x), ("b", a)], {}, [b]),
        _normalised(call, 1, b, c),
        *_fed_forward(call, c, call.inner("fed")),
        Step("add", [("a", c), ("b", call.inner("fed"))], {}, [d]),
        _normalised(call, 2, d, out),
    ]


_BIASED: Final = As("attention", f"{_QKV} mask=attn_bias", _causal, "y log_sums")

RULES_ATTENTION: Final[Mapping[str, Rule]] = {
    "aten.scaled_dot_product_attention": _attention,
    "aten._scaled_dot_product_attention_math": As("attention", f"{_QKV} mask=attn_mask", _causal, "y scores"),
    "aten._scaled_dot_product_attention_math_for_mps": As("attention", f"{_QKV} mask=attn_mask", _causal, "y scores"),
    "aten._scaled_dot_product_flash_attention": As("attention", _QKV, _causal, "y log_sums"),
    "aten._scaled_dot_product_flash_attention_for_cpu": As(
        "attention", f"{_QKV} mask=attn_mask", _causal, "y log_sums"
    ),
    "aten._scaled_dot_product_efficient_attention": _BIASED,
    "aten._scaled_dot_product_cudnn_attention": _BIASED,
    "aten._scaled_dot_product_fused_attention_overrideable": _BIASED,
    "higher_order.flex_attention": As("attention", _QKV, _flexible, "y log_sums"),
    "aten._flash_attention_forward": _heads_behind_positions,
    "aten._efficient_attention_forward": _heads_behind_positions,
    "aten._cudnn_attention_forward": _heads_in_front,
    "aten._native_multi_head_attention": _multi_head,
    "aten._triton_multi_head_attention": _multi_head,
    "aten._triton_scaled_dot_attention": As("attention", "q=q k=k v=v"),
    "aten._transformer_encoder_layer_fwd": _encoder_layer,
}

"""Attention as ONNX Runtime's own operators have it (com.microsoft).

Projections in front of it are a linear layer and a split; bias, rotation and normalisation of queries and keys are steps of
their own; scores are scratch of the one attention node.  How far a cache is filled is told by shapes, or by an operand whose
value is known: else the MACs are not counted, and the reason says so.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign, Rule, Step, set_aside
from weighbridge.frontends.onnx_steps import Steps, heads_of, number_in
from weighbridge.graph import UNKNOWN, Attribute, TensorType
from weighbridge.named_tuple import NamedTuple

__all__ = ["ATTENTION_RULES"]

_PACKED_REASON: Final = "how long each sequence of a packed batch is depends on values"
_RESULTS: Final = "y present_key present_value scores"
_TABLES: Final = "cos", "sin"


def _projected(steps: Steps, heads: int, quantised: Sequence[tuple[str, str]] = ()) -> list[str]:
    """Queries, keys and values: one product with weights that lie side by side, split behind it.

    The weights are of as many columns for each of the three, or as ``qkv_hidden_sizes`` says.
    """
    call = steps.call
    weight, sizes = call.type(1), call.get("qkv_hidden_sizes")
    columns = weight.shape[-1] if weight is not None and weight.shape else 0
    if sizes is None:
        parts, fits = {"axis": -1}, columns % 3 == 0 and columns // 3 % heads == 0
    else:
        parts, fits = {"axis": -1, "sizes": sizes}, len(sizes) == 3 and not any(size % heads for size in sizes)
    if not fits:
        raise BadModel(
            f"{columns} columns of weights are no queries, keys and values of {heads} heads", where=call.name
        )
    attributes: dict[str, Attribute] = {"weight_layout": "io"}
    if quantised:
        attributes["output_dtype"] = call.services.dtype_name(call.operand(3))
    pairs = [("x", call.operand(0)), ("w", call.operand(1)), ("b", steps.optional(2)), *quantised]
    return steps.split(steps.make("linear", pairs, attributes), 3, parts)


def _check_rank(call: Foreign, position: int, *ranks: int) -> None:
    rank = call.rank(position)
    if rank is not None and rank not in ranks:
        allowed = " or ".join(map(str, ranks))
        raise BadModel(f"its operand {position} has {rank} dimensions, not {allowed}", where=call.name)


def _mask(steps: Steps, position: int, keys: int | None = None) -> list[tuple[str, str]]:
    """A mask as the scores take it: lengths of sequences, or a value for every key, or every query and key.

    One of four dimensions is of the longest sequence there may be, and read for the last queries and the first ``keys``.
    """
    call = steps.call
    if not call.has(position):
        return []
    kind, tensor = call.type(position), call.operand(position)
    rank = None if kind is None else len(kind.shape)
    if rank == 1:
        return [("kv_lengths", tensor)]
    if rank in (2, 3):
        return [("mask", steps.make("unsqueeze", [("x", tensor)], {"axes": (1, 2) if rank == 2 else (1,)}))]
    x = call.type(0)
    if kind is not None and rank == 4 and x is not None and len(x.shape) == 3 and keys is not None:
        read: dict[str, Attribute] = {"axes": (2, 3), "starts": (keys - x.shape[1], 0), "ends": (keys, keys)}
        return [("mask", steps.make("slice", [("x", tensor)], read))]
    return [("mask", tensor)]


def _filled(call: Foreign, position: int | None, *, shared: bool) -> Attribute:
    """How many positions of the cache are filled: all, unless it is a buffer that past and present share."""
    if not shared:
        return "all"
    return UNKNOWN if position is None else number_in(call, position)


def _buffer(call: Foreign, name: str, position: int, *, shared: bool) -> Mapping[str, TensorType | None]:
    """What is known of the results that are a shared buffer, however far it is filled."""
    return {name: call.type(position)} if shared else {}


def _rotated(steps: Steps, tensors: Sequence[str], heads: Sequence[int], tables: Sequence[str] = ()) -> list[str]:
    """Each of ``tensors`` rotated, by tables of cosines and sines and positions where these are given."""
    call = steps.call
    size = call.get("rotary_embedding_dim", 0)
    made = []
    for tensor, count in zip(tensors, heads, strict=True):
        attributes: dict[str, Attribute] = {"heads": count, "size": size}
        attributes["interleaved"] = bool(call.get("rotary_interleaved", 0))
        pairs = [("x", tensor), *zip((*_TABLES, "positions"), tables, strict=False)]
        made.append(steps.make("rotary_embedding", pairs, attributes))
    return made


def _self_attention(call: Foreign) -> Sequence[Step]:
    """Attention and DecoderMaskedSelfAttention: input, weights, bias, mask, past, bias of the scores, filled positions."""
    _check_rank(call, 0, 3)
    return _with_projection(call, mask=3, past=4, bias=5, filled=6)


def _quantised_attention(call: Foreign) -> Sequence[Step]:
    """QAttention: the projection is of quantised operands, and what comes of it is float."""
    _check_rank(call, 0, 3)
    names = {3: "x_scale", 4: "w_scale", 6: "x_zero_point", 7: "w_zero_point"}
    quantised = [(name, call.operand(at)) for at, name in names.items() if call.has(at)]
    return _with_projection(call, mask=5, past=8, bias=None, filled=None, quantised=quantised)


def _with_projection(
    call: Foreign,
    *,
    mask: int,
    past: int,
    bias: int | None,
    filled: int | None,
    quantised: Sequence[tuple[str, str]] = (),
) -> Sequence[Step]:
    """The positions of the operands say which is which; None is one that the operator does not have."""
    heads, steps = heads_of(call), Steps(call)
    q, k, v = _projected(steps, heads, quantised)
    if call.get("do_rotary", 0):
        q, k = _rotated(steps, (q, k), (heads, heads))
    shared = bool(call.get("past_present_share_buffer", 0)) and call.has(past)
    attributes: dict[str, Attribute] = {"heads": heads, "causal": bool(call.get("unidirectional", 0))}
    attributes["past_length"] = length = _filled(call, filled, shared=shared)
    pairs = [("q", q), ("k", k), ("v", v), *_mask(steps, mask, _keys(call, past, length))]
    pairs += [("past", steps.optional(past)), ("score_bias", steps.optional(bias))]
    steps.ask("attention", pairs, attributes, "y present", call.outputs, _buffer(call, "present", past, shared=shared))
    return steps.steps


def _keys(call: Foreign, past: int, length: Attribute) -> int | None:
    """Past and new positions together, where they are known."""
    x, cache = call.type(0), call.type(past)
    if x is None or len(x.shape) != 3 or (call.has(past) and cache is None):
        return None
    if cache is None:
        return x.shape[1]
    if length == "all":
        return x.shape[1] + cache.shape[-2] if len(cache.shape) > 1 else None
    return x.shape[1] + length if isinstance(length, int) else None


class _Places(NamedTuple):
    """Where the operands of attention without a projection stand."""

    bias: int
    mask: int
    score_bias: int
    past: int
    filled: int


def _parts(steps: Steps) -> list[str]:
    """Queries, keys and values of operands that hold one, two or three of them."""
    call = steps.call
    if call.has(1) and call.has(2):
        return [call.operand(0), call.operand(1), call.operand(2)]
    if call.has(1):
        return [call.operand(0), *_unpacked(steps, 1, 2)]
    if call.rank(0) == 3:
        return steps.split(call.operand(0), 3, {"axis": -1})
    return _unpacked(steps, 0, 3)


def _unpacked(steps: Steps, position: int, parts: int) -> list[str]:
    """Operands that lie together: batch, positions, heads, ``parts``, depth."""
    _check_rank(steps.call, position, 5)
    taken = steps.split(steps.call.operand(position), parts, {"axis": 3})
    flat: dict[str, Attribute] = {"shape": (0, 0, -1)}
    return [steps.make("reshape", [("x", one)], flat) for one in taken]


def _biased(steps: Steps, position: int, tensors: list[str]) -> list[str]:
    """The bias of a projection that was done before, for queries, keys and values; keys of a cache have theirs already."""
    call = steps.call
    bias = call.type(position)
    if not call.has(position):
        return tensors
    if bias is not None and len(bias.shape) != 1:
        raise BadModel(f"a bias of shape {bias.shape}", where=call.name)
    width = _width(call)
    if width is None or bias is None:
        parts: dict[str, Attribute] = {"axis": 0}
    else:
        parts = {"axis": 0, "sizes": (width, width, bias.shape[0] - 2 * width)}
    biases = steps.split(call.operand(position), 3, parts)
    count = 1 if call.rank(1) == 4 else 3
    added = [
        steps.make("add", [("a", tensor), ("b", one)]) for tensor, one in zip(tensors[:count], biases, strict=False)
    ]
    return [*added, *tensors[count:]]


def _width(call: Foreign) -> int | None:
    """Features of the queries of all heads; None where they lie beside keys and values."""
    q = call.type(0)
    if q is None or (len(q.shape) == 3 and not call.has(1)):
        return None
    return q.shape[2] * q.shape[4] if len(q.shape) == 5 else q.shape[-1]


def _multi_head(places: _Places) -> Rule:
    """Attention of queries, keys and values that were projected before; keys of four dimensions are a cache, complete."""

    def rule(call: Foreign) -> Sequence[Step]:
        _check_rank(call, 0, 3, 5)
        heads, steps = heads_of(call), Steps(call)
        is_complete = call.rank(1) == 4
        q, k, v = _biased(steps, places.bias, _parts(steps))
        shared = call.has(places.filled) if call.op == "MultiHeadAttention" else bool(_shares(call))
        shared = shared and call.has(places.past) and not is_complete
        attributes: dict[str, Attribute] = {"heads": heads, "causal": bool(call.get("unidirectional", 0))}
        attributes["past_length"] = _filled(call, places.filled, shared=shared)
        pairs = [("q", q), ("k", k), ("v", v), *_mask(steps, places.mask)]
        pairs.append(("score_bias", steps.optional(places.score_bias)))
        if not is_complete:
            pairs += [(name, steps.optional(places.past + at)) for at, name in enumerate(("past_key", "past_value"))]
        declared = {
            **_buffer(call, "present_key", places.past, shared=shared),
            **_buffer(call, "present_value", places.past + 1, shared=shared),
        }
        steps.ask("attention", pairs, attributes, _RESULTS, call.outputs, declared)
        return steps.steps

    return rule


def _shares(call: Foreign) -> int:
    return int(call.get("past_present_share_buffer", 0))


def _grouped_query(call: Foreign) -> Sequence[Step]:
    """Fewer heads of keys than of queries; ``total_sequence_length`` says how many keys there are with those of the cache."""
    _check_rank(call, 0, 3)
    heads, kv_heads, steps = heads_of(call), heads_of(call, "kv_num_heads"), Steps(call)
    if call.get("sliding_window_cache", 0):
        return set_aside(call, "which positions a cache of one window holds depends on values", _grouped_types(call))
    if call.get("kv_cache_bit_width", 0) == 4:
        return set_aside(call, "there is no rule for a cache of 4-bit values", _grouped_types(call))
    q, k, v = _grouped_parts(steps, heads, kv_heads)
    q, k = _normalised(steps, q, 14, heads), _normalised(steps, k, 15, kv_heads)
    if call.get("do_rotary", 0):
        tables = [call.operand(7), call.operand(8), *([call.operand(9)] if call.has(9) else [])]
        q, k = _rotated(steps, (q, k), (heads, kv_heads), tables)
    attributes: dict[str, Attribute] = {
        "heads": heads,
        "kv_heads": kv_heads,
        "past_length": _cached(call),
        "causal": bool(call.get("causal", 1)),
        "softcap": call.get("softcap", 0.0),
        "smooth_softmax": call.get("smooth_softmax", -1) == 1,
    }
    pairs = [("q", q), ("k", k), ("v", v), ("past_key", steps.optional(3)), ("past_value", steps.optional(4))]
    pairs += [("kv_lengths", steps.optional(5)), ("score_bias", steps.optional(10)), ("sinks", steps.optional(11))]
    steps.ask("attention", pairs, attributes, _RESULTS, call.outputs)
    return steps.steps


def _grouped_types(call: Foreign) -> list[TensorType | None]:
    """The type of the result where queries have an operand of their own: that of the queries."""
    return [call.type(0) if call.has(1) else None]


def _grouped_parts(steps: Steps, heads: int, kv_heads: int) -> tuple[str, str, str]:
    call = steps.call
    if call.has(1):
        return call.operand(0), call.operand(1), call.operand(2)
    packed = call.type(0)
    parts: dict[str, Attribute] = {"axis": -1, "sizes": UNKNOWN}
    if packed is not None:
        depth, rest = divmod(packed.shape[-1], heads + 2 * kv_heads)
        if rest:
            what = f"{packed.shape[-1]} features are no {heads} heads of queries and {kv_heads} of keys and of values"
            raise BadModel(what, where=call.name)
        parts["sizes"] = (heads * depth, kv_heads * depth, kv_heads * depth)
    q, k, v = steps.split(call.operand(0), 3, parts)
    return q, k, v


def _normalised(steps: Steps, x: str, weight: int, heads: int) -> str:
    """Every head divided by its root mean square, where there is a weight for that."""
    call = steps.call
    if not call.has(weight):
        return x
    apart = steps.make("reshape", [("x", x)], {"shape": (0, 0, heads, -1)})
    epsilon = call.get("qk_norm_epsilon", 1e-6)
    done = steps.make("rms_norm", [("x", apart), ("scale", call.operand(weight))], {"epsilon": epsilon})
    return steps.make("reshape", [("x", done)], {"shape": (0, 0, -1)})


def _cached(call: Foreign) -> Attribute:
    """How many positions of the cache are filled: all keys less those of this call."""
    if not call.has(3):
        return "all"
    new = call.type(1) if call.has(1) else call.type(0)
    total = number_in(call, 6)
    bias = call.type(10)
    if total == UNKNOWN and bias is not None and bias.shape:
        total = bias.shape[-1]
    # With a padded chunk of queries the total is only a bound.
    if new is None or len(new.shape) != 3 or not isinstance(total, int) or call.has(16):
        return UNKNOWN
    if total < new.shape[1]:
        raise BadModel(f"{new.shape[1]} new positions of {total} in all", where=call.name)
    return total - new.shape[1]


def _packed_attention(call: Foreign) -> Sequence[Step]:
    """PackedAttention: the real positions of all sequences on one axis; input, weights, bias, offsets, ends, bias of the scores."""
    _check_rank(call, 0, 2)
    heads, steps = heads_of(call), Steps(call)
    return _of_packed(steps, heads, _projected(steps, heads), offsets=3, bias=5)


def _packed_multi_head(call: Foreign) -> Sequence[Step]:
    """PackedMultiHeadAttention: queries, keys, values, bias, offsets, ends, bias of the scores; or the three in one operand."""
    heads, steps = heads_of(call), Steps(call)
    if call.has(1):
        _check_rank(call, 0, 2)
        parts = [call.operand(position) for position in range(3)]
    else:
        _check_rank(call, 0, 4)
        taken = steps.split(call.operand(0), 3, {"axis": 2})
        parts = [steps.make("reshape", [("x", one)], {"shape": (0, -1)}) for one in taken]
    if call.has(3):
        q = call.type(0)
        width = None if q is None else q.shape[-1] * (q.shape[1] if len(q.shape) == 4 else 1)
        bias = call.type(3)
        sizes = () if width is None or bias is None else (width, width, bias.elements - 2 * width)
        cut: dict[str, Attribute] = {"axis": 0, "sizes": sizes} if sizes else {"axis": 0}
        biases = steps.split(call.operand(3), 3, cut)
        parts = [steps.make("add", [("a", a), ("b", b)]) for a, b in zip(parts, biases, strict=True)]
    return _of_packed(steps, heads, parts, offsets=4, bias=6)


def _of_packed(steps: Steps, heads: int, parts: Sequence[str], *, offsets: int, bias: int) -> Sequence[Step]:
    """Where no position is padding, the sequences are as long as each other, and the attention is an ordinary one."""
    call = steps.call
    packed, padded = call.type(0), call.type(offsets)
    if packed is None or padded is None or len(padded.shape) != 2 or packed.shape[0] != padded.elements:
        steps.set_aside(parts[0], call.outputs, [_packed_result(call)], _PACKED_REASON)
        return steps.steps
    apart: dict[str, Attribute] = {"shape": (*padded.shape, -1)}
    q, k, v = (steps.make("reshape", [("x", part)], apart) for part in parts)
    pairs = [("q", q), ("k", k), ("v", v), ("score_bias", steps.optional(bias))]
    y = steps.make("attention", pairs, {"heads": heads})
    return steps.done("reshape", [("x", y)], {"shape": (packed.shape[0], -1)})


def _packed_result(call: Foreign) -> TensorType | None:
    """As many positions as go in, of as many features as the values have."""
    packed, weight = call.type(0), call.type(1)
    if packed is None:
        return None
    if call.op == "PackedMultiHeadAttention":
        width = packed.shape[1] * packed.shape[3] if len(packed.shape) == 4 else None
        values = call.type(2)
        width = values.shape[-1] if values is not None and values.shape else width
    else:
        sizes = call.get("qkv_hidden_sizes")
        width = sizes[2] if sizes else None if weight is None else weight.shape[-1] // 3
    return None if width is None else TensorType((packed.shape[0], width), packed.dtype)


def _longformer(call: Foreign) -> Sequence[Step]:
    reason = "how many positions attend to all others depends on values"
    return set_aside(call, reason, [call.type(0)])


ATTENTION_RULES: Final[Mapping[str, Rule]] = {
    "Attention": _self_attention,
    "DecoderMaskedSelfAttention": _self_attention,
    "QAttention": _quantised_attention,
    "MultiHeadAttention": _multi_head(_Places(bias=3, mask=4, score_bias=5, past=6, filled=8)),
    "DecoderMaskedMultiHeadAttention": _multi_head(_Places(bias=10, mask=3, score_bias=4, past=5, filled=7)),
    "GroupQueryAttention": _grouped_query,
    "PackedAttention": _packed_attention,
    "PackedMultiHeadAttention": _packed_multi_head,
    "LongformerAttention": _longformer,
}
"""By the operators' names."""

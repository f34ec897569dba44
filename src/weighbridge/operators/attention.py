"""Scaled dot-product attention as one operator, with grouped queries, masks, sinks and a cache of keys and values.

A cache holds (batch, kv heads, positions, depth) in two operands ``past_key`` and ``past_value``, or both stacked in one,
``past``.  All its positions are filled, or the first ``past_length`` of a buffer that the new keys are written into; results
of it have the positions of the buffer then.  Where ``past_length`` is unknown, so is how many keys a query meets.
"""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import UNKNOWN, Attribute, Shape, TensorType
from weighbridge.named_tuple import NamedTuple

from .halo import needs_all
from .normalisation import SOFTMAX
from .record import Call, DependsOnValues, Keeps, Kind, Loops, Op, Work, types_of
from .rules import known, number
from .shapes import asked_outputs, broadcast
from .time_class import TimeClass

__all__ = ["ATTENTION_OPERATORS"]


class _Heads(NamedTuple):
    """Sizes of an attention: ``batch`` are all axes in front of the heads; past keys stand in front of the new ones.

    ``cached`` are the positions that the cache has room for, ``past`` those of them that are filled, None where that is
    not known.
    """

    batch: Shape
    heads: int
    kv_heads: int
    queries: int
    cached: int
    past: int | None
    keys: int
    depth: int
    value_depth: int

    @property
    def all_keys(self) -> int:
        if self.past is None:
            raise DependsOnValues("how many positions of the cache are filled depends on values")
        return self.past + self.keys

    @property
    def rows(self) -> int:
        """Rows of scores: one for every query of every head."""
        return prod(self.batch) * self.heads * self.queries


def _split(shape: Shape, heads: int, name: str) -> tuple[Shape, int, int, int]:
    """(batch, heads, positions, depth) of an operand.

    With ``heads`` given and three dimensions the heads lie in the last one, (batch, positions, heads x depth); else they
    are the axis in front of the positions, and two dimensions have one head.
    """
    if heads and len(shape) == 3:
        if shape[2] % heads:
            raise GraphError(f"{shape[2]} features of {name} cannot be split into {heads} heads")
        return shape[:1], heads, shape[1], shape[2] // heads
    if len(shape) < 2:
        raise GraphError(f"{name} has at least 2 dimensions, not {len(shape)}")
    found = shape[-3] if len(shape) > 2 else 1
    if heads and found != heads:
        raise GraphError(f"{name} has {found} heads, not {heads}")
    return shape[:-3], found, shape[-2], shape[-1]


def _caches(call: Call, heads: _Heads) -> dict[str, Shape]:
    """What each operand of a cache has for its shape, its positions being those of the first."""
    if call.has("past") and not call.has("past_key") and not call.has("past_value"):
        shape = call.past.shape
        if heads.depth != heads.value_depth:
            raise GraphError(f"keys of {heads.depth} values and values of {heads.value_depth} do not lie in one cache")
        return {"past": (2, *heads.batch, heads.kv_heads, shape[-2] if len(shape) > 1 else 0, heads.depth)}
    if call.has("past") or not (call.has("past_key") and call.has("past_value")):
        raise GraphError("a cache is past_key and past_value together, or past alone")
    key = call.past_key.shape
    lead = (*heads.batch, heads.kv_heads, key[-2] if len(key) > 1 else 0)
    return {"past_key": (*lead, heads.depth), "past_value": (*lead, heads.value_depth)}


def _with_past(call: Call, heads: _Heads) -> _Heads:
    """``heads`` with the positions of its cache."""
    if not any(map(call.has, ("past", "past_key", "past_value"))):
        return heads
    cached = 0
    for name, expected in _caches(call, heads).items():
        if call.all(name)[0].shape != expected:
            raise GraphError(f"{name} has the shape {call.all(name)[0].shape}, not {expected}")
        cached = expected[-2]
    if call["past_length"] == UNKNOWN:
        return heads._replace(cached=cached, past=None)
    past = cached if call["past_length"] == "all" else call.integer("past_length")
    if not 0 <= past <= cached:
        raise GraphError(f"{past} of the {cached} positions of a cache cannot be filled")
    return heads._replace(cached=max(cached, past + heads.keys), past=past)


def _heads(call: Call) -> _Heads:
    given, kv_given = call.integer("heads"), call.integer("kv_heads")
    if given < 0 or kv_given < 0:
        raise GraphError(f"{given} heads and {kv_given} heads of keys: neither can be negative")
    batch, heads, queries, depth = _split(call.q.shape, given, "q")
    k_batch, kv_heads, keys, k_depth = _split(call.k.shape, kv_given or given, "k")
    v_batch, v_heads, v_keys, value_depth = _split(call.v.shape, kv_given or given, "v")
    if (keys, kv_heads, depth) != (v_keys, v_heads, k_depth):
        raise GraphError(
            f"q, k and v of shapes {call.q.shape}, {call.k.shape} and {call.v.shape} do not fit each other"
        )
    if kv_heads != heads and (kv_heads < 1 or heads % kv_heads):
        raise GraphError(f"{heads} heads cannot share {kv_heads} heads of keys")
    found = _Heads(broadcast(batch, k_batch, v_batch), heads, kv_heads, queries, keys, 0, keys, depth, value_depth)
    return _with_past(call, found)


def _check_scores(call: Call, heads: _Heads) -> None:
    """Mask and bias broadcast to the scores; their last axis may end early, and what lies behind it is masked (ONNX Attention-24)."""
    for name in ("mask", "score_bias"):
        if not call.has(name) or heads.past is None:
            continue
        shape, scores = call.all(name)[0].shape, (*heads.batch, heads.heads, heads.queries)
        last = shape[-1] if shape else 1
        if last > max(heads.all_keys, 1) or broadcast(shape[:-1], scores) != scores:
            raise GraphError(f"a {name} of shape {shape} does not fit scores of shape {(*scores, heads.all_keys)}")
    if call.has("sinks") and call.sinks.shape != (heads.heads,):
        raise GraphError(f"sinks of shape {call.sinks.shape} for {heads.heads} heads")


def _infer(call: Call) -> tuple[TensorType | DType, ...]:
    heads = _heads(call)
    _check_scores(call, heads)
    if call.integer("heads") and len(call.q.shape) == 3:
        output: Shape = (*heads.batch, heads.queries, heads.heads * heads.value_depth)
    elif len(call.q.shape) == 2 and not heads.batch:
        output = (heads.queries, heads.value_depth)
    else:
        output = (*heads.batch, heads.heads, heads.queries, heads.value_depth)
    rows = (*heads.batch, heads.heads, heads.queries)
    results: dict[str, TensorType | DType] = {"y": TensorType(output, call.q.dtype), **_present(call, heads)}
    results["scores"] = call.q.dtype if heads.past is None else TensorType((*rows, heads.all_keys), call.q.dtype)
    results["log_sums"] = TensorType(rows, DTYPES["float32"])
    return asked_outputs(call, results)


def _present(call: Call, heads: _Heads) -> dict[str, TensorType | DType]:
    """The cache with the new keys and values, kept as it was."""
    dtypes = {
        "present_key": (call.past_key if call.has("past_key") else call.k).dtype,
        "present_value": (call.past_value if call.has("past_value") else call.v).dtype,
        "present": (call.past if call.has("past") else call.k).dtype,
    }
    if heads.past is None:
        return {**dtypes}
    lead = (*heads.batch, heads.kv_heads, heads.cached)
    shapes = {
        "present_key": (*lead, heads.depth),
        "present_value": (*lead, heads.value_depth),
        "present": (2, *lead, heads.depth),
    }
    return {name: TensorType(shape, dtypes[name]) for name, shape in shapes.items()}


def _loops(call: Call) -> tuple[Loops, ...]:
    """Every query meets every key, whatever a mask, causality or a sliding window hides afterwards: the full rectangle."""
    heads = _heads(call)
    groups = prod(heads.batch) * heads.heads
    return (
        Loops(heads.queries, heads.all_keys, heads.depth, groups, "scores"),
        Loops(heads.queries, heads.value_depth, heads.all_keys, groups, "values"),
    )


def _work(call: Call) -> Work | None:
    """Per score: a multiplication for the scale, softmax as its own operator counts it, and where they apply the cap (a
    division, a tanh, a multiplication), a bias (an addition), the mask (an addition, or a selection where it is boolean) and
    the selection of causality.  Per row: a sink takes part in the softmax like a score, and a smooth softmax has a sink of 0;
    where its ``log_sums`` are asked for a logarithm and an addition.  Not known with a ``score_function`` of the model's own.

    A cache of another type than the keys is dequantised, a multiplication a value, and new keys and values are quantised.
    """
    if call.integer("score_function"):
        return None
    unit = Work(mul=1).plus(SOFTMAX)
    if not known(call, "softcap") or number(call, "softcap"):
        unit = unit.plus(Work(mul=1, div=1, special=1))
    if call.has("score_bias"):
        unit = unit.plus(Work(add=1))
    if call.has("mask"):
        unit = unit.plus(Work(compare=1) if call.mask.dtype.kind == "bool" else Work(add=1))
    if call.integer("causal"):
        unit = unit.plus(Work(compare=1))
    heads = _heads(call)
    row = Work(add=1, special=1) if "log_sums" in _asked(call) else Work()
    if call.has("sinks") or call.integer("smooth_softmax"):
        row = row.plus(SOFTMAX._replace(div=0))
    return unit.times(heads.all_keys).plus(row).times(heads.rows).plus(_cache_work(call, heads))


def _cache_work(call: Call, heads: _Heads) -> Work:
    """Of a cache in a type of its own: 1 mul a value read from it; 1 add, 1 div, 2 compare a value that joins it."""
    cache = next((call.all(name)[0] for name in ("past", "past_key") if call.has(name)), call.k)
    if cache.dtype == call.k.dtype:
        return Work()
    position = prod(heads.batch) * heads.kv_heads * (heads.depth + heads.value_depth)
    read = Work(mul=heads.all_keys - heads.keys)
    return read.plus(Work(add=1, div=1, compare=2).times(heads.keys)).times(position)


def _multiplies(call: Call) -> tuple[DType, ...]:
    """Queries, keys and values: a mask is added, and a cache of another type is dequantised to theirs."""
    return types_of(call, "q", "k", "v")


def _asked(call: Call) -> tuple[Attribute, ...]:
    value = call["outputs"]
    return value if isinstance(value, tuple) else (value,)


ATTENTION_OPERATORS: Final = (
    Op(
        "attention",
        Kind.CONTRACTION,
        "q:weight k:weight v:weight mask? past_key? past_value? kv_lengths:control? past? score_bias? sinks:affine?",
        _infer,
        _work,
        loops=_loops,
        multiplies=_multiplies,
        keeps=Keeps.OPERANDS,
        attributes={
            "heads": 0,
            "kv_heads": 0,
            "past_length": "all",
            "causal": False,
            "softcap": 0.0,
            "smooth_softmax": False,
            "score_function": False,
            "outputs": ("y",),
        },
        summary="scaled dot-product attention, grouped queries and a cache included; causal ones and those of a sliding "
        "window count the full rectangle; ``log_sums`` are the logarithms of the softmax's sums",
        halo=needs_all,
        time=TimeClass.ATTENTION,
    ),
)

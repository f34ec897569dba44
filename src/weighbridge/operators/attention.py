"""Scaled dot-product attention as one operator, with grouped queries, masks and a cache of keys and values."""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple

from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .normalisation import SOFTMAX
from .record import Call, Kind, Loops, Op, Work
from .rules import number
from .shapes import asked_outputs, broadcast

__all__ = ["ATTENTION_OPERATORS"]


class _Heads(NamedTuple):
    """Sizes of an attention: ``batch`` are all axes in front of the heads; ``past`` keys stand in front of the new ones."""

    batch: Shape
    heads: int
    kv_heads: int
    queries: int
    past: int
    keys: int
    depth: int
    value_depth: int

    @property
    def all_keys(self) -> int:
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


def _past(call: Call, heads: _Heads) -> int:
    """The positions in the cache, whose keys and values are kept as (batch, kv heads, positions, depth)."""
    if not call.has("past_key") and not call.has("past_value"):
        return 0
    if not (call.has("past_key") and call.has("past_value")):
        raise GraphError("past_key and past_value come together")
    key = call.past_key.shape
    past = key[-2] if len(key) > 1 else 0
    for name, depth in (("past_key", heads.depth), ("past_value", heads.value_depth)):
        expected = (*heads.batch, heads.kv_heads, past, depth)
        if call.all(name)[0].shape != expected:
            raise GraphError(f"{name} has the shape {call.all(name)[0].shape}, not {expected}")
    return past


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
    found = _Heads(broadcast(batch, k_batch, v_batch), heads, kv_heads, queries, 0, keys, depth, value_depth)
    return found._replace(past=_past(call, found))


def _check_mask(call: Call, heads: _Heads) -> None:
    """A mask broadcasts to the scores; its last axis may end early, and what lies behind it is masked (ONNX Attention-24)."""
    if not call.has("mask"):
        return
    shape, scores = call.mask.shape, (*heads.batch, heads.heads, heads.queries)
    last = shape[-1] if shape else 1
    if last > max(heads.all_keys, 1) or broadcast(shape[:-1], scores) != scores:
        raise GraphError(f"a mask of shape {shape} does not fit scores of shape {(*scores, heads.all_keys)}")


def _infer(call: Call) -> tuple[TensorType, ...]:
    heads = _heads(call)
    _check_mask(call, heads)
    if call.integer("heads") and len(call.q.shape) == 3:
        output: Shape = (*heads.batch, heads.queries, heads.heads * heads.value_depth)
    elif len(call.q.shape) == 2 and not heads.batch:
        output = (heads.queries, heads.value_depth)
    else:
        output = (*heads.batch, heads.heads, heads.queries, heads.value_depth)
    cache = (*heads.batch, heads.kv_heads, heads.all_keys)
    return asked_outputs(
        call,
        {
            "y": TensorType(output, call.q.dtype),
            "present_key": TensorType((*cache, heads.depth), call.k.dtype),
            "present_value": TensorType((*cache, heads.value_depth), call.v.dtype),
            "scores": TensorType((*heads.batch, heads.heads, heads.queries, heads.all_keys), call.q.dtype),
            "log_sums": TensorType((*heads.batch, heads.heads, heads.queries), DTYPES["float32"]),
        },
    )


def _loops(call: Call) -> tuple[Loops, ...]:
    """Every query meets every key, whatever a mask or causality hides afterwards: the full rectangle."""
    heads = _heads(call)
    groups = prod(heads.batch) * heads.heads
    return (
        Loops(heads.queries, heads.all_keys, heads.depth, groups, "scores"),
        Loops(heads.queries, heads.value_depth, heads.all_keys, groups, "values"),
    )


def _work(call: Call) -> Work | None:
    """Per score: a multiplication for the scale, softmax as its own operator counts it, and where they apply the cap (a
    division, a tanh, a multiplication), the mask (an addition, or a selection where it is boolean) and the selection of
    causality.  Per row where its ``log_sums`` are asked for: a logarithm and an addition.  Not known with a
    ``score_function`` of the model's own.
    """
    if call.integer("score_function"):
        return None
    unit = Work(mul=1).plus(SOFTMAX)
    if number(call, "softcap"):
        unit = unit.plus(Work(mul=1, div=1, special=1))
    if call.has("mask"):
        unit = unit.plus(Work(compare=1) if call.mask.dtype.kind == "bool" else Work(add=1))
    if call.integer("causal"):
        unit = unit.plus(Work(compare=1))
    heads = _heads(call)
    row = Work(add=1, special=1) if "log_sums" in _asked(call) else Work()
    return unit.times(heads.all_keys).plus(row).times(heads.rows)


def _asked(call: Call) -> tuple[Attribute, ...]:
    value = call["outputs"]
    return value if isinstance(value, tuple) else (value,)


ATTENTION_OPERATORS: Final = (
    Op(
        "attention",
        Kind.CONTRACTION,
        "q:weight k:weight v:weight mask? past_key? past_value? kv_lengths:control?",
        _infer,
        _work,
        loops=_loops,
        attributes={
            "heads": 0,
            "kv_heads": 0,
            "causal": False,
            "softcap": 0.0,
            "score_function": False,
            "outputs": ("y",),
        },
        summary="scaled dot-product attention, grouped queries and a cache included; causal ones count the full rectangle; "
        "``log_sums`` are the logarithms of the softmax's sums",
    ),
)

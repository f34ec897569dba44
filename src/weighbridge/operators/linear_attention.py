"""Linear attention: a state of keys by values that every token updates and every query reads.

Of each token and head of keys the state takes the outer product of key and value, summed over the tokens, and each query head
reads it: one product each.  Where the state is corrected (``delta``) a token first reads with its key what the state has, which
is one product more.  That counts the recurrence as it is defined, whichever chunks a kernel works in.
"""

from __future__ import annotations

from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import TensorType
from weighbridge.named_tuple import NamedTuple

from .record import REQUIRED, Call, Kind, Loops, Op, Work, types_of
from .shapes import asked_outputs
from .time_class import TimeClass

__all__ = ["LINEAR_ATTENTION_OPERATORS"]

_RULES: Final = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
"""By ``rule``: whether the state decays, and whether it is corrected."""


class _Heads(NamedTuple):
    """Sizes: batch, tokens, heads of queries and of keys, features of a key and of a value."""

    batch: int
    tokens: int
    heads: int
    kv_heads: int
    key: int
    value: int


def _rule(call: Call) -> tuple[bool, bool]:
    name = call.text("rule")
    if name not in _RULES:
        raise GraphError(f"a state is not updated by {name!r}", hint=f"it is one of {', '.join(_RULES)}")
    return _RULES[name]


def _heads(call: Call) -> _Heads:
    heads, kv_heads = call.integer("heads"), call.integer("kv_heads")
    if heads < 1 or kv_heads < 1 or heads % kv_heads:
        raise GraphError(f"{heads} heads of queries for {kv_heads} of keys")
    shapes = [one.shape for one in (call.q, call.k, call.v)]
    if any(len(shape) != 3 or shape[:2] != shapes[0][:2] for shape in shapes):
        raise GraphError(
            f"queries, keys and values of shape {', '.join(map(str, shapes))} are no batch x tokens x heads"
        )
    key, value = shapes[0][2] // heads, shapes[2][2] // kv_heads
    if (key * heads, key * kv_heads, value * kv_heads) != tuple(shape[2] for shape in shapes):
        raise GraphError(f"features of {[shape[2] for shape in shapes]} in {heads} and {kv_heads} heads")
    return _Heads(shapes[0][0], shapes[0][1], heads, kv_heads, key, value)


def _infer(call: Call) -> tuple[TensorType, ...]:
    one = _heads(call)
    for needed, name in zip(_rule(call), ("decay", "beta"), strict=True):
        if needed != call.has(name):
            raise GraphError(f"the rule {call['rule']} {'needs' if needed else 'has no'} {name}")
    state = (one.batch, one.kv_heads, one.key, one.value)
    if call.has("state") and call.state.shape != state:
        raise GraphError(f"a state of shape {call.state.shape} where it is {state}")
    kept = TensorType(state, call.state.dtype if call.has("state") else call.q.dtype)
    y = TensorType((one.batch, one.tokens, one.heads * one.value), call.q.dtype)
    return asked_outputs(call, {"y": y, "state": kept})


def _loops(call: Call) -> tuple[Loops, ...]:
    """Key by value summed over the tokens, the query's product with the state, and for ``delta`` the key's."""
    one = _heads(call)
    write = Loops(one.value, one.key, one.tokens, one.batch * one.kv_heads, "write")
    read = Loops(one.value, 1, one.key, one.batch * one.tokens * one.heads, "read")
    if not _rule(call)[1]:
        return write, read
    return Loops(one.value, 1, one.key, one.batch * one.tokens * one.kv_heads, "correct"), write, read


def _work(call: Call) -> Work:
    """1 mul a value read, for the scale; 1 special a decay and 1 mul an element of the state and token; 1 add, 1 mul a value
    corrected.
    """
    one, (decays, corrects) = _heads(call), _rule(call)
    rows = one.batch * one.tokens
    done = Work(mul=rows * one.heads * one.value)
    if decays:
        done = done.plus(Work(special=call.decay.elements, mul=rows * one.kv_heads * one.key * one.value))
    return done.plus(Work(add=1, mul=1).times(rows * one.kv_heads * one.value)) if corrects else done


LINEAR_ATTENTION_OPERATORS: Final = (
    Op(
        "linear_attention",
        Kind.CONTRACTION,
        "q:weight k:weight v:weight state? decay? beta?",
        _infer,
        _work,
        loops=_loops,
        multiplies=lambda call: types_of(call, "q", "k", "v", "state"),
        attributes={"heads": REQUIRED, "kv_heads": REQUIRED, "rule": "gated_delta", "outputs": ("y",)},
        summary="attention through a state that every token updates, its cost linear in the tokens",
        time=TimeClass.ATTENTION,
    ),
)

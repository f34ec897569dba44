"""ONNX operators on signals and text, and those that carry a state from one token to the next, as ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.onnx_ml import fault, listed, one_of
from weighbridge.frontends.onnx_steps import number_in
from weighbridge.frontends.onnx_tensors import dtype_of
from weighbridge.graph import UNKNOWN, Attribute

__all__ = ["SIGNAL_RULES"]

_ACTIVATIONS: Final = {"none": "", "silu": "silu", "swish": "silu"}
_UPDATES: Final = {name: name for name in ("linear", "gated", "delta", "gated_delta")}


def _dft_axis(call: Foreign, rank: int) -> Attribute:
    """An attribute before opset 20; the last axis is that of the parts of complex numbers."""
    axis = call.get("axis", 1) if call.version < 20 else number_in(call, 2, -2)
    if not isinstance(axis, int):
        return UNKNOWN
    if not -rank <= axis < rank or axis % rank == rank - 1:
        raise BadModel(
            f"transforms axis {axis} of {rank} dimensions, the last of them the parts of a number", where=call.name
        )
    return axis % rank


def _dft(call: Foreign) -> dict[str, Attribute]:
    kind = call.type(0)
    if kind is None:
        return {"axes": UNKNOWN}
    inverse, one_sided, is_real = bool(call.get("inverse", 0)), bool(call.get("onesided", 0)), kind.shape[-1:] == (1,)
    if one_sided and inverse == is_real:
        has, wanted = ("real", "complex") if is_real else ("complex", "real")
        direction = "inverse" if inverse else "forward"
        raise BadModel(f"a one-sided {direction} transform is of {wanted} numbers, not of {has} ones", where=call.name)
    form = ("half_to_real" if inverse else "real_to_half") if one_sided else "real_to_full" if is_real else "complex"
    axis = _dft_axis(call, len(kind.shape))
    size: Attribute = kind.shape[axis] if isinstance(axis, int) else UNKNOWN
    if form == "half_to_real" and isinstance(size, int):
        size = 2 * (size - 1)
    size = number_in(call, 1, size)
    axes: Attribute = (axis,) if axis != UNKNOWN else UNKNOWN
    sizes: Attribute = (size,) if size != UNKNOWN else UNKNOWN
    return {"axes": axes, "sizes": sizes, "form": form, "scaled": inverse, "pairs": True}


def _stft(call: Foreign) -> dict[str, Attribute]:
    return {
        "step": number_in(call, 1),
        "size": number_in(call, 3, "window"),
        "one_sided": bool(call.get("onesided", 1)),
    }


def _mel(call: Foreign) -> dict[str, Attribute]:
    dtype = dtype_of(call.get("output_datatype", 1)).name
    return {"bands": number_in(call, 0), "size": number_in(call, 1), "dtype": dtype}


def _n_grams(call: Foreign) -> Sequence[Step]:
    """The pool and where its n-grams begin and count stand in attributes."""
    pool, indexes = listed(call, "pool_int64s", "pool_strings"), call.get("ngram_indexes", ())
    if not pool.length or not indexes or min(indexes) < 0:
        raise fault(call, f"has {pool.length} numbers or words of n-grams for {len(indexes)} places")
    counts, weights = listed(call, "ngram_counts"), listed(call, "weights")
    held = [pool.held("pool"), listed(call, "ngram_indexes").held("positions")]
    held += [one.held(operand) for one, operand in ((counts, "positions"), (weights, "weights")) if one.length]
    return (Step("ngram_counts", bind(call, "x"), {"size": max(indexes) + 1}, call.outputs, (), held),)


def _causal_convolution(call: Foreign) -> Sequence[Step]:
    """A depthwise convolution over what came before and the input; the state is what its last window leaves over."""
    x, w = call.type(0), call.type(1)
    known = x is not None and w is not None and len(x.shape) == len(w.shape) == 3
    groups, length, before = (x.shape[1], x.shape[2], w.shape[2] - 1) if known and x and w else (1, 0, 0)
    joined = call.inner("joined")
    steps = [Step("pad", bind(call, "x"), {"pads": (before, 0) if known else UNKNOWN, "axes": (2,)}, [joined])]
    if call.has(3):
        steps = [Step("concat", [("xs", call.operand(3)), ("xs", call.operand(0))], {"axis": 2}, [joined])]
    activation = one_of(call, "activation", "none", _ACTIVATIONS)
    made = call.inner("convolution") if activation else call.outputs[0]
    operands = [("x", joined), ("w", call.operand(1)), *([("b", call.operand(2))] if call.has(2) else [])]
    steps.append(Step("conv", operands, {"groups": groups}, [made]))
    if activation:
        steps.append(Step(activation, [("x", made)], {}, [call.outputs[0]]))
    if call.has_output(1):
        ends: dict[str, Attribute] = {"starts": UNKNOWN, "ends": UNKNOWN}
        if known:
            ends = {"starts": (length,), "ends": (length + before,)}
        steps.append(Step("slice", [("x", joined)], {**ends, "axes": (2,), "steps": 1}, [call.outputs[1]]))
    return steps


def _linear_attention(call: Foreign) -> dict[str, Attribute]:
    return {
        "heads": call.get("q_num_heads", 0),
        "kv_heads": call.get("kv_num_heads", 0),
        "rule": one_of(call, "update_rule", "gated_delta", _UPDATES),
    }


SIGNAL_RULES: Final[dict[str, Rule]] = {
    "DFT": As("fourier_transform", "x - -", _dft),
    "STFT": As("short_time_fourier_transform", "x - window -", _stft),
    "MelWeightMatrix": As("mel_weights", "*numbers", _mel),
    "TfIdfVectorizer": _n_grams,
    "ImageDecoder": As("image_decoder", "x"),
    "CausalConvWithState": _causal_convolution,
    "LinearAttention": As("linear_attention", "q k v state decay beta", _linear_attention, "y state"),
}

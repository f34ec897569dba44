"""Mixtures of experts as ONNX Runtime's own operators have them (com.microsoft MoE and QMoE).

Every position goes through the ``k`` experts that its router scores highest, whichever these are: rows are sorted by expert,
and each run of them is multiplied by the matrices of its own.  So the MACs are those of ``k`` experts, and parameters are all.

Source: ONNX Runtime, docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign, Rule, Step, set_aside
from weighbridge.frontends.onnx_steps import PACKED, Steps
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.named_tuple import NamedTuple

__all__ = ["EXPERT_RULES"]

_FUNCTIONS: Final[Mapping[str, tuple[tuple[str, Mapping[str, Attribute]], ...]]] = {
    "relu": (("relu", {}),),
    "relu2": (("relu", {}), ("square", {})),
    "gelu": (("gelu", {}),),
    "silu": (("silu", {}),),
    "identity": (("identity", {}),),
    "geglu": (("gelu", {"approximate": "tanh"}),),
}
"""Functions between the layers of an expert; swiglu has attributes of its own."""


class _Layer(NamedTuple):
    """Where the operands of one layer of all experts stand; ``scale`` and ``zero_point`` only of quantised ones."""

    name: str
    weight: int
    bias: int
    scale: int = -1
    zero_point: int = -1


_PLAIN: Final = (_Layer("fc1", 2, 3), _Layer("fc2", 4, 5), _Layer("fc3", 6, 7))
_QUANTISED: Final = (_Layer("fc1", 2, 4, 3, 11), _Layer("fc2", 5, 7, 6, 12), _Layer("fc3", 8, 10, 9, 13))


class _Routed(NamedTuple):
    """The rows of all positions, each as often as it has experts, sorted by expert; where each expert's end; their shares."""

    rows: str
    ends: str
    shares: str
    positions: int
    chosen: int


def _mixture(layers: tuple[_Layer, _Layer, _Layer]) -> Rule:
    def rule(call: Foreign) -> Sequence[Step]:
        x, router, chosen = call.type(0), call.type(1), call.get("k", 1)
        if x is None or router is None or len(x.shape) not in (2, 3):
            return set_aside(call, "the shapes of its input and its router are unknown", [x])
        if len(router.shape) != 2 or not 1 <= chosen <= router.shape[1] or router.shape[0] != prod(x.shape[:-1]):
            what = f"{chosen} of the experts of a router of shape {router.shape} for an input of shape {x.shape}"
            raise BadModel(what, where=call.name)
        if call.get("quant_type", "int") != "int":
            return set_aside(call, f"there is no rule for experts quantised as {call.get('quant_type')!r}", [x])
        name = call.get("activation_type", "relu")
        if name != "swiglu" and name not in _FUNCTIONS:
            return set_aside(call, f"there is no rule for the function {name!r} of its experts", [x])
        if any(_bits(call, layer) not in PACKED for layer in layers if layer.scale >= 0):
            return set_aside(call, "there is no rule for packed weights of these bits", [x])
        steps = Steps(call)
        routed = _routed(steps, x, router.shape[1], chosen)
        inside = _function(steps, name, layers, routed, x.shape[-1])
        outside = _layer(steps, layers[1], inside, routed, x.shape[-1])
        return _joined(steps, outside, routed, x.shape)

    return rule


def _routed(steps: Steps, x: TensorType, experts: int, chosen: int) -> _Routed:
    """The router's scores as shares of the best experts of each position, and the rows sorted by expert."""
    call, positions = steps.call, prod(x.shape[:-1])
    scores = steps.make("softmax", [("x", call.operand(1))], {"axis": -1})
    shares, best = steps.largest(scores, chosen, -1)
    if call.has(14):
        # Scores of a second router at the experts that the first one chose.
        shares = steps.make("gather_elements", [("x", call.operand(14)), ("indices", best)], {"axis": -1})
    if call.get("normalize_routing_weights", 0):
        total = steps.make("reduce_sum", [("x", shares)], {"axes": (1,), "keep_dims": True})
        shares = steps.make("div", [("a", shares), ("b", total)])
    flat = steps.make("reshape", [("x", best)], {"shape": (positions * chosen,)})
    _, order = steps.largest(flat, positions * chosen, 0)
    ends = steps.make("cumsum", [("x", steps.make("histogram", [("x", flat)], {"bins": experts}))], {"axis": 0})
    packed = steps.make("reshape", [("x", call.operand(0))], {"shape": (positions, x.shape[-1])})
    rows = steps.make("gather", [("x", packed), ("indices", order)], {"axis": 0})
    return _Routed(rows, ends, shares, positions, chosen)


def _joined(steps: Steps, y: str, routed: _Routed, shape: Shape) -> Sequence[Step]:
    """What the experts of a position made, weighted by their shares and added."""
    apart = steps.make("reshape", [("x", y)], {"shape": (routed.positions, routed.chosen, shape[-1])})
    shares = steps.make("unsqueeze", [("x", routed.shares)], {"axes": (2,)})
    weighted = steps.make("mul", [("a", apart), ("b", shares)])
    total = steps.make("reduce_sum", [("x", weighted)], {"axes": (1,), "keep_dims": False})
    return steps.done("reshape", [("x", total)], {"shape": shape})


def _function(steps: Steps, name: str, layers: Sequence[_Layer], routed: _Routed, features: int) -> str:
    """The first layer and its function; where there is a gate, times the other half of the layer, or a layer of its own."""
    call = steps.call
    y = _layer(steps, layers[0], routed.rows, routed, features)
    other = ""
    if name in ("swiglu", "geglu") and call.get("swiglu_fusion", 0):
        y, other = steps.split(y, 2, {"axis": -1})
    elif call.has(layers[2].weight):
        other = _layer(steps, layers[2], routed.rows, routed, features)
    if name == "swiglu":
        return _gated(steps, y, other or y)
    for operator, attributes in _FUNCTIONS[name]:
        y = steps.make(operator, [("x", y)], attributes)
    return steps.make("mul", [("a", y), ("b", other)]) if other else y


def _gated(steps: Steps, gate: str, linear: str) -> str:
    """A gate and a linear part, clipped where there is a limit, and the linear part with a constant added."""
    call, limit = steps.call, steps.call.get("swiglu_limit")
    if limit is not None:
        gate = steps.make("clip", [("x", gate)], {"high": limit})
        linear = steps.make("clip", [("x", linear)], {"low": -limit, "high": limit})
    gate = steps.make("silu", [("x", gate)], {"alpha": call.get("activation_alpha", 1.0)})
    if call.get("activation_beta", 0.0):
        shift = steps.make("constant_of_shape", [], {"shape": (1,), "dtype": call.services.dtype_name(call.operand(0))})
        linear = steps.make("add", [("a", linear), ("b", shift)])
    return steps.make("mul", [("a", gate), ("b", linear)])


def _layer(steps: Steps, layer: _Layer, x: str, routed: _Routed, features: int) -> str:
    """One layer of every row's own expert.  Weights stand with their inputs last, in old files with their outputs last.

    The inputs of the first and third layer, and the outputs of the second, are the ``features`` of the network.
    """
    call = steps.call
    weight = _dequantised(steps, layer) if layer.scale >= 0 else call.operand(layer.weight)
    kind = call.type(layer.weight)
    last, other = (1, 2) if layer.name == "fc2" else (2, 1)
    is_old = kind is not None and len(kind.shape) == 3 and features == kind.shape[other] != kind.shape[last]
    if layer.scale >= 0 or not is_old:
        weight = steps.make("transpose", [("x", weight)], {"permutation": (0, 2, 1)})
    pairs = [("x", x), ("w", weight), ("ends", routed.ends), ("b", steps.optional(layer.bias))]
    return steps.make("grouped_matmul", pairs)


def _bits(call: Foreign, layer: _Layer) -> int:
    bits: int = call.get(f"{layer.name}_expert_weight_bits", call.get("expert_weight_bits", 4))
    return bits


def _dequantised(steps: Steps, layer: _Layer) -> str:
    """Packed weights of all experts; a scale for each output, or for each block of its inputs."""
    call, bits = steps.call, _bits(steps.call, layer)
    held, scales = call.type(layer.weight), call.type(layer.scale)
    if held is None or scales is None or len(held.shape) != 3 or len(scales.shape) not in (2, 3):
        raise BadModel("packed weights of experts have 3 dimensions, their scales 2 or 3", where=call.name)
    shape = (*held.shape[:2], held.shape[2] * 8 // bits)
    by_output = len(scales.shape) == 2
    blocks = 1 if by_output else max(scales.shape[2], 1)
    x = steps.make("unpack", [("x", call.operand(layer.weight))], {"shape": shape, "dtype": PACKED[bits]})
    scale, zeros = call.operand(layer.scale), steps.optional(layer.zero_point)
    if zeros:
        zeros = steps.make("unpack", [("x", zeros)], {"shape": scales.shape, "dtype": PACKED[bits]})
    if by_output:
        scale = steps.make("unsqueeze", [("x", scale)], {"axes": (2,)})
    pairs = [("x", x), ("scale", scale), ("zero_point", zeros)]
    return steps.make("dequantize", pairs, {"axis": 2, "block_size": max(-(-shape[2] // blocks), 1)})


EXPERT_RULES: Final[Mapping[str, Rule]] = {"MoE": _mixture(_PLAIN), "QMoE": _mixture(_QUANTISED)}
"""By the operators' names."""

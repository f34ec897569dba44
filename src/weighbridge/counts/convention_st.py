"""What ST Edge AI Core calls MACC and weights, as its reports state them.

The rule for convolutions, linear layers, additions, pools and softmax is exact on the reports of MLPerf Tiny's streaming wake
word and keyword spotting and of TensorFlow Lite Micro's person_detect.  The figures of the rest are those of the operators in
published reports of ST Edge AI Core 2.1 to 4.0, layer by layer: network_generate_report.txt or network_analyze_report.txt in
the GitHub repositories nammannam/GR1_MobileNetV2_Person_Validation_STM32F429ZI, Manishc-IOT/A-TinyML-Based-Method-for-Real-
Time-State-of-Charge-Estimation-Using-TCNonSTM32 (8 bits), MichelePoli/stm32-ai-workflow, packetqc/AI and
yusufserhatozkan/dpsnn-embedded-deployment (floating point).  What none of them has is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.counts.convention import (
    POOLS,
    Convention,
    Rule,
    Use,
    every_tap,
    is_over_places,
    products,
    refuse,
    transposed_channels,
    window_values,
)
from weighbridge.graph import Graph, Role
from weighbridge.operators.record import Kind, Op, known_total
from weighbridge.passes.static import parameter_uses

__all__ = ["ST"]

_LAYERS: Final = frozenset({"conv", "conv_transpose", "linear", "matmul"})
_BIAS_BYTES: Final = 4

# What a value of a function costs in floating point and in integers, where it is looked up; None where no report says.
# ST runs silu as the sigmoid and the product that it is.
_FUNCTIONS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "relu": (1, 1),
    "clip": (2, None),
    "neg": (None, 1),
    "sign": (1, None),
    "sigmoid": (10, 1),
    "silu": (11, 2),
    "sqrt": (12, None),
    "reciprocal": (5, None),
}
_MERGED: Final = frozenset({"relu", "clip"})
"""Functions that cost nothing where an integer layer applies them as it writes its result."""


def _is_float(use: Use) -> bool:
    return use.call.outputs[0].dtype.kind == "float"


def _channels(use: Use) -> int:
    """Output channels of a layer: so many biases it has in ST's library, zeros where the model has none."""
    if use.op.name == "conv_transpose":
        return transposed_channels(use)
    (loops,) = use.op.loops(use.call) if use.op.loops is not None else ()
    return loops.m * loops.groups


def _layer(use: Use) -> int:
    """The multiply-accumulates and, once for the whole layer, one for each output channel."""
    return products(use) + _channels(use)


def _transposed(use: Use) -> int:
    return every_tap(use) + _channels(use)


def _is_dense(use: Use) -> bool:
    """Whether a matrix product is one with a single stored matrix, which ST runs as a linear layer."""
    return "w" in use.stored and len(use.call.w.shape) == 2


def _product(use: Use) -> int:
    return _layer(use) if _is_dense(use) else refuse("no report has a product of two tensors that are computed")


def _of_two(use: Use) -> int:
    """1 a value of the result; 2 with a stored operand in floating point, where it is a scale and a bias."""
    return use.result * (2 if use.stored and _is_float(use) else 1)


def _of_two_computed(of_float: int | None, of_integer: int | None) -> Rule:
    def rule(use: Use) -> int:
        each = of_float if _is_float(use) else of_integer
        if each is None or use.stored:
            refuse(f"no report has such a {use.op.name}")
        return use.result * each

    return rule


def _power(use: Use) -> int:
    return 10 * use.result if _is_float(use) else refuse("no report has a pow of integers")


def _function(use: Use) -> int:
    each = _FUNCTIONS[use.op.name][0 if _is_float(use) else 1] if use.op.name in _FUNCTIONS else None
    return refuse(f"no report has a {use.op.name} of such values") if each is None else use.result * each


def _merged_function(use: Use) -> int:
    return 0 if use.op.name in _MERGED and not _is_float(use) else _function(use)


def _mean(use: Use) -> int:
    """Over the places of a map a pool; else 1 for every value read and a scale and a bias, 2, for every result."""
    return use.call.x.elements + (0 if is_over_places(use) else 2 * use.result)


def _converted(use: Use) -> int:
    return 2 * use.call.x.elements


def _softmax(use: Use) -> int:
    return 15 * use.result


def _batch_norm(use: Use) -> int:
    """A scale and a bias: 2 a value."""
    return 2 * use.result


def _transpose(use: Use) -> int:
    """Half of the values, where any of them moves."""
    sizes = [[size for size in one.shape if size > 1] for one in (use.call.x, use.call.outputs[0])]
    return use.result // 2 if sizes[0] != sizes[1] or _moves_equal_axes(use) else 0


def _moves_equal_axes(use: Use) -> bool:
    """Whether axes of one size change places, which the shapes do not show."""
    permutation = use.call["permutation"]
    if not isinstance(permutation, tuple):
        return True
    kept = [axis for axis in use.call.integers("permutation") if use.call.x.shape[axis] > 1]
    return kept != sorted(kept)


def _resize(use: Use) -> int:
    return 0 if use.call["mode"] == "nearest" else refuse("no report has a resize but to the nearest neighbour")


_FREE: Final = frozenset({"pad", "concat", "slice", "split", "gather", "embedding", "expand", "tile"})


def _is_free(op: Op) -> bool:
    return op.kind in (Kind.VIEW, Kind.IDENTITY) or op.name in _FREE


def _weight_bytes(graph: Graph, uses: Sequence[Use]) -> int | None:
    """Weights as the model holds them, 4 bytes for each output channel of a layer, and what other learned operands take."""
    kinds = parameter_uses(graph)
    stored = [tensor.bytes for tensor in graph.stored() if tensor.role is Role.PARAMETER and kinds[tensor.id] != "bias"]
    layers = (use for use in uses if use.op.name in _LAYERS and (use.op.name != "matmul" or _is_dense(use)))
    return known_total((*stored, *(_BIAS_BYTES * _channels(use) for use in layers)))


ST: Final = Convention(
    "as ST Edge AI Core counts MACC: multiply-accumulates of convolutions and linear layers and 1 an output channel of each, 1 a "
    "value of an addition or a product, 1 a value of every window of a pool, 15 a value of a softmax, 2 a value converted; "
    "functions of floating point values 1 (ReLU) to 12, those merged into 8-bit layers nothing",
    macs={
        **dict.fromkeys(("conv", "linear"), _layer),
        "conv_transpose": _transposed,
        "matmul": _product,
        **dict.fromkeys(POOLS, window_values),
        "reduce_mean": _mean,
        **dict.fromkeys(("add", "mul"), _of_two),
        "sub": _of_two_computed(1, None),
        "div": _of_two_computed(5, None),
        "pow": _power,
        **dict.fromkeys(_FUNCTIONS, _function),
        **dict.fromkeys(("quantize", "dequantize", "requantize", "cast"), _converted),
        "softmax": _softmax,
        "batch_norm": _batch_norm,
        "transpose": _transpose,
        "resize": _resize,
    },
    activations=None,
    is_free=_is_free,
    weight_bytes=_weight_bytes,
    fused=_merged_function,
    deployed=True,
    figure="MACC",
)

"""Runs small graphs on numpy arrays, operator by operator, from the operators' definitions: an oracle for rewrites.

What a graph does not hold is told beside it: the values of what it stores, which value of a condition hides a score, and
the cap of capped scores.  Attention multiplies its scores with one over the root of the depth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from weighbridge.graph import Graph, Node

__all__ = ["EPSILON", "USUAL", "Untold", "run"]

EPSILON = 1e-3
"""What normalisations add to a mean square: large, so that leaving it out is seen."""

Arrays = list[np.ndarray]


class Untold(NamedTuple):
    """What a recognised operator leaves out as it is the same work either way."""

    hides: bool = False
    cap: float = 5.0


USUAL = Untold()


def run(graph: Graph, values: Mapping[str, np.ndarray], untold: Untold = USUAL) -> Arrays:
    """The outputs of ``graph``; ``values`` are its inputs and all it stores, by id."""
    held = dict(values)
    for node in graph.nodes:
        assert len(node.outputs) == 1
        operands = {name: held[tensor] for name, tensor in node.operands}
        result = np.asarray(_RULES[node.operator](node, untold, **operands))
        kind = graph.tensors[node.outputs[0]]
        assert result.shape == kind.shape, f"{node.name} makes {result.shape}, the graph says {kind.shape}"
        held[node.outputs[0]] = result
    return [held[tensor] for tensor in graph.outputs]


def _numpy(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda node, untold, **operands: function(*operands.values())


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x)
    return powers / powers.sum(axis=-1, keepdims=True)


def _normal(x: np.ndarray) -> np.ndarray:
    """Where a value of the normal distribution is below x."""
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _gelu(node: Node, untold: Untold, x: np.ndarray) -> np.ndarray:
    if node.attributes["approximate"] == "tanh":
        return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * (1 / (1 + np.exp(-1.702 * x)) if node.attributes["approximate"] == "sigmoid" else _normal(x))


def _norm(node: Node, untold: Untold, x, scale=1.0, bias=0.0) -> np.ndarray:
    axes = tuple(range(node.attributes["axis"], 0))
    if node.operator == "layer_norm":
        x = x - x.mean(axis=axes, keepdims=True)
    return x / np.sqrt((x**2).mean(axis=axes, keepdims=True) + EPSILON) * scale + bias


def _attention(node: Node, untold: Untold, q, k, v, mask=None, score_bias=0.0) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if node.attributes["softcap"]:
        scores = np.tanh(scores / untold.cap) * untold.cap
    scores = scores + score_bias
    if mask is not None:
        scores = np.where(mask == untold.hides, -np.inf, scores) if mask.dtype == bool else scores + mask
    return np.nan_to_num(_softmax(scores)) @ v


def _transpose(node: Node, untold: Untold, x: np.ndarray) -> np.ndarray:
    order = node.attributes["permutation"]
    return x.T if order == "reversed" else x.transpose(order)


def _matmul(node: Node, untold: Untold, x, w, b=0.0) -> np.ndarray:
    return node.attributes["alpha"] * x @ (np.swapaxes(w, -1, -2) if node.attributes["transpose_w"] else w) + b


def _reduce_mean(node: Node, untold: Untold, x: np.ndarray) -> np.ndarray:
    return x.mean(axis=node.attributes["axes"], keepdims=node.attributes["keep_dims"])


_RULES: dict[str, Callable[..., np.ndarray]] = {
    "add": _numpy(np.add),
    "sub": _numpy(np.subtract),
    "mul": _numpy(np.multiply),
    "div": _numpy(np.divide),
    "pow": _numpy(np.power),
    "square": _numpy(np.square),
    "sqrt": _numpy(np.sqrt),
    "rsqrt": _numpy(lambda x: 1 / np.sqrt(x)),
    "reciprocal": _numpy(np.reciprocal),
    "erf": _numpy(np.vectorize(math.erf)),
    "tanh": _numpy(np.tanh),
    "sigmoid": _numpy(lambda x: 1 / (1 + np.exp(-x))),
    "is_nan": _numpy(np.isnan),
    "where": _numpy(np.where),
    "cast": _numpy(np.copy),
    "softmax": _numpy(_softmax),
    "reshape": lambda node, untold, x: x.reshape(node.attributes["shape"]),
    "transpose": _transpose,
    "reduce_mean": _reduce_mean,
    "matmul": _matmul,
    "gelu": _gelu,
    **dict.fromkeys(("layer_norm", "rms_norm"), _norm),
    "attention": _attention,
}

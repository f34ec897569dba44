"""Runs small networks on numpy arrays by the definitions of convolution, pooling and products: an oracle for what is replaced."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from weighbridge.graph import Graph, Node

__all__ = ["run", "values_of"]


def values_of(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Random values for the inputs and for all that ``graph`` stores."""
    random = np.random.default_rng(seed)
    wanted = [*graph.inputs, *(tensor.id for tensor in graph.stored())]
    return {tensor: random.standard_normal(graph.tensors[tensor].shape) for tensor in wanted}


def run(graph: Graph, values: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of ``graph``, each result of the shape that the graph says."""
    held = dict(values)
    for node in graph.nodes:
        operands = {name: held[tensor] for name, tensor in node.operands}
        result = _RULES[node.operator](node, **operands)
        assert result.shape == graph.tensors[node.outputs[0]].shape, node.name
        held[node.outputs[0]] = result
    return [held[tensor] for tensor in graph.outputs]


def _conv(node: Node, x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """Two spatial axes, either layout; each value of the result is its own sum."""
    if node.attributes["layout"] == "channels_last":
        x = np.moveaxis(x, -1, 1)
    if node.attributes["weight_layout"] == "o_spatial_i":
        w = np.moveaxis(w, -1, 1)
    stride, padding, dilation = (_pair(node.attributes[name]) for name in ("stride", "padding", "dilation"))
    groups = node.attributes["groups"]
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    taps = w.shape[2:]
    sizes = [(s - d * (k - 1) - 1) // t + 1 for s, k, t, d in zip(x.shape[2:], taps, stride, dilation, strict=True)]
    c_o, c_i = w.shape[:2]
    result = np.zeros((x.shape[0], c_o, *sizes))
    for n, o, i, j in np.ndindex(*result.shape):
        first = o // (c_o // groups) * c_i
        for c, (u, v) in product(range(c_i), np.ndindex(*taps)):
            place = i * stride[0] + u * dilation[0], j * stride[1] + v * dilation[1]
            result[n, o, i, j] += w[o, c, u, v] * x[n, first + c, *place]
    if b is not None:
        result += b.reshape(1, -1, 1, 1)
    return np.moveaxis(result, 1, -1) if node.attributes["layout"] == "channels_last" else result


def _pair(value: int | tuple[int, ...]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def _linear(node: Node, x: np.ndarray, w: np.ndarray, b: np.ndarray | float = 0.0) -> np.ndarray:
    x = np.swapaxes(x, -1, -2) if node.attributes["transpose_x"] else x
    matrix = w if node.attributes["weight_layout"] == "io" else w.T
    return node.attributes["alpha"] * x @ matrix + node.attributes["beta"] * b


def _matmul(node: Node, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return x @ (w.T if node.attributes["transpose_w"] else w)


def _average(node: Node, x: np.ndarray) -> np.ndarray:
    return x.mean(axis=(2, 3) if node.attributes["layout"] == "channels_first" else (1, 2), keepdims=True)


_RULES = {
    "conv": _conv,
    "linear": _linear,
    "matmul": _matmul,
    "global_average_pool": _average,
    "relu": lambda node, x: np.maximum(x, 0),
    "dropout": lambda node, x: x,
    "flatten": lambda node, x: x.reshape(len(x), -1),
    "reshape": lambda node, x: x.reshape(node.attributes["shape"]),
}

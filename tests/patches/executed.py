"""Runs graphs of windows, sums and moves on numpy arrays, from the definitions: what a patch computes is held against the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from weighbridge.graph import Graph, Node

__all__ = ["run", "values_of"]

Array = np.ndarray


def values_of(graph: Graph, seed: int = 0) -> dict[str, Array]:
    """Random values for the inputs and for all that ``graph`` stores."""
    random = np.random.default_rng(seed)
    wanted = [*graph.inputs, *(tensor.id for tensor in graph.stored())]
    return {name: random.standard_normal(graph.tensors[name].shape) for name in wanted}


def run(graph: Graph, values: Mapping[str, Array], nodes: Sequence[Node] | None = None) -> dict[str, Array]:
    """Every tensor that is computed by ``nodes``, by default all, each of the shape that the graph says."""
    held = dict(values)
    for node in graph.nodes if nodes is None else nodes:
        operands: dict[str, list[Array]] = {}
        for name, tensor in node.operands:
            operands.setdefault(name, []).append(held[tensor])
        result = _RULES[node.operator](node, operands)
        for function in node.fused:
            result = _RULES[function.operator](function, {"x": [result]})
        for name, array in zip(node.outputs, result if isinstance(result, list) else [result], strict=True):
            shape = graph.tensors[name].shape
            assert array.shape == shape, f"{node.name} makes {array.shape}, the graph says {shape}"
            held[name] = array
    return held


def _first(array: Array, node: Node) -> Array:
    """The channels first, as the definitions below have them."""
    return np.moveaxis(array, -1, 1) if node.attributes["layout"] == "channels_last" else array


def _last(array: Array, node: Node) -> Array:
    return np.moveaxis(array, 1, -1) if node.attributes["layout"] == "channels_last" else array


def _pair(value: int | tuple[int, ...]) -> tuple[int, int]:
    return value if isinstance(value, tuple) and len(value) == 2 else (int(np.ravel(value)[0]),) * 2


def _around(node: Node, sizes: tuple[int, int], taps: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """(before, after) for rows and columns."""
    padding = node.attributes["padding"]
    stride, dilation = _pair(node.attributes["stride"]), _pair(node.attributes["dilation"])
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding in ("same_upper", "same_lower"):
        found = []
        for size, k, s, d in zip(sizes, taps, stride, dilation, strict=True):
            total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            less = total // 2
            found.append((less, total - less) if padding == "same_upper" else (total - less, less))
        return tuple(found)
    if isinstance(padding, tuple) and len(padding) == 4:
        return (padding[0], padding[2]), (padding[1], padding[3])
    down, across = _pair(padding)
    return (down, down), (across, across)


def _windows(node: Node, x: Array, taps: tuple[int, int], fill: float) -> tuple[Array, Array]:
    """(batch, channels, taps, rows, columns) of what lies under the windows, and for each tap and place whether it is inside."""
    stride, dilation = _pair(node.attributes["stride"]), _pair(node.attributes["dilation"])
    around = _around(node, x.shape[2:], taps)
    more = [0, 0]
    sizes = []
    for axis in (0, 1):
        room = x.shape[2 + axis] + sum(around[axis]) - dilation[axis] * (taps[axis] - 1) - 1
        count = room // stride[axis] + 1
        if (
            node.attributes.get("ceil_mode")
            and room % stride[axis]
            and count * stride[axis] < x.shape[2 + axis] + around[axis][0]
        ):
            more[axis] = stride[axis] - room % stride[axis]
            count += 1
        sizes.append(count)
    pads = [(before, after + extra) for (before, after), extra in zip(around, more, strict=True)]
    padded = np.pad(x, ((0, 0), (0, 0), *pads), constant_values=fill)
    inside = np.pad(np.ones(x.shape[2:], bool), pads)
    under, there = [], []
    for u, v in np.ndindex(*taps):
        down = slice(u * dilation[0], u * dilation[0] + (sizes[0] - 1) * stride[0] + 1, stride[0])
        across = slice(v * dilation[1], v * dilation[1] + (sizes[1] - 1) * stride[1] + 1, stride[1])
        under.append(padded[:, :, down, across])
        there.append(inside[down, across])
    return np.stack(under, 2), np.stack(there)


def _conv(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x, w = _first(operands["x"][0], node), operands["w"][0]
    layout = node.attributes["weight_layout"]
    if layout == "o_spatial_i":
        w = np.moveaxis(w, -1, 1)
    elif layout == "1_spatial_o":
        w = np.moveaxis(w, -1, 0)
        w = np.moveaxis(w, -1, 1) if w.ndim == 4 and w.shape[1] != 1 else w
    groups, taps = node.attributes["groups"], w.shape[2:]
    under, _ = _windows(node, x, taps, 0.0)
    batch, _, count, rows, columns = under.shape
    under = under.reshape(batch, groups, -1, count, rows, columns)
    weights = w.reshape(groups, w.shape[0] // groups, w.shape[1], count)
    result = np.einsum("bgitrc,goit->bgorc", under, weights).reshape(batch, w.shape[0], rows, columns)
    for bias in operands.get("b", ()):
        result = result + bias.reshape(1, -1, 1, 1)
    return _last(result, node)


def _max_pool(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = _first(operands["x"][0], node)
    under, _ = _windows(node, x, _pair(node.attributes["kernel"]), -np.inf)
    return _last(under.max(axis=2), node)


def _average_pool(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = _first(operands["x"][0], node)
    under, inside = _windows(node, x, _pair(node.attributes["kernel"]), 0.0)
    counted = len(inside) if node.attributes["count_include_pad"] else inside.sum(axis=0)
    return _last(under.sum(axis=2) / counted, node)


def _batch_norm(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    """By statistics of which the variance is taken as its square, as random values may be below zero."""
    x = _first(operands["x"][0], node)
    scale, bias, mean, variance = (
        operands[name][0].reshape(1, -1, 1, 1) for name in ("scale", "bias", "mean", "variance")
    )
    return _last((x - mean) / np.sqrt(variance**2 + 1.0) * scale + bias, node)


def _pad(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = operands["x"][0]
    axes = node.attributes["axes"]
    axes = tuple(range(x.ndim)) if axes == "all" else axes
    pads, count = node.attributes["pads"], len(axes)
    around = [(0, 0)] * x.ndim
    for place, axis in enumerate(axes):
        around[axis] = (pads[place], pads[place + count])
    cropped = x[tuple(slice(max(-b, 0), x.shape[axis] - max(-a, 0)) for axis, (b, a) in enumerate(around))]
    return np.pad(cropped, [(max(b, 0), max(a, 0)) for b, a in around])


def _slice(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = operands["x"][0]
    starts, ends, steps = (node.attributes[name] for name in ("starts", "ends", "steps"))
    axes = node.attributes["axes"]
    axes = tuple(range(len(starts))) if axes == "all" else axes
    steps = (1,) * len(starts) if steps == 1 else steps
    cut = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        cut[axis] = slice(*slice(start, end, step).indices(x.shape[axis]))
        if cut[axis].stop < 0:
            cut[axis] = slice(cut[axis].start, None, step)
    return x[tuple(cut)]


def _split(node: Node, operands: Mapping[str, list[Array]]) -> list[Array]:
    x, axis, sizes = operands["x"][0], node.attributes["axis"], node.attributes["sizes"]
    if sizes == "equal":
        each = -(-x.shape[axis] // node.attributes["parts"])
        sizes = (each,) * (node.attributes["parts"] - 1)
        return np.split(x, np.cumsum(sizes), axis)
    return np.split(x, np.cumsum(sizes[:-1]), axis)


def _part(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    starts, sizes = node.attributes["starts"], node.attributes["sizes"]
    return operands["x"][0][tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))]


def _of(function: Callable[..., Array]) -> Callable[[Node, Mapping[str, list[Array]]], Array]:
    return lambda node, operands: function(*(one for several in operands.values() for one in several))


_RULES: dict[str, Callable[[Node, Mapping[str, list[Array]]], Array]] = {
    "conv": _conv,
    "max_pool": _max_pool,
    "average_pool": _average_pool,
    "batch_norm": _batch_norm,
    "pad": _pad,
    "slice": _slice,
    "split": _split,
    "part": _part,
    "transpose": lambda node, operands: operands["x"][0].transpose(node.attributes["permutation"]),
    "concat": lambda node, operands: np.concatenate(operands["xs"], node.attributes["axis"]),
    "sum": _of(lambda *xs: sum(xs)),
    "add": _of(np.add),
    "mul": _of(np.multiply),
    "tanh": _of(np.tanh),
    "sigmoid": _of(lambda x: 1 / (1 + np.exp(-x))),
    "relu": _of(lambda x: np.maximum(x, 0)),
    "clip": lambda node, operands: np.clip(operands["x"][0], _bound(node, "low"), _bound(node, "high")),
    "identity": _of(lambda x: x),
    "dropout": _of(lambda x: x),
}


def _bound(node: Node, name: str) -> float | None:
    value = node.attributes[name]
    return None if value == "none" else float(value)

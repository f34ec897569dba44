"""Runs graphs of windows, sums and moves on numpy arrays, from the definitions: what a patch computes is held against the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tests.patches.interpolated import resize
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
    """(batch, channels, taps, rows, columns) of what lies under the windows, and for each tap and place whether it is inside: 2 in
    the map, 1 in its padding, 0 where a last window reaches over both.
    """
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
    inside = np.pad(np.pad(np.full(x.shape[2:], 2), around, constant_values=1), [(0, extra) for extra in more])
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


def _conv_transpose(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    """Each value of x times the kernel, added up where they land; then what is cropped, and what is left empty behind."""
    x, w = _first(operands["x"][0], node), operands["w"][0]
    if node.attributes["weight_layout"] == "o_spatial_i":
        w = np.moveaxis(w, -1, 0)
    stride, dilation = _pair(node.attributes["stride"]), _pair(node.attributes["dilation"])
    groups, taps = node.attributes["groups"], w.shape[2:]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, taps, strict=True)]
    full = [(size - 1) * s + one for size, s, one in zip(x.shape[2:], stride, reach, strict=True)]
    if node.attributes["padding"] in ("same_upper", "same_lower"):
        sizes = [size * s for size, s in zip(x.shape[2:], stride, strict=True)]
        totals = [max(a - b, 0) for a, b in zip(full, sizes, strict=True)]
        befores = [total // 2 if node.attributes["padding"] == "same_upper" else total - total // 2 for total in totals]
    else:
        pads = _around(node, x.shape[2:], taps)
        more = _pair(node.attributes["output_padding"])
        sizes = [a - sum(pad) + one for a, pad, one in zip(full, pads, more, strict=True)]
        befores = [pad[0] for pad in pads]
    if node.attributes["output_size"] != ():
        sizes = _pair(node.attributes["output_size"])
    grouped = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    weights = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    landed = np.zeros(
        (x.shape[0], groups, w.shape[1], *(max(a, b + c) for a, b, c in zip(full, sizes, befores, strict=True)))
    )
    for u, v in np.ndindex(*taps):
        product = np.einsum("bgirc,gio->bgorc", grouped, weights[..., u, v])
        down = slice(u * dilation[0], u * dilation[0] + (x.shape[2] - 1) * stride[0] + 1, stride[0])
        across = slice(v * dilation[1], v * dilation[1] + (x.shape[3] - 1) * stride[1] + 1, stride[1])
        landed[..., down, across] += product
    result = landed.reshape(x.shape[0], -1, *landed.shape[3:])
    result = result[..., befores[0] : befores[0] + sizes[0], befores[1] : befores[1] + sizes[1]]
    for bias in operands.get("b", ()):
        result = result + bias.reshape(1, -1, 1, 1)
    return _last(result, node)


def _blocks(node: Node, x: Array) -> tuple[Array, int]:
    return _first(x, node), node.attributes["block_size"]


def _depth_to_space(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x, block = _blocks(node, operands["x"][0])
    b, c, rows, columns = x.shape
    parts = x.reshape(b, block, block, c // block**2, rows, columns).transpose(0, 3, 4, 1, 5, 2)
    return _last(parts.reshape(b, c // block**2, rows * block, columns * block), node)


def _space_to_depth(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x, block = _blocks(node, operands["x"][0])
    b, c, rows, columns = x.shape
    parts = x.reshape(b, c, rows // block, block, columns // block, block).transpose(0, 3, 5, 1, 2, 4)
    return _last(parts.reshape(b, c * block**2, rows // block, columns // block), node)


def _matmul(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x, w = operands["x"][0], operands["w"][0]
    x = np.swapaxes(x, -1, -2) if node.attributes["transpose_x"] else x
    if node.attributes.get("transpose_w", node.attributes.get("weight_layout") == "oi"):
        w = np.swapaxes(w, -1, -2)
    return x @ w + sum(operands.get("b", ()))


def _softmax(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    powers = np.exp(operands["x"][0])
    return powers / powers.sum(node.attributes["axis"], keepdims=True)


def _layer_norm(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = operands["x"][0]
    axes = tuple(range(node.attributes["axis"] % x.ndim, x.ndim))
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def _local_response(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x, size = _first(operands["x"][0], node), node.attributes["size"]
    before = (size - 1) // 2
    squares = np.pad(x**2, ((0, 0), (before, size - 1 - before), (0, 0), (0, 0)))
    sums = sum(squares[:, one : one + x.shape[1]] for one in range(size))
    return _last(x / (1 + 0.1 * sums) ** 0.75, node)


def _reduced(function: Callable[..., Array]) -> Callable[[Node, Mapping[str, list[Array]]], Array]:
    return lambda node, operands: function(
        operands["x"][0], axis=node.attributes["axes"], keepdims=bool(node.attributes["keep_dims"])
    )


def _squeeze(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    axes = node.attributes["axes"]
    return operands["x"][0].squeeze(None if axes == "ones" else axes)


def _adaptive_average_pool(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = _first(operands["x"][0], node)
    down, across = _pair(node.attributes["output_size"])
    parts = x.reshape(*x.shape[:2], down, x.shape[2] // down, across, x.shape[3] // across)
    return _last(parts.mean((3, 5)), node)


def _max_pool(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = _first(operands["x"][0], node)
    under, _ = _windows(node, x, _pair(node.attributes["kernel"]), -np.inf)
    return _last(under.max(axis=2), node)


def _average_pool(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    x = _first(operands["x"][0], node)
    under, inside = _windows(node, x, _pair(node.attributes["kernel"]), 0.0)
    counted = (inside >= (1 if node.attributes["count_include_pad"] else 2)).sum(axis=0)
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
    "conv_transpose": _conv_transpose,
    "resize": resize,
    "depth_to_space": _depth_to_space,
    "space_to_depth": _space_to_depth,
    "adaptive_average_pool": _adaptive_average_pool,
    "matmul": _matmul,
    "linear": _matmul,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "local_response_norm": _local_response,
    "reduce_mean": _reduced(np.mean),
    "reduce_max": _reduced(np.max),
    "reshape": lambda node, operands: operands["x"][0].reshape(node.attributes["shape"]),
    "squeeze": _squeeze,
    "unsqueeze": lambda node, operands: np.expand_dims(operands["x"][0], node.attributes["axes"]),
    "expand": lambda node, operands: operands["x"][0] * np.ones(node.attributes["shape"]),
    "tile": lambda node, operands: np.tile(operands["x"][0], node.attributes["repeats"]),
    "roll": lambda node, operands: np.roll(operands["x"][0], node.attributes["shifts"], node.attributes["axes"]),
    "gather": lambda node, operands: operands["x"][0].take(operands["indices"][0], node.attributes["axis"]),
    "prelu": _of(lambda x, slope: np.where(x < 0, x * slope, x)),
    "quantize": lambda node, operands: np.round(operands["x"][0] / _scales(node, operands)),
    "dequantize": lambda node, operands: operands["x"][0] * _scales(node, operands),
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


def _scales(node: Node, operands: Mapping[str, list[Array]]) -> Array:
    """Scales, of which the square is taken so that none is 0, along their axis."""
    (scale,), x = operands["scale"], operands["x"][0]
    shape = [1] * x.ndim
    if scale.size > 1:
        shape[node.attributes["axis"]] = scale.size
    return scale.reshape(shape) ** 2 + 0.1


def _bound(node: Node, name: str) -> float | None:
    value = node.attributes[name]
    return None if value == "none" else float(value)

"""Pruned networks compute what the network computes whose pruned channels are all zero.

Small random CNNs are run on numpy arrays.  Where a channel's weights, shift and statistics are zero, so is the channel, and
what reads it might as well not; a network without the channel then has the same outputs.  That holds as long as functions
leave 0 as it is, and nothing deals channels out in groups.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.pruning import shapes_that_differ
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node, Role
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.what_if.channel_links import Links, link
from weighbridge.passes.what_if.prune import prune_channels

FLOAT = DTYPES["float32"]
Array = np.ndarray


class Growing:
    """A network under construction, by drawn steps."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.builder = Builder("random")
        self.maps = [self.builder.input("image", (2, 3, 4, 4), FLOAT)]

    def shape(self, x: str) -> tuple[int, ...]:
        shape = self.builder.tensors[x].shape
        assert shape is not None
        return shape

    def pick(self) -> str:
        return self.draw(st.sampled_from(self.maps[-5:]))

    def stored(self, *shape: int, role: Role = Role.PARAMETER) -> str:
        return self.builder.stored(self.builder.unused("w"), shape, FLOAT, role)

    def add(self, operator: str, *operands: tuple[str, str], **attributes) -> str:
        return self.builder.add(operator, operands, attributes)[0]

    def layer(self, x: str, width: int, kernel: int = 1, groups: int = 1) -> str:
        w = self.stored(width, self.shape(x)[1] // groups, kernel, kernel)
        operands = [("x", x), ("w", w)]
        if self.draw(st.booleans()):
            operands.append(("b", self.stored(width)))
        return self.add("conv", *operands, padding=kernel // 2, groups=groups)

    def conv(self) -> str:
        return self.layer(self.pick(), self.draw(st.integers(1, 7)), self.draw(st.sampled_from([1, 3])))

    def depthwise(self) -> str:
        x = self.pick()
        channels = self.shape(x)[1]
        return self.layer(x, channels, 3, channels)

    def norm(self) -> str:
        x = self.pick()
        vectors = [(name, self.stored(self.shape(x)[1])) for name in ("scale", "bias")]
        vectors += [(name, self.stored(self.shape(x)[1], role=Role.BUFFER)) for name in ("mean", "variance")]
        return self.add("relu", ("x", self.add("batch_norm", ("x", x), *vectors)))

    def residual(self) -> str:
        x = self.pick()
        return self.add(self.draw(st.sampled_from(["add", "mul"])), ("a", x), ("b", self.layer(x, self.shape(x)[1])))

    def met(self) -> str:
        x = self.pick()
        return self.add("add", ("a", x), ("b", self.draw(st.sampled_from(self.like(x, slice(0, None))))))

    def like(self, x: str, axes: slice) -> list[str]:
        return [y for y in self.maps if self.shape(y)[axes] == self.shape(x)[axes]]

    def joined(self) -> str:
        x = self.pick()
        others = [y for y in self.like(x, slice(2, None)) if y != x]
        return self.add("concat", ("xs", x), ("xs", self.draw(st.sampled_from(others or [self.layer(x, 2)]))), axis=1)

    def cut(self) -> str:
        x = self.pick()
        channels = self.shape(x)[1]
        first = self.draw(st.integers(0, channels))
        if first in (0, channels):
            return x
        if self.draw(st.booleans()):
            return self.add("slice", ("x", x), starts=(first - channels,), ends=(1 << 30,), axes=(1,))
        sizes = {"axis": 1, "sizes": (first, channels - first)}
        parts = self.builder.add("split", [("x", x)], sizes)
        self.maps.append(parts[0])
        return parts[1]

    def gate(self) -> str:
        x = self.pick()
        y = self.layer(self.add("global_average_pool", ("x", x)), self.shape(x)[1])
        return self.add("mul", ("a", self.add("sigmoid", ("x", y))), ("b", x))

    def bordered(self) -> str:
        """A border of channels, as the shortcut of a residual network without projections has."""
        return self.add("pad", ("x", self.pick()), pads=(1, 0), axes=(1,))

    def turned(self) -> str:
        """A linear layer over channels that come last, and back."""
        x = self.pick()
        y = self.add("transpose", ("x", x), permutation=(0, 2, 3, 1))
        y = self.add("linear", ("x", y), ("w", self.stored(self.draw(st.integers(1, 5)), self.shape(x)[1])))
        return self.add("transpose", ("x", y), permutation=(0, 3, 1, 2))

    def graph(self) -> Graph:
        y = self.add("flatten", ("x", self.maps[-1]))
        return self.builder.graph([self.add("linear", ("x", y), ("w", self.stored(3, self.shape(y)[1])))])


STEPS = ["conv", "conv", "depthwise", "norm", "residual", "met", "joined", "cut", "gate", "bordered", "turned"]


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    growing = Growing(draw)
    growing.maps.append(growing.conv())
    for step in draw(st.lists(st.sampled_from(STEPS), max_size=9)):
        growing.maps.append(getattr(growing, step)())
    return growing.graph()


def _conv(node: Node, x: Array, w: Array, b: Array | None = None) -> Array:
    pad, groups = node.attributes["padding"], node.attributes["groups"]
    rows, columns = x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    pieces = []
    for group in range(groups):
        taken = padded[:, group * w.shape[1] : (group + 1) * w.shape[1]]
        weights = np.split(w, groups)[group]
        sums = [
            np.einsum("nihw,oi->nohw", taken[:, :, i : i + rows, j : j + columns], weights[:, :, i, j])
            for i in range(w.shape[2])
            for j in range(w.shape[3])
        ]
        pieces.append(np.sum(sums, axis=0))
    result = np.concatenate(pieces, 1)
    return result if b is None else result + b[:, None, None]


def _norm(node: Node, x: Array, **vectors: Array) -> Array:
    scale, bias, mean, variance = (vectors[name][:, None, None] for name in ("scale", "bias", "mean", "variance"))
    return (x - mean) / np.sqrt(variance**2 + 0.1) * scale + bias


def _slice(node: Node, x: Array) -> Array:
    (start,), (end,) = node.attributes["starts"], node.attributes["ends"]
    return x[:, start:end]


RULES: dict[str, Callable[..., Array]] = {
    "conv": _conv,
    "batch_norm": _norm,
    "linear": lambda node, x, w: x @ w.T,
    "relu": lambda node, x: np.maximum(x, 0),
    "sigmoid": lambda node, x: 1 / (1 + np.exp(-x)),
    "add": lambda node, a, b: a + b,
    "mul": lambda node, a, b: a * b,
    "global_average_pool": lambda node, x: x.mean((2, 3), keepdims=True),
    "flatten": lambda node, x: x.reshape(len(x), -1),
    "transpose": lambda node, x: x.transpose(node.attributes["permutation"]),
    "pad": lambda node, x: np.pad(x, ((0, 0), (1, 0), (0, 0), (0, 0))),
    "slice": _slice,
}


def run(graph: Graph, values: dict[str, Array]) -> Array:
    held = dict(values)
    for node in graph.nodes:
        if node.operator == "split":
            places = np.cumsum(node.attributes["sizes"])[:-1]
            held.update(zip(node.outputs, np.split(held[node.inputs[0]], places, axis=1), strict=True))
            continue
        if node.operator == "concat":
            result = np.concatenate([held[one] for one in node.inputs], 1)
        else:
            result = RULES[node.operator](node, **{name: held[one] for name, one in node.operands})
        assert result.shape == graph.tensors[node.outputs[0]].shape, node.name
        held[node.outputs[0]] = result
    return held[graph.outputs[0]]


def kept(links: Links, ratio: Fraction) -> dict[str, list[Array]]:
    """For each stored tensor which places of each axis stay: of each space the first channels do."""
    spaces = links.spaces
    made = {space for term in links.made.values() for space, _ in spaces.flat(term) if spaces.reason(space) is None}
    places = {}
    for tensor in links.graph.stored():
        found = []
        for axis, size in zip(links.axes_of(tensor.id), tensor.shape or (), strict=True):
            segments = spaces.flat(axis or ())
            bits = [np.ones(size, dtype=bool)] if axis is None else []
            for space, each in segments:
                count = spaces.channels(space)
                gone = count * ratio.numerator // ratio.denominator if space in made else 0
                bits.append(np.repeat(np.arange(count) < count - gone, each))
            found.append(np.concatenate(bits))
        places[tensor.id] = found
    return places


@settings(max_examples=60, deadline=None)
@given(networks(), st.sampled_from([Fraction(1, 5), Fraction(1, 2), Fraction(4, 5)]), st.integers(0, 9))
def test_outputs_are_those_with_zeros(graph: Graph, ratio: Fraction, seed: int) -> None:
    try:
        pruned = prune_channels(graph, [("", ratio)])
    except BadSpec:
        return
    assert not shapes_that_differ(pruned)
    random = np.random.default_rng(seed)
    whole: dict[str, Array] = {"image": random.normal(size=(2, 3, 4, 4))}
    less = dict(whole)
    for name, places in kept(link(graph, OPERATORS), ratio).items():
        values = random.normal(size=graph.tensors[name].shape or ())
        mask = np.ones(values.shape, dtype=bool)
        for axis, place in enumerate(places):
            mask &= place.reshape([-1 if one == axis else 1 for one in range(values.ndim)])
        whole[name] = values * mask
        less[name] = values[np.ix_(*places)]
        assert less[name].shape == pruned.tensors[name].shape
    np.testing.assert_allclose(run(pruned, less), run(graph, whole), rtol=1e-9, atol=1e-9)

"""Networks of the literature with a part of their channels gone, against the same architectures built with those widths."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.passes.pruning import facts_of, pruned_by, shapes_that_differ
from weighbridge.api import load
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Graph, Role
from weighbridge.passes.what_if.prune import prune_channels

FLOAT = DTYPES["float32"]


class Network:
    """A network under construction, layer by layer, each layer's width given."""

    def __init__(self, resolution: int = 224) -> None:
        self.builder = Builder("twin")
        self.image = self.builder.input("image", (1, 3, resolution, resolution), FLOAT)

    def channels(self, x: str) -> int:
        shape = self.builder.tensors[x].shape
        assert shape is not None
        return shape[1]

    def stored(self, name: str, *shape: int, role: Role = Role.PARAMETER) -> str:
        return self.builder.stored(self.builder.unused(name), shape, FLOAT, role)

    def conv(self, x: str, width: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> str:
        """A convolution without a bias, and batch normalisation."""
        w = self.stored("w", width, self.channels(x) // groups, kernel, kernel)
        attributes = {"stride": stride, "padding": kernel // 2, "groups": groups}
        (y,) = self.builder.add("conv", [("x", x), ("w", w)], attributes)
        vectors = [(name, self.stored(name, width)) for name in ("scale", "bias")]
        vectors += [(name, self.stored(name, width, role=Role.BUFFER)) for name in ("mean", "variance")]
        return self.builder.add("batch_norm", [("x", y), *vectors])[0]

    def one(self, operator: str, x: str, **attributes) -> str:
        return self.builder.add(operator, [("x", x)], attributes)[0]

    def add(self, a: str, b: str) -> str:
        return self.builder.add("add", [("a", a), ("b", b)])[0]

    def graph(self, x: str, classes: int = 1000) -> Graph:
        """The network with its head: a mean of each channel, and a linear layer."""
        x = self.one("flatten", self.one("global_average_pool", x))
        w, b = self.stored("w", classes, self.channels(x)), self.stored("b", classes)
        return self.builder.graph([self.builder.add("linear", [("x", x), ("w", w), ("b", b)])[0]])


def resnet18(stem: int, widths: list[int]) -> Graph:
    """ResNet-18 (He et al. 2016, table 1); ``widths`` of the four stages."""
    net = Network()
    x = net.one("relu", net.conv(net.image, stem, 7, 2))
    x = net.one("max_pool", x, kernel=3, stride=2, padding=1)
    for stage, width in enumerate(widths):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = net.one("relu", net.conv(x, width, 3, stride))
            y = net.conv(y, width, 3)
            shortcut = net.conv(x, width, 1, stride) if stride > 1 else x
            x = net.one("relu", net.add(y, shortcut))
    return net.graph(x)


def mobilenet_v2(stem: int, blocks: list[tuple[int, int, int]], last: int) -> Graph:
    """MobileNetV2 (Sandler et al. 2018, table 2); ``blocks``: expanded width, width, stride."""
    net = Network()

    def activated(x: str, *shape: int) -> str:
        return net.one("clip", net.conv(x, *shape), low=0, high=6)

    x = activated(net.image, stem, 3, 2)
    for expanded, width, stride in blocks:
        y = activated(x, expanded) if expanded != net.channels(x) else x
        y = net.conv(activated(y, expanded, 3, stride, expanded), width)
        x = net.add(x, y) if stride == 1 and width == net.channels(x) else y
    return net.graph(activated(x, last))


def blocks_of_mobilenet_v2(keep) -> list[tuple[int, int, int]]:
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    blocks, before = [], 32
    for factor, width, count, stride in table:
        for number in range(count):
            blocks.append((keep(before * factor), keep(width), 1 if number else stride))
            before = width
    return blocks


def figures(graph: Graph) -> dict[str, object]:
    facts = facts_of(graph)
    assert facts.exact
    names = ("macs", "parameters", "weights", "biases", "other_parameters", "deployed_parameters", "work")
    return {name: getattr(facts, name) for name in names}


def layers(graph: Graph) -> list[tuple[object, ...]]:
    """The shapes of all weights of layers, in the order of the network."""
    weights = [dict(node.operands).get("w") for node in graph.nodes]
    return [graph.tensors[w].shape or () for w in weights if w]


@pytest.mark.parametrize("percent", [10, 30, 50, 90])
def test_resnet18(percent: int) -> None:
    pruned = pruned_by(load("resnet18"), percent)
    widths = [c - c * percent // 100 for c in (64, 64, 128, 256, 512)]
    built = resnet18(widths[0], widths[1:])
    assert layers(pruned) == layers(built)
    assert figures(pruned) == figures(built)
    assert not shapes_that_differ(pruned)


@pytest.mark.parametrize("percent", [10, 30, 50, 90])
def test_mobilenet_v2(percent: int) -> None:
    def keep(c: int) -> int:
        return c - c * percent // 100

    pruned = pruned_by(load("mobilenet_v2"), percent)
    built = mobilenet_v2(keep(32), blocks_of_mobilenet_v2(keep), keep(1280))
    assert layers(pruned) == layers(built)
    assert figures(pruned) == figures(built)
    assert not shapes_that_differ(pruned)


def test_builders_are_the_networks() -> None:
    assert figures(load("resnet18")) == figures(resnet18(64, [64, 128, 256, 512]))
    assert figures(load("mobilenet_v2")) == figures(mobilenet_v2(32, blocks_of_mobilenet_v2(int), 1280))


def test_by_stage() -> None:
    """Of a residual stage all blocks go together, whichever of them a rule names; what nobody names stays."""
    rules = [("layer2.*.conv1", Fraction(1, 2)), ("layer3.1.conv2", Fraction(1, 4)), ("conv1", Fraction(0))]
    pruned = prune_channels(load("resnet18"), rules)
    shapes = layers(pruned)
    assert shapes[:5] == layers(load("resnet18"))[:5]
    assert [shape[:2] for shape in shapes[5:10]] == [(64, 64), (128, 64), (128, 64), (64, 128), (128, 64)]
    assert [shape[:2] for shape in shapes[10:15]] == [(256, 128), (192, 256), (192, 128), (256, 192), (192, 256)]

"""Pruned PyTorch modules against modules of the same architecture that are made with those widths.

The twins are written out here, each layer's width by itself: torchvision's own widths follow from few numbers, of which
those that are left after pruning are no multiples.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
import torch
import torchvision
from torch import Tensor, nn

from tests.passes.pruning import facts_of, pruned_by, shapes_that_differ
from weighbridge.frontends.from_torch import load_torch
from weighbridge.graph import Graph
from weighbridge.passes.what_if.prune import prune_channels

Keep = Callable[[int], int]


def keeping(percent: int) -> Keep:
    """How many of c channels are left: floor(c x ratio) go."""
    return lambda c: c - c * percent // 100


def graph_of(model: nn.Module, size: int = 224) -> Graph:
    return load_torch(model.to("meta").eval(), (torch.empty(1, 3, size, size, device="meta"),))


def named(name: str) -> Graph:
    with torch.device("meta"):
        return graph_of(torchvision.models.get_model(name, weights=None))


def figures(graph: Graph) -> dict[str, object]:
    facts = facts_of(graph)
    assert facts.exact
    names = (
        "macs",
        "parameters",
        "weights",
        "biases",
        "other_parameters",
        "deployed_parameters",
        "work",
        "activations",
    )
    return {name: getattr(facts, name) for name in names}


def conv(c_i: int, c_o: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(c_i, c_o, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(c_o)]


class Sum(nn.Module):
    """What ``way`` makes of the input, plus the input, or what ``shortcut`` makes of it."""

    def __init__(self, way: nn.Module, shortcut: nn.Module | None = None, then: nn.Module | None = None) -> None:
        super().__init__()
        self.way, self.shortcut, self.then = way, shortcut, then

    def forward(self, x: Tensor) -> Tensor:
        y = self.way(x) + (x if self.shortcut is None else self.shortcut(x))
        return y if self.then is None else self.then(y)


def head(x: list[nn.Module], width: int) -> nn.Module:
    return nn.Sequential(*x, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def resnet18(keep: Keep) -> nn.Module:
    """He et al. 2016, table 1."""
    before = keep(64)
    parts: list[nn.Module] = [*conv(3, before, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for stage, width in enumerate(map(keep, (64, 128, 256, 512))):
        for block in range(2):
            stride = 2 if stage and not block else 1
            way = nn.Sequential(*conv(before, width, 3, stride), nn.ReLU(), *conv(width, width, 3))
            shortcut = nn.Sequential(*conv(before, width, 1, stride)) if stride > 1 else None
            parts.append(Sum(way, shortcut, nn.ReLU()))
            before = width
    return head(parts, before)


def resnext50(keep: Keep) -> nn.Module:
    """Xie et al. 2017, table 1: 32 groups, each of which keeps ``keep`` of its channels."""
    before = keep(64)
    parts: list[nn.Module] = [*conv(3, before, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for stage, (inner, count) in enumerate([(128, 3), (256, 4), (512, 6), (1024, 3)]):
        middle, width = 32 * keep(inner // 32), keep(2 * inner)
        for block in range(count):
            stride = 2 if stage and not block else 1
            grouped = conv(middle, middle, 3, stride, groups=32)
            way = nn.Sequential(*conv(before, middle), nn.ReLU(), *grouped, nn.ReLU(), *conv(middle, width))
            shortcut = None if block else nn.Sequential(*conv(before, width, 1, stride))
            parts.append(Sum(way, shortcut, nn.ReLU()))
            before = width
    return head(parts, before)


def mobilenet_v2(keep: Keep) -> nn.Module:
    """Sandler et al. 2018, table 2."""
    table = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    parts: list[nn.Module] = [*conv(3, keep(32), 3, 2), nn.ReLU6()]
    before = 32
    for factor, width, count, first in table:
        for number in range(count):
            inner, stride = keep(before * factor), 1 if number else first
            way = [*conv(keep(before), inner), nn.ReLU6()] if factor > 1 else []
            way += [*conv(inner, inner, 3, stride, groups=inner), nn.ReLU6(), *conv(inner, keep(width))]
            body = nn.Sequential(*way)
            parts.append(Sum(body) if number else body)
            before = width
    last = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(keep(1280), 1000))
    return nn.Sequential(*parts, *conv(keep(320), keep(1280)), nn.ReLU6(), last)


class Dense(nn.Module):
    """What the layers before made, side by side, and what this one makes of it."""

    def __init__(self, c_i: int, bottleneck: int, growth: int) -> None:
        super().__init__()
        self.way = nn.Sequential(
            nn.BatchNorm2d(c_i),
            nn.ReLU(),
            *conv(c_i, bottleneck),
            nn.ReLU(),
            nn.Conv2d(bottleneck, growth, 3, 1, 1, bias=False),
        )

    def forward(self, found: list[Tensor]) -> Tensor:
        return self.way(torch.cat(found, 1))


class DenseBlock(nn.Module):
    def __init__(self, c_i: int, bottleneck: int, growth: int, count: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Dense(c_i + number * growth, bottleneck, growth) for number in range(count))

    def forward(self, x: Tensor) -> Tensor:
        found = [x]
        for part in self.parts:
            found.append(part(found))
        return torch.cat(found, 1)


def densenet121(keep: Keep) -> nn.Module:
    """Huang et al. 2017, table 1: growth 32, bottlenecks of 128, transitions of half of what there was."""
    parts: list[nn.Module] = [*conv(3, keep(64), 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before, full = keep(64), 64
    for stage, count in enumerate((6, 12, 24, 16)):
        parts.append(DenseBlock(before, keep(128), keep(32), count))
        before, full = before + count * keep(32), full + count * 32
        parts += [nn.BatchNorm2d(before), nn.ReLU()]
        if stage < 3:
            full //= 2
            parts += [nn.Conv2d(before, keep(full), 1, bias=False), nn.AvgPool2d(2)]
            before = keep(full)
    return head(parts, before)


class UNet(nn.Module):
    """Ronneberger et al. 2015, with borders, so that nothing is cropped; ``bilinear``: resized in place of up-convolutions."""

    def __init__(self, widths: list[int], classes: int, *, bilinear: bool) -> None:
        super().__init__()
        self.down, self.up, self.join = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        before = 3
        for width in widths:
            self.down.append(self.twice(before, width))
            before = width
        for width in reversed(widths[:-1]):
            resized = nn.Upsample(scale_factor=2, mode="bilinear")
            self.up.append(resized if bilinear else nn.ConvTranspose2d(before, width, 2, 2))
            self.join.append(self.twice(width + (before if bilinear else width), width))
            before = width
        self.last = nn.Conv2d(before, classes, 1)

    @staticmethod
    def twice(c_i: int, c_o: int) -> nn.Module:
        return nn.Sequential(*conv(c_i, c_o, 3), nn.ReLU(), *conv(c_o, c_o, 3), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        passed: list[Tensor] = []
        for number, part in enumerate(self.down):
            x = part(nn.functional.max_pool2d(x, 2) if number else x)
            passed.append(x)
        passed.pop()
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([passed.pop(), up(x)], 1))
        return self.last(x)


def unet(keep: Keep, *, bilinear: bool) -> nn.Module:
    return UNet(list(map(keep, (64, 128, 256, 512))), 21, bilinear=bilinear)


TWINS = {
    "resnet18": resnet18,
    "resnext50_32x4d": resnext50,
    "mobilenet_v2": mobilenet_v2,
    "densenet121": densenet121,
}


@pytest.mark.parametrize("percent", [0, 30, 50])
@pytest.mark.parametrize("name", TWINS)
def test_torchvision(name: str, percent: int) -> None:
    graph = named(name)
    pruned = pruned_by(graph, percent)
    assert figures(pruned) == figures(graph_of(TWINS[name](keeping(percent))))
    assert not shapes_that_differ(pruned)
    assert (pruned is graph) == (percent == 0)


@pytest.mark.parametrize("bilinear", [False, True])
@pytest.mark.parametrize("percent", [30, 75])
def test_unet(percent: int, bilinear: bool) -> None:
    pruned = pruned_by(graph_of(unet(keeping(0), bilinear=bilinear), 64), percent)
    assert figures(pruned) == figures(graph_of(unet(keeping(percent), bilinear=bilinear), 64))
    assert not shapes_that_differ(pruned)
    assert pruned.tensors[pruned.outputs[0]].shape == (1, 21, 64, 64)


def test_the_documentation_has_these_figures() -> None:
    page = Path(__file__).parents[2] / "docs" / "channel-pruning.md"
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", page.read_text("utf-8"), re.M)
    assert len(rows) == 5
    for name, *stated in rows:
        graph = named(name)
        before, after = facts_of(graph), facts_of(pruned_by(graph, 30))
        found = (before.macs, after.macs, before.parameters, after.parameters)
        assert [f"{figure:,}" for figure in found] == stated, name


def test_vision_transformer() -> None:
    """ViT-B/16 with 30 % gone: heads keep their number, each of 45 features; 538 of the width, 2,151 of the hidden layers."""
    pruned = pruned_by(named("vit_b_16"), 30)
    width, features, hidden, tokens = 538, 12 * 45, 2151, 197
    layer = tokens * (3 * width * features + features * width + 2 * width * hidden) + 2 * tokens * tokens * features
    assert facts_of(pruned).macs == 196 * 3 * 16 * 16 * width + 12 * layer + width * 1000
    assert not shapes_that_differ(pruned)


def test_one_stage_of_densenet() -> None:
    """A concatenation loses what each of its layers does, and nothing else."""
    pruned = prune_channels(named("densenet121"), [("features.denseblock2.denselayer3.conv2", Fraction(1, 2))])
    names = [f"features.denseblock2.denselayer4.norm1.{name}" for name in ("weight", "bias", "running_mean")]
    assert {pruned.tensors[name].shape for name in names} == {(128 + 3 * 32 - 16,)}
    assert pruned.tensors["features.transition2.conv.weight"].shape == (256, 512 - 16, 1, 1)


@pytest.mark.parametrize("name", ["googlenet", "efficientnet_b0", "shufflenet_v2_x1_0", "swin_t", "mobilenet_v3_small"])
def test_every_layer_follows(name: str) -> None:
    """Nothing but the classifier keeps its channels, and every shape is what its operator infers."""
    given = {"init_weights": False} if name == "googlenet" else {}
    model = torchvision.models.get_model(name, weights=None, **given)
    graph = graph_of(model)
    pruned = pruned_by(graph, 30)
    (note,) = [note for note in pruned.notes if note.startswith("prune:")]
    assert note.count("(") == 1
    assert note.endswith("(its channels are the network's outputs)")
    assert not shapes_that_differ(pruned, beside=graph)
    assert facts_of(pruned).macs < Fraction(6, 10) * facts_of(graph).macs

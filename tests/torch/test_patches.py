"""Patches of modules: the small network that ONNX and TensorFlow Lite have too, a textbook twin, and networks of torchvision."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torch import Tensor, nn
from torch.nn.functional import interpolate

from tests.patches.front_ends import SIZE, as_onnx, figures
from weighbridge import in_patches, weigh
from weighbridge.errors import BadSpec
from weighbridge.frontends.from_torch import load_torch
from weighbridge.graph import Graph


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.deep = nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False)
        self.point = nn.Conv2d(8, 8, 1, bias=False)
        self.branch = nn.Conv2d(8, 8, 1, bias=False)
        self.end = nn.Conv2d(16, 8, 2, 2, bias=False)
        self.behind = nn.Conv2d(8, 4, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        stem = self.stem(x)
        added = stem + self.point(self.deep(stem))
        joined = torch.cat([added, self.branch(added)], 1)
        b, c, rows, columns = joined.shape
        shuffled = joined.view(b, 2, c // 2, rows, columns).transpose(1, 2).reshape(b, c, rows, columns)
        return self.behind(self.end(interpolate(shuffled, scale_factor=2, mode="nearest")))


def test_a_module_has_the_patches_of_its_onnx_file() -> None:
    assert figures(load_torch(Small().eval(), (torch.zeros(1, 3, SIZE, SIZE),))) == figures(as_onnx())


def captured(name: str) -> Graph:
    with torch.device("meta"):
        model = torchvision.models.get_model(name, weights=None).eval()
    return load_torch(model, (torch.empty(1, 3, 224, 224, device="meta"),))


def test_mobilenet_v2_has_the_patches_of_the_paper() -> None:
    found = in_patches(captured("mobilenet_v2"), last="features.4.conv.2", grid="4x4", with_input=False)
    written = in_patches("mobilenet_v2", last="block4.project", grid="4x4", with_input=False)
    assert found.plan is not None
    assert written.plan is not None
    assert found.plan.clipped_macs == written.plan.clipped_macs


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("shufflenet_v2_x1_0", "stage3.0.cat"),
        ("squeezenet1_0", "features.12.squeeze"),
        ("resnet18", "layer2.0.add"),
        ("densenet121", "features.transition1.conv"),
    ],
)
def test_networks_of_torchvision_run_in_patches(name: str, last: str) -> None:
    graph = captured(name)
    plan = in_patches(graph, last=last, grid="4x4", with_input=False).plan
    assert plan is not None
    assert plan.network_macs == weigh(graph).facts.macs
    assert plan.stage_macs < plan.clipped_macs <= plan.full_macs


def test_a_mean_over_the_map_is_named() -> None:
    with pytest.raises(BadSpec, match=r"\(adaptive_average_pool\) needs all of its input for a part of its result"):
        in_patches(captured("efficientnet_b0"), last="features.2.0.block.3.0", grid="2x2")

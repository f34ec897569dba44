"""The convention fvcore against what fvcore 0.1.5.post20221221 printed for the same modules under PyTorch 2.14.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import weighbridge


class Does(nn.Module):
    """A module that does one function of its input."""

    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def standardised(x: torch.Tensor) -> torch.Tensor:
    """A convolution whose weight is normalised in every run."""
    weight = torch.ones(4, 3, 3, 3, device=x.device)
    normal = functional.batch_norm(weight.reshape(1, 4, -1), None, None, training=True).reshape_as(weight)
    return functional.conv2d(x, normal)


IMAGE = (2, 3, 8, 8)
MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], int, int]] = {
    "conv": (lambda: nn.Conv2d(3, 6, 3, stride=2, padding=1), IMAGE, 5184, 192),
    "grouped": (lambda: nn.Conv2d(3, 6, 3, groups=3, bias=False), IMAGE, 3888, 432),
    "conv1d": (lambda: nn.Conv1d(3, 5, 3), (2, 3, 9), 630, 70),
    "transposed": (lambda: nn.ConvTranspose2d(3, 6, 2, stride=2), IMAGE, 9216, 3072),
    "linear": (lambda: nn.Linear(8, 5), IMAGE, 1920, 240),
    "product": (lambda: Does(lambda x: x @ x.transpose(-1, -2)), IMAGE, 3072, 384),
    "product, stretched": (lambda: Does(lambda x: x[0, 0] @ x), IMAGE, 512, 384),
    "einsum": (lambda: Does(lambda x: torch.einsum("bchw,bdhw->bcd", x, x)), IMAGE, 1152, 18),
    "attention, unfused": (
        lambda: Does(lambda x: (x @ x.transpose(-1, -2)).softmax(-1) @ x),
        (1, 2, 5, 4),
        400,
        90,
    ),
    "batch norm": (lambda: nn.BatchNorm2d(3), IMAGE, 768, 0),
    "batch norm, no scale": (lambda: nn.BatchNorm2d(3, affine=False), IMAGE, 384, 0),
    "batch norm, training": (lambda: nn.BatchNorm2d(3, track_running_stats=False), IMAGE, 1920, 0),
    "standardised": (lambda: Does(standardised), IMAGE, 8208, 288),
    "layer norm": (lambda: nn.LayerNorm(8), IMAGE, 1920, 0),
    "layer norm, no scale": (lambda: nn.LayerNorm(8, elementwise_affine=False), IMAGE, 1536, 0),
    "group norm": (lambda: nn.GroupNorm(3, 3), IMAGE, 1920, 0),
    "instance norm": (lambda: nn.InstanceNorm2d(3), IMAGE, 1536, 0),
    "adaptive pool": (lambda: nn.AdaptiveAvgPool2d(2), IMAGE, 384, 0),
    "adaptive pool, 1d": (lambda: nn.AdaptiveAvgPool1d(2), (2, 3, 8), 0, 0),
    "nearest": (lambda: Does(lambda x: functional.interpolate(x, scale_factor=2)), IMAGE, 1536, 0),
    "bilinear": (lambda: Does(lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear")), IMAGE, 6144, 0),
    "bicubic": (lambda: Does(lambda x: functional.interpolate(x, scale_factor=2, mode="bicubic")), IMAGE, 0, 0),
    "antialiased": (
        lambda: Does(lambda x: functional.interpolate(x, size=(4, 4), mode="bilinear", antialias=True)),
        IMAGE,
        0,
        0,
    ),
    "grid sample": (
        lambda: Does(lambda x: functional.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), align_corners=False)),
        IMAGE,
        1536,
        0,
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_figures_are_those_that_fvcore_prints(name: str) -> None:
    build, shape, flops, activations = MODULES[name]
    report = weighbridge.weigh(build().eval(), inputs=torch.ones(shape), convention="fvcore")
    found = report.facts.conventions["fvcore"]
    assert (found.macs, found.activations, found.uncounted) == (flops, activations, ())

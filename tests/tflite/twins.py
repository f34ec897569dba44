"""PyTorch modules that are the same networks as TensorFlow Lite files of MLPerf Tiny, written from their Keras sources.

Layers and order are those of mlcommons/tiny, benchmark/training (image_classification/keras_model.py, keyword_spotting/
keras_model.py, Apache-2.0).  Keras pads SAME at the end where PyTorch pads both sides alike; sizes, and so all counts, are equal.
"""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["DepthwiseSeparable", "ResNet8", "shapes"]

shapes = {"ResNet8": (1, 3, 32, 32), "DepthwiseSeparable": (1, 1, 49, 10), "MobileNetV2": (1, 3, 224, 224)}


def _layer(inputs: int, outputs: int, kernel: int, stride: int = 1, *, relu: bool = True) -> nn.Sequential:
    parts = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*parts, *([nn.ReLU()] if relu else []))


class ResNet8(nn.Module):
    """Image classification: three stacks of one residual block."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _layer(3, 16, 3)
        self.first = nn.ModuleList([_layer(16, 16, 3), _layer(16, 32, 3, 2), _layer(32, 64, 3, 2)])
        self.second = nn.ModuleList([_layer(size, size, 3, relu=False) for size in (16, 32, 64)])
        self.shortcut = nn.ModuleList([nn.Identity(), nn.Conv2d(16, 32, 1, 2), nn.Conv2d(32, 64, 1, 2)])
        self.relu, self.pool, self.dense = nn.ReLU(), nn.AvgPool2d(8), nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for first, second, shortcut in zip(self.first, self.second, self.shortcut, strict=True):
            y = second(first(x))
            x = self.relu(shortcut(x) + y)
        return torch.softmax(self.dense(torch.flatten(self.pool(x), 1)), 1)


class DepthwiseSeparable(nn.Module):
    """Keyword spotting: a convolution and four depthwise separable blocks (DS-CNN)."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(1, 64, (10, 4), 2, (5, 1)), nn.BatchNorm2d(64), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(64, 64, 3, 1, 1, groups=64), nn.BatchNorm2d(64), nn.ReLU()]
            layers += [nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        self.pool, self.dense = nn.AvgPool2d((25, 5)), nn.Linear(64, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.dense(torch.flatten(self.pool(self.layers(x)), 1)), 1)

"""Writes small_net.pt2: a convolutional network for pictures of any batch, exported by PyTorch."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


model = nn.Sequential(
    nn.Conv2d(3, 8, 3, stride=2, padding=1), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
)
picture = torch.zeros(2, 3, 32, 32)
program = torch.export.export(model.eval(), (picture,), dynamic_shapes=({0: torch.export.Dim("batch")},))
for node in program.graph.nodes:
    node.meta.pop("stack_trace", None)  # the paths of this machine need not be in the file
torch.export.save(program, "small_net.pt2")

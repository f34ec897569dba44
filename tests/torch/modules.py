"""Modules whose forward is a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class OneCall(nn.Module):
    """A module whose forward is a function of its inputs."""

    def __init__(self, call: Callable[..., Any]) -> None:
        super().__init__()
        self.call = call

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.call(*inputs)


class Calls(nn.Module):
    """A module whose forward is a function of itself and its inputs."""

    def __init__(self, function: Callable[..., Any], **members: Any) -> None:
        super().__init__()
        self._function = function
        for name, member in members.items():
            setattr(self, name, member)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self._function(self, *inputs)

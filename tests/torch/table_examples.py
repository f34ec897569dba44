"""Examples of PyTorch operators, one for each line of a table: run by PyTorch, captured, and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from weighbridge.frontends.from_torch import load_torch
from weighbridge.graph import UNKNOWN, Graph


class Calls(nn.Module):
    """A module whose forward is a function of its inputs."""

    def __init__(self, function: Callable[..., Any], **members: nn.Module | nn.Parameter) -> None:
        super().__init__()
        self._function = function
        for name, member in members.items():
            setattr(self, name, member)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self._function(*inputs)


class Example(NamedTuple):
    """A call of an operator on inputs, and which of our operators it becomes, in order."""

    function: Callable[..., Any]
    inputs: tuple[torch.Tensor, ...]
    operators: tuple[str, ...]


def example(operators: str, function: Callable[..., Any], *inputs: torch.Tensor) -> Example:
    return Example(function, inputs, tuple(operators.split()))


def captured(one: Example, origin: str) -> Graph:
    """The graph of an example, after it was held against PyTorch's own result and what the example says of it."""
    graph = load_torch(Calls(one.function), one.inputs)
    assert not [node for node in graph.nodes if node.operator == UNKNOWN], [node.reason for node in graph.nodes]
    assert tuple(node.operator for node in graph.nodes if node.origin == origin) == one.operators
    with torch.inference_mode():
        result = one.function(*(tensor.clone() for tensor in one.inputs))
    results = list(result) if isinstance(result, tuple | list) else [result]
    found = [graph.tensors[tensor].shape for tensor in graph.outputs]
    assert found == [tuple(tensor.shape) for tensor in results]
    return graph

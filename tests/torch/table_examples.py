"""Examples of PyTorch operators, one for each line of a table: run by PyTorch, captured, and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from tests.torch.modules import OneCall
from weighbridge.dtypes import DTYPES
from weighbridge.frontends.aten_call import AtenCall, AtenTensor, Program, Ref
from weighbridge.frontends.aten_graph import build
from weighbridge.frontends.from_torch import load_torch
from weighbridge.graph import UNKNOWN, Graph, Role, Shape, TensorType


class Example(NamedTuple):
    """A call of an operator on inputs, and which of our operators it becomes, in order."""

    function: Callable[..., Any]
    inputs: tuple[torch.Tensor, ...]
    operators: tuple[str, ...]


def example(operators: str, function: Callable[..., Any], *inputs: torch.Tensor) -> Example:
    return Example(function, inputs, tuple(operators.split()))


def captured(one: Example, origin: str) -> Graph:
    """The graph of an example, after it was held against PyTorch's own result and what the example says of it."""
    graph = load_torch(OneCall(one.function), one.inputs)
    assert not [node for node in graph.nodes if node.operator == UNKNOWN], [node.reason for node in graph.nodes]
    assert tuple(node.operator for node in graph.nodes if node.origin == origin) == one.operators
    with torch.inference_mode():
        result = one.function(*(tensor.clone() for tensor in one.inputs))
    results = list(result) if isinstance(result, tuple | list) else [result]
    found = [graph.tensors[tensor].shape for tensor in graph.outputs]
    assert found == [tuple(tensor.shape) for tensor in results]
    return graph


def by_hand(op: str, arguments: dict[str, Any], result: Shape, dtypes: dict[str, str] | None = None) -> Graph:
    """The graph of one call as the capture would record it where its kernel exists; a shape in a list stands for a tensor."""
    named = {**dict.fromkeys(arguments, "float32"), "result": "float32", **(dtypes or {})}
    types = {
        name: TensorType(shape[0], DTYPES[named[name]]) for name, shape in arguments.items() if isinstance(shape, list)
    }
    given = {name: Ref(name) if name in types else value for name, value in arguments.items()}
    made = TensorType(result, DTYPES[named["result"]])
    call = AtenCall("call", op, "default", given, ("call",), (made,), types)
    tensors = tuple(AtenTensor(name, kind, Role.INPUT) for name, kind in types.items())
    graph = build(Program("by hand", tensors, (call,), tuple(types), ("call",), "written by hand"))
    assert not [node for node in graph.nodes if node.operator == UNKNOWN], [node.reason for node in graph.nodes]
    return graph

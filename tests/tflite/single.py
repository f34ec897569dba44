"""Models of one operator whose results have no stated shape, so that all that is known of them our rules say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.tflite.build import Tensor, graph, load, model, op, tensor
from weighbridge.graph import UNKNOWN, Graph, Shape
from weighbridge.operators.record import Call, Work, grouped
from weighbridge.operators.table import OPERATORS

__all__ = ["operand", "result", "runs", "single", "stored", "work"]


def operand(name: str, shape: Sequence[int], type: str = "FLOAT32") -> Tensor:  # noqa: A002
    """A tensor whose values are known only at run time."""
    return tensor(name, tuple(shape), type)


def stored(name: str, values: Any, type: str = "INT32") -> Tensor:  # noqa: A002
    """A tensor with its values."""
    return tensor(name, np.shape(values), type, data=np.ravel(values).tolist())


def single(
    name: str,
    operands: Sequence[Tensor],
    options: Mapping[str, Any] | None = None,
    types: Sequence[str] = ("FLOAT32",),
    **sizes: Any,
) -> Graph:
    """The graph of one operator; ``types`` are the element types of its results, which are called y, y1, ..."""
    results = [tensor(f"y{place or ''}", None, kind) for place, kind in enumerate(types)]
    inputs = [one.name for one in operands if one.data is None]
    operator = op(name, [one.name for one in operands], [one.name for one in results], options)
    return load(model(graph([*operands, *results], [operator], inputs, [one.name for one in results])), **sizes)


def result(found: Graph, place: int = 0) -> tuple[Shape | None, str]:
    """Shape and element type of an output."""
    tensor = found.tensors[found.outputs[place]]
    return tensor.shape, tensor.dtype.name


def runs(found: Graph) -> list[str]:
    """The operators in order, with the functions that they apply; an unknown one is none that a test of a rule should see."""
    assert all(node.operator != UNKNOWN for node in found.nodes), [node.reason for node in found.nodes]
    return [one.operator for node in found.nodes for one in (node, *node.fused)]


def work(found: Graph) -> Work | None:
    """The work of all nodes; None where that of one is not known."""
    total = Work()
    for node in found.nodes:
        types = grouped((name, found.tensors[one].type) for name, one in node.operands)
        call = Call(types, node.attributes, tuple(found.tensors[one].type for one in node.outputs))
        done = OPERATORS[node.operator].work(call)
        if done is None:
            return None
        total = total.plus(done)
    return total

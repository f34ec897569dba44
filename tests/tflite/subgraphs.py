"""Small subgraphs that tests of control flow call."""

from __future__ import annotations

from tests.tflite.build import Subgraph, Tensor, graph, op, tensor

X, Y = tensor("x", (2, 8)), tensor("y", (2, 8))


def number(name: str, value: int | None = None, type: str = "INT32") -> Tensor:  # noqa: A002
    return tensor(name, (), type, data=None if value is None else (value,))


def matrix(name: str, rows: int = 8, columns: int = 8) -> Tensor:
    return tensor(name, (rows, columns), data=True)


def layer(columns: int, name: str = "layer") -> Subgraph:
    """x by a stored matrix of so many columns, and back."""
    tensors = [X, matrix("w", columns, 8), tensor("h", (2, columns)), matrix("v", 8, columns), Y]
    return graph(tensors, [op("FULLY_CONNECTED", "x w -", "h"), op("FULLY_CONNECTED", "h v -", "y")], "x", "y", name)


def macs(columns: int) -> int:
    return 2 * 2 * 8 * columns

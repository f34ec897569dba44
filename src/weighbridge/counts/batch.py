"""The batch size of a graph of which nobody said it."""

from __future__ import annotations

from weighbridge.graph import Graph

__all__ = ["batch_of"]


def batch_of(graph: Graph) -> int | None:
    """The batch size that nobody stated: the first dimension, where it is that of every input and output, or 1 of the first input.

    A sequence may come first as well, so what is asked for at a batch size is never taken from here.
    """
    shapes = [graph.tensors[tensor].shape for tensor in (*graph.inputs, *graph.outputs)]
    first = shapes[0] if graph.inputs else None
    if not first or not first[0]:
        return None
    shared = all(shape is not None and shape[:1] == first[:1] for shape in shapes)
    return first[0] if shared or first[0] == 1 else None

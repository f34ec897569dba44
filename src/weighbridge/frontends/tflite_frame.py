"""A subgraph of a TensorFlow Lite model while it is read."""

from __future__ import annotations

from weighbridge.builder import Builder
from weighbridge.frontends.tflite_model import Subgraph

__all__ = ["Frame"]


class Frame:
    """A subgraph while it is read into a builder.

    ``ids`` are the ids of its tensors so far, by number; ``path`` is what names inside get in front, ``scope`` the module path of
    what called it, ``calls`` the subgraphs around it; ``made`` are the tensors that an operator makes, sooner or later.
    Frames of one builder are subgraphs put in the place of their calls.
    """

    def __init__(
        self,
        builder: Builder,
        subgraph: int,
        graph: Subgraph,
        path: str = "",
        scope: str = "",
        outer: Frame | None = None,
    ) -> None:
        self.builder = builder
        self.subgraph = subgraph
        self.graph = graph
        self.path = path
        self.scope = scope
        self.outer = outer
        self.ids: dict[int, str] = {}
        self.made: frozenset[int] = frozenset().union(*[operator.outputs for operator in graph.operators])
        self.calls: frozenset[int] = (outer.calls if outer is not None else frozenset()) | {subgraph}
        self.depth: int = 0 if outer is None else outer.depth + 1

    def inner(self, builder: Builder, subgraph: int, graph: Subgraph, path: str, scope: str) -> Frame:
        """A subgraph that is called here."""
        return Frame(builder, subgraph, graph, path, scope, self)

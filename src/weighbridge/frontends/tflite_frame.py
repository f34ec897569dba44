"""A subgraph of a TensorFlow Lite model while it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weighbridge.builder import Builder
from weighbridge.frontends.tflite_model import Subgraph, TfliteModel
from weighbridge.graph import FileNode

__all__ = ["Frame", "file_nodes"]


class Frame:
    """A subgraph while it is read into a builder.

    ``ids`` are the ids of its tensors so far, by number; ``path`` is what names inside get in front, ``scope`` the module path of
    what called it, ``calls`` the subgraphs around it; ``made`` are the tensors that an operator makes, sooner or later.
    ``file_nodes`` say where its operators stand in the file; those of a subgraph that is called have the place of the call.
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
        file_nodes: Sequence[FileNode | None] = (),
    ) -> None:
        self.builder = builder
        self.subgraph = subgraph
        self.graph = graph
        self.path = path
        self.scope = scope
        self.outer = outer
        self.file_nodes = file_nodes
        self.ids: dict[int, str] = {}
        self.made: frozenset[int] = frozenset().union(*[operator.outputs for operator in graph.operators])
        self.calls: frozenset[int] = (outer.calls if outer is not None else frozenset()) | {subgraph}
        self.depth: int = 0 if outer is None else outer.depth + 1

    def inner(self, builder: Builder, subgraph: int, graph: Subgraph, path: str, scope: str) -> Frame:
        """A subgraph that is called here."""
        return Frame(builder, subgraph, graph, path, scope, self)


def file_nodes(model: TfliteModel, number: int) -> list[FileNode | None]:
    """Where the operators of a subgraph stand in the file.

    An operator has no name there: it gets that of the first of its results whose name no other tensor of the subgraph has.
    Without one only the position is left, which is none where a tensor is called like it.
    """
    subgraph = model.subgraphs[number]
    taken = Counter(one.name for one in subgraph.tensors)
    graph = _called(model, number)
    found: list[FileNode | None] = []
    for index, operator in enumerate(subgraph.operators):
        results = [subgraph.tensors[one].name for one in operator.outputs]
        name = next((one for one in results if one and taken[one] == 1), "")
        found.append(FileNode(graph, index, name) if name or str(index) not in taken else None)
    return found


def _called(model: TfliteModel, number: int) -> str:
    """The name of a subgraph; what Model Explorer calls one without a name is the key of its signature, or counted."""
    keys = [one.key for one in model.signatures if one.subgraph == number and one.key]
    return model.subgraphs[number].name or next(iter(keys), "") or (f"subgraph_{number}" if number else "main")

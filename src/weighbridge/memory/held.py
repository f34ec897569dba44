"""The policy ``held``: what the blocks that are running were given stays alive until they return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.graph import Graph, Node
from weighbridge.memory.lifetimes import Lifetimes
from weighbridge.named_tuple import NamedTuple

__all__ = ["held_storages", "is_layer", "modules_around"]

_LAYERS: Final = frozenset({"conv", "conv_transpose", "deformable_conv", "linear", "bilinear"})
_PRODUCTS: Final = frozenset({"matmul", "einsum"})

_Signature = tuple[str, str, tuple[str, ...]]


class _Run(NamedTuple):
    """Consecutive nodes of a block: where they begin, the storages from outside that they read, what each of them is."""

    start: int
    inputs: set[str]
    signatures: list[_Signature]


def held_storages(graph: Graph, spans: Lifetimes) -> list[set[str]] | None:
    """For each node that runs, the storages that the blocks around it hold: those from outside that their nodes read.

    A call of a block is the longest run of nodes in it.  None where the blocks are not known, or where such a run is the
    same nodes several times: then nobody can tell where one call ends and the next begins.
    """
    if graph.blocks is None:
        return None
    held: list[set[str]] = [set() for _ in spans.nodes]
    open_runs: dict[str, _Run] = {}
    for place, node in enumerate((*spans.nodes, None)):
        around = dict.fromkeys(
            () if node is None else (one for one in modules_around(node.scope) if one in graph.blocks)
        )
        for block in [block for block in open_runs if block not in around]:
            run = open_runs.pop(block)
            if _repeats(run.signatures):
                return None
            for inside in range(run.start, place):
                held[inside] |= run.inputs
        if node is not None:
            for block in around:
                _read(open_runs.setdefault(block, _Run(place, set(), [])), node, graph, spans)
    return held


def is_layer(node: Node, spans: Lifetimes) -> bool:
    """Whether a node is a convolution or a linear layer, which a product with a stored matrix is; or has such in bodies."""
    if node.operator in _PRODUCTS:
        return any(tensor in spans.static for tensor in node.inputs)
    return node.operator in _LAYERS or bool(node.bodies)


def modules_around(scope: str) -> Iterator[str]:
    """The modules that a scope is in, and itself, the outermost first; the root, which holds what goes into the network, is none."""
    end = scope.find(".")
    while end >= 0:
        yield scope[:end]
        end = scope.find(".", end + 1)
    if scope:
        yield scope


def _read(run: _Run, node: Node, graph: Graph, spans: Lifetimes) -> None:
    for tensor in node.inputs:
        storage = spans.storage_of.get(tensor)
        if storage is not None and (spans.storages[storage].first < run.start or storage in graph.inputs):
            run.inputs.add(storage)
    run.signatures.append((node.scope, node.operator, tuple(one for one in node.inputs if one in spans.static)))


def _repeats(run: list[_Signature]) -> bool:
    """Whether a sequence is a shorter one several times (by the borders of its prefixes, as Knuth, Morris and Pratt have them)."""
    borders = [0] * len(run)
    for place in range(1, len(run)):
        border = borders[place - 1]
        while border and run[place] != run[border]:
            border = borders[border - 1]
        borders[place] = border + (run[place] == run[border])
    border = borders[-1]
    return border > 0 and len(run) % (len(run) - border) == 0

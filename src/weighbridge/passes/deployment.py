"""All passes in their order: the graph as a runtime would run it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weighbridge.graph import Graph
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.activations import fuse_activations
from weighbridge.passes.affine import fold_batch_norm, fuse_bias
from weighbridge.passes.gates import recognise_gates
from weighbridge.passes.identities import drop_identities
from weighbridge.passes.quantised import fold_quantisation
from weighbridge.passes.recognition import recognise_functions
from weighbridge.passes.rewrite import pruned
from weighbridge.passes.stored import fold_stored

__all__ = ["deploy"]

_PASSES: Final = (
    drop_identities,
    recognise_gates,
    recognise_functions,
    fuse_bias,
    fold_quantisation,
    fold_stored,
    fold_batch_norm,
    fuse_activations,
)


def deploy(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """The graph that runs: identities gone, quantisation and batch normalisation folded, biases and functions fused.

    The order matters.  Identities go first, so that nothing hides behind one, and functions that were taken
    apart are put together; biases before quantisation, so that a layer
    and the addition behind it are one operator between quantised tensors, and before normalisations, which may follow
    them; quantisation before what is stored is folded, so that weights stay as small as they are; activation functions
    last.  Tensors that nobody reads are left out.
    """
    graph = pruned(graph)
    for rewrite in _PASSES:
        graph = rewrite(graph, operators)
    return pruned(graph)

"""How many nodes a TensorFlow Lite model becomes where its subgraphs stand in the place of their calls, and how many it may."""

from __future__ import annotations

from typing import Final

from weighbridge.errors import BadModel
from weighbridge.frontends.tflite_model import Operator, Subgraph, TfliteModel

__all__ = ["MAX_EXPANDED", "Expansion"]

MAX_EXPANDED: Final = 20_000
"""Nodes that calls may add to those of the file: subgraphs that call subgraphs can double at every level."""
_USUAL_TENSORS: Final = 16
"""Each so many operands and results take the work of one node more."""


class Expansion:
    """Counts the operators of called subgraphs, and the subgraphs themselves, as often as they are called.

    What a file has once may be called once, however large it is; only what is called again is bounded.
    """

    def __init__(self, model: TfliteModel) -> None:
        own = sum(_nodes(one) + sum(map(_nodes, one.operators)) for one in model.subgraphs)
        self._left = own + MAX_EXPANDED

    def add(self, part: Operator | Subgraph, where: str) -> None:
        """Note that a part of the file takes the place of a call.  Raises ``BadModel`` where that are too many."""
        self._left -= _nodes(part)
        if self._left < 0:
            what = f"its subgraphs expand to {MAX_EXPANDED:,} nodes more than they have"
            raise BadModel(what, where=where, hint="no known network needs that: check where the file comes from")


def _nodes(part: Operator | Subgraph) -> int:
    return 1 + (len(part.inputs) + len(part.outputs)) // _USUAL_TENSORS

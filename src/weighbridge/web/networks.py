"""The textbook networks as simulators have them: one of a list, read once, and weighed in the ways that were asked for last."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Protocol

from weighbridge.api import load, weigh
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.record import Report
from weighbridge.textbook import names
from weighbridge.web.controls import Choice

__all__ = ["TEXTBOOK", "Networks", "Sized", "graph_of", "network_choice", "weighed"]


class Sized(NamedTuple):
    """A graph, and whether its batch is the one that was asked for or one that its file has."""

    graph: Graph
    takes_batch: bool


class Networks(Protocol):
    """Networks that a simulator can be given beside those of the textbook."""

    def offered(self, textbook: Mapping[str, str]) -> Mapping[str, str]:
        """What can be chosen, as people read it by what the address has: ``textbook``, and whatever there is beside it."""

    def sized(self, source: str, batch: int) -> Sized:
        """The graph of one that is offered.  Raises ``BadSpec`` at the network where it cannot be had."""


class _Textbook:
    """No others."""

    def offered(self, textbook: Mapping[str, str]) -> Mapping[str, str]:
        return textbook

    def sized(self, source: str, batch: int) -> Sized:
        return Sized(graph_of(source, batch), takes_batch=True)


TEXTBOOK: Networks = _Textbook()
"""The networks of the textbook alone."""


def network_choice(default: str, only: Collection[str] = (), networks: Networks = TEXTBOOK) -> Choice:
    """A control that chooses a textbook network, of all or of ``only`` these, or one of what ``networks`` has beside them."""
    offered = networks.offered({name: name for name in only or names()})
    meaning = (
        "A textbook network."
        if networks is TEXTBOOK
        else "A textbook network, or a model that was uploaded to be weighed."
    )
    return Choice("network", "network", default, offered, meaning)


@lru_cache(maxsize=32)
def graph_of(source: str, batch: int = 1) -> Graph:
    """The textbook network that ``source`` names, with its parameters after a colon, as ``load`` has it."""
    return load(source, batch=batch)


@lru_cache(maxsize=32)
def weighed(source: str, bits: int, on: str = "", batch: int = 1) -> Report:
    """The report of a textbook network with weights and activations of ``bits`` bits, and on a device by its name."""
    return weigh(graph_of(source, batch), weight_bits=bits, activation_bits=bits, on=on or ())

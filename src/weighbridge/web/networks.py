"""The textbook networks as simulators have them: one of a list, read once, and weighed in the ways that were asked for last."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from weighbridge.api import load, weigh
from weighbridge.graph import Graph
from weighbridge.report.record import Report
from weighbridge.textbook import names
from weighbridge.web.controls import Choice

__all__ = ["graph_of", "network_choice", "weighed"]


def network_choice(default: str, only: Collection[str] = ()) -> Choice:
    """A control that chooses a textbook network, of all or of ``only`` these."""
    return Choice("network", "network", default, {name: name for name in only or names()}, "A textbook network.")


@lru_cache(maxsize=32)
def graph_of(source: str, batch: int = 1) -> Graph:
    """The textbook network that ``source`` names, with its parameters after a colon, as ``load`` has it."""
    return load(source, batch=batch)


@lru_cache(maxsize=32)
def weighed(source: str, bits: int, on: str = "", batch: int = 1) -> Report:
    """The report of a textbook network with weights and activations of ``bits`` bits, and on a device by its name."""
    return weigh(graph_of(source, batch), weight_bits=bits, activation_bits=bits, on=on or ())

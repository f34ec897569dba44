"""What networks ask of devices in general, and the devices of the catalogue, each read once: what estimates of simulators begin with.

A slider asks anew at every width, so each figure is asked for where it is needed and not with the whole report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Final

from weighbridge.api import demand_of, deployed_of
from weighbridge.counts import parameters
from weighbridge.counts.batch import batch_of
from weighbridge.devices.catalogue import find, names
from weighbridge.devices.device import Device
from weighbridge.estimates import Demand, stored_bytes, stored_exact
from weighbridge.memory import MemoryPlan, plan_of_values
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import runs, static_tensors
from weighbridge.web.controls import Choice, Number
from weighbridge.web.networks import TEXTBOOK, Networks, graph_of

__all__ = ["Asked", "Asking", "Kept", "asking", "batch_number", "device", "device_choices", "kept", "precision_choice"]

_LARGEST_BATCH: Final = 65_536
"""What every textbook network takes."""
_KEPT: Final = 64
"""Demands that are kept, of a network at a batch and a precision: as many as a slider passes, each a few kilobytes."""
_PRECISIONS: Final = ("float32", "float16", "bfloat16", "int8")


def batch_number() -> Number:
    """A control for the batch of a network."""
    meaning = "Inputs at once: they share the weights that are read."
    return Number("batch", "batch", 1, 1, _LARGEST_BATCH, 256, meaning=meaning)


def precision_choice(default: str) -> Choice:
    """A control for the precision of a network."""
    meaning = "Of weights, of activations and of all arithmetic."
    return Choice("precision", "precision", default, {name: name for name in _PRECISIONS}, meaning)


def device_choices() -> Mapping[str, str]:
    """The names of the catalogue's devices; reading all of them for their titles would hold up the first page."""
    return {name: name for name in names()}


@cache
def device(name: str) -> Device:
    """The device of this name in the catalogue.  Raises ``BadSpec``."""
    return find(name)


class Asked(NamedTuple):
    """What a network asks of any device; ``batch`` is that of the run, None where its file has one and does not say which.

    ``unused`` names the control of the batch where it is not the file's to choose.
    """

    needs: Demand
    batch: int | None
    unused: tuple[str, ...] = ()


Asking = Callable[[str, int, str], Asked]
"""From a network, a batch and a precision to what it asks.  Raises ``BadSpec``."""


def asking(networks: Networks = TEXTBOOK) -> Asking:
    """How those of ``networks`` are asked; the last answers are kept."""

    @lru_cache(_KEPT)
    def needs(network: str, batch: int, precision: str) -> Demand:
        return demand_of(networks.sized(network, batch).graph, precision)

    def asked(network: str, batch: int, precision: str) -> Asked:
        found = networks.sized(network, batch)
        if found.takes_batch:
            return Asked(needs(network, batch, precision), batch)
        return Asked(needs(network, 1, precision), batch_of(found.graph), ("batch",))

    return asked


class Kept(NamedTuple):
    """What a network keeps in memory: its parameters, the bytes of all that is stored, and the plan of its values.

    ``names`` are the nodes that the plan's profiles go through.
    """

    parameters: int
    stored_bytes: int | None
    stored_exact: bool
    memory: MemoryPlan
    names: tuple[str, ...]


@lru_cache(_KEPT)
def kept(network: str, bits: int) -> Kept:
    """What a textbook network keeps with weights and activations of ``bits`` bits.  Raises ``BadSpec``."""
    graph = graph_of(network)
    deployed = deployed_of(graph, bits, bits)
    static = static_tensors(deployed, OPERATORS)
    names = tuple(node.name for node in deployed.nodes if runs(node, static))
    return Kept(parameters(graph), stored_bytes(deployed), stored_exact(deployed), plan_of_values(deployed), names)

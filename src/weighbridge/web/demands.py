"""What networks ask of devices in general, and the devices of the catalogue, each read once: what estimates of simulators begin with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from weighbridge.api import demand_of
from weighbridge.devices.catalogue import find, names
from weighbridge.devices.device import Device
from weighbridge.estimates import Demand
from weighbridge.web.controls import Choice, Number
from weighbridge.web.networks import graph_of

__all__ = ["batch_number", "demanded", "device", "device_choices", "precision_choice"]

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


@lru_cache(_KEPT)
def demanded(network: str, batch: int, precision: str) -> Demand:
    """What a textbook network asks of any device, of ``batch`` inputs at ``precision``.  Raises ``BadSpec``."""
    return demand_of(graph_of(network, batch), precision)

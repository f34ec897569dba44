"""One device's entry of a report."""

from __future__ import annotations

from typing import NamedTuple

from weighbridge.devices.device import Device
from weighbridge.estimates.demand import Demand
from weighbridge.estimates.fit import Fit, fit
from weighbridge.estimates.latency import Latency, latency
from weighbridge.estimates.precision import precision_named

__all__ = ["Conditions", "Estimate", "estimate"]


class Conditions(NamedTuple):
    """Without these a latency means nothing.  ``hardware`` is the device's title; ``runtime`` is None: a data sheet has none."""

    hardware: str
    runtime: str | None
    precision: str | None
    batch: int | None


class Estimate(NamedTuple):
    """What a network would cost on ``device``, under ``conditions``; ``notes`` join those of the parts."""

    device: str
    conditions: Conditions
    fit: Fit
    latency: Latency
    notes: tuple[str, ...] = ()


def estimate(demand: Demand, device: Device, precision: str | None = None, batch: int | None = None) -> Estimate:
    """The verdict and the latency floor of a network on one device.

    ``precision`` is the one that the arithmetic is done in, by default the network's own; ``batch`` is only reported.
    Raises ``BadSpec`` for a precision that does not exist.
    """
    own = demand.precision
    used = own if precision is None else precision_named(precision)
    notes = []
    if own is not None and used is not None and _stored_bits(used) != _stored_bits(own):
        notes.append(f"arithmetic at {used}, bytes as the network stores them ({own})")
    verdict, floor = fit(demand, device), latency(demand, device, used)
    return Estimate(
        device=device.name,
        conditions=Conditions(device.title, None, used, batch),
        fit=verdict,
        latency=floor,
        notes=(*notes, *verdict.notes, *floor.notes),
    )


def _stored_bits(precision: str) -> int:
    """The bits that a value of this precision takes in memory; tf32 is a way to multiply values of 32."""
    return int("".join(character for character in precision if character.isdigit()))

"""The simulators that there are, by the names in their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from weighbridge.web.networks import Networks
from weighbridge.web.simulator import Simulator

__all__ = ["simulators"]


def simulators(networks: Networks | None = None) -> Mapping[str, Simulator]:
    """All of them, in the order in which the first page lists them; ``networks`` are those that one can be given of others' models."""
    if networks is None:
        return _textbook()
    from weighbridge.web.simulators.bill import bill
    from weighbridge.web.simulators.devices import devices
    from weighbridge.web.simulators.latency import latency
    from weighbridge.web.simulators.peak import peak

    taking = (peak(networks), latency(networks), devices(networks), bill(networks))
    return {**_textbook(), **{one.name: one for one in taking}}


@cache
def _textbook() -> Mapping[str, Simulator]:
    """With textbook networks alone."""
    from weighbridge.web.simulators.arrows import arrows
    from weighbridge.web.simulators.bill import bill
    from weighbridge.web.simulators.budgets import budgets
    from weighbridge.web.simulators.designs import designs
    from weighbridge.web.simulators.devices import devices
    from weighbridge.web.simulators.energies import energies
    from weighbridge.web.simulators.latency import latency
    from weighbridge.web.simulators.layer import layer
    from weighbridge.web.simulators.model_size import model_size
    from weighbridge.web.simulators.peak import peak
    from weighbridge.web.simulators.separable import separable
    from weighbridge.web.simulators.street import street
    from weighbridge.web.simulators.table import table
    from weighbridge.web.simulators.training import training
    from weighbridge.web.simulators.ucurve import ucurve

    every = (
        arrows(),
        layer(),
        table(),
        separable(),
        model_size(),
        budgets(),
        peak(),
        ucurve(),
        training(),
        latency(),
        devices(),
        designs(),
        street(),
        energies(),
        bill(),
    )
    return {one.name: one for one in every}

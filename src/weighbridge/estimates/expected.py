"""The time and energy that are expected of a network where kernels were measured: beside the floor, and never in its place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device
from weighbridge.devices.measured import CONVOLUTION, FULLY_CONNECTED, Measured
from weighbridge.estimates.class_time import time_of
from weighbridge.estimates.demand import Demand, NodeDemand
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import rough_ratio

__all__ = ["NOT_MEASURED", "Expected", "expected", "operators_of", "time_of"]

NOT_MEASURED: Final = "no expected time: the device's file has no measured efficiencies"
"""The note of a microcontroller whose kernels nobody measured."""

_TOO_LONG: Final = "the time is beyond what a number can hold"


class Expected(NamedTuple):
    """What one run of batch 1 is expected to take with the library ``kernels``: an estimate from measurements of other networks.

    ``time_s`` and ``energy_j`` are what the efficiencies of the device's file give, between ``least_…`` and ``most_…`` by how far
    networks that had no part in the fit were off.  ``by`` has the seconds of each class of operators; what has no
    multiply-accumulates is in them.  Times are None where there are none, as ``reason`` says; energies also where no power was measured.
    ``conditions`` are those of the measurements; ``beyond`` says how far outside of what was measured the network is, "" where it is not.
    """

    kernels: str
    precision: str
    conditions: str
    time_s: float | None
    least_s: float | None
    most_s: float | None
    energy_j: float | None = None
    least_energy_j: float | None = None
    most_energy_j: float | None = None
    by: Mapping[str, float] = MappingProxyType({})
    verified: bool = True
    reason: str = ""
    beyond: str = ""


def expected(
    demand: Demand, device: Device, lying: Device, precision: str | None, batch: int | None
) -> tuple[Expected, ...]:
    """One entry for each of the device's measurements; ``lying`` is the placed ``device``, ``precision`` the one asked for.

    The time is the sum over the nodes with MACs of MACs / MACs a cycle + values put out x cycles each, over the clock.
    """
    elsewhere = next(_moved(device, lying), "")
    return tuple(_expected(demand, one, elsewhere, precision, batch) for one in device.measured)


def operators_of(node: NodeDemand) -> str | None:
    """The class of operators that a node with MACs is of, None where it is of none."""
    if node.operator == "conv":
        return CONVOLUTION
    return FULLY_CONNECTED if node.operator == "linear" and node.uses_per_weight == 1 else None


def _moved(device: Device, lying: Device) -> Iterator[str]:
    """What does not lie where the file names it first, which is where it lay when it was measured."""
    for what in (WEIGHTS, ACTIVATIONS):
        first, used = device.memory_for(what), lying.memory_for(what)
        if first is not None and used is not None and first.name != used.name:
            yield f"they were measured with the {what} in {first.name}, not in {used.name}"


def _expected(demand: Demand, measured: Measured, elsewhere: str, precision: str | None, batch: int | None) -> Expected:
    reason = elsewhere or next(_reasons(demand, measured, precision, batch), "")
    found = Expected(measured.kernels, measured.precision, measured.conditions, None, None, None, reason=reason)
    if reason:
        return found
    by = _seconds(demand, measured)
    time = math.inf if by is None else sum(by.values())
    least, most = time * measured.least.value, time * measured.most.value
    power = measured.power
    watts = (0.0, 0.0, 0.0) if power is None else (power.least_w.value, power.mean_w.value, power.most_w.value)
    energies = [seconds * drawn for seconds, drawn in zip((least, time, most), watts, strict=True)]
    if by is None or not all(map(math.isfinite, (least, most, *energies))):
        return found._replace(reason=_TOO_LONG)
    found = found._replace(time_s=time, least_s=least, most_s=most, by=by)
    if power is not None:
        found = found._replace(least_energy_j=energies[0], energy_j=energies[1], most_energy_j=energies[2])
    verified = all(figure.verified for figure in measured.figures)
    return found._replace(verified=verified, beyond=_beyond(demand, measured))


def _beyond(demand: Demand, measured: Measured) -> str:
    """How far the network is outside of the networks that were measured; the range is theirs, and says nothing of it."""
    macs, least, most = demand.ops // 2, measured.least_macs, measured.most_macs
    if most is not None and macs > most.value:
        return f"beyond what was measured: {rough_ratio(macs / most.value)} times the MACs of the largest network there"
    if least is not None and macs < least.value:
        return f"beyond what was measured: {rough_ratio(macs / least.value)} times those of the smallest network there"
    return ""


def _reasons(demand: Demand, measured: Measured, precision: str | None, batch: int | None) -> Iterator[str]:
    """Why these measurements say nothing of this network."""
    if batch != 1:
        yield f"they were measured at batch 1, not {'one that is unknown' if batch is None else f'{batch:,}'}"
    if not demand.ops_exact:
        yield "not all MACs of the network are counted"
    working = [node for node in demand.nodes if node.ops]
    if not working:
        yield "the network has no MACs"
    for node in working:
        used = precision or node.precision
        if used != measured.precision:
            yield f"{node.name} computes at {used or 'a number format without a name'}, and they were measured at {measured.precision}"
        operators = operators_of(node)
        efficiency = measured.efficiency(operators)
        if efficiency is None:
            kind = operators or f"{node.operator or 'operators'} like {node.name}"
            yield f"{kind} was not measured"
        elif efficiency.cycles_per_output is not None and node.outputs is None:
            yield f"how many values {node.name} puts out is not known"


def _seconds(demand: Demand, measured: Measured) -> dict[str, float] | None:
    """The seconds of each class of operators, all of which were measured; None where a number cannot hold them."""
    try:
        return _summed(demand, measured)
    except OverflowError:
        return None


def _summed(demand: Demand, measured: Measured) -> dict[str, float]:
    found: dict[str, float] = {}
    for node in demand.nodes:
        efficiency = measured.efficiency(operators_of(node)) if node.ops else None
        if efficiency is None:
            continue
        cycles = node.ops / 2 / efficiency.macs_per_cycle.value
        if efficiency.cycles_per_output is not None:
            cycles += (node.outputs or 0) * efficiency.cycles_per_output.value
        seconds = cycles / measured.cycles_per_s.value
        found[efficiency.operators] = found.get(efficiency.operators, 0.0) + seconds
    return found

"""One device's entry of a report."""

from __future__ import annotations

from fractions import Fraction

from weighbridge.devices.device import Device
from weighbridge.estimates.charge import Battery
from weighbridge.estimates.deadline import Deadline, deadline
from weighbridge.estimates.demand import Demand
from weighbridge.estimates.energy import DeviceEnergy, device_energy
from weighbridge.estimates.expected import NOT_MEASURED, Expected, expected, lacks_times
from weighbridge.estimates.fit import Fit, fit
from weighbridge.estimates.latency import Latency, latency
from weighbridge.estimates.layerwise import NodeTime, layerwise, node_times
from weighbridge.estimates.place import placed
from weighbridge.estimates.precision import precision_named
from weighbridge.estimates.roofs import Roofline, roofs
from weighbridge.named_tuple import NamedTuple

__all__ = ["Conditions", "Estimate", "estimate"]


class Conditions(NamedTuple):
    """Without these a latency means nothing.  ``hardware`` is the device's title; ``runtime`` is None: a bound has none."""

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
    nodes: tuple[NodeTime, ...] = ()
    energy: DeviceEnergy | None = None
    deadline: Deadline | None = None
    notes: tuple[str, ...] = ()
    roofline: Roofline | None = None
    expected: tuple[Expected, ...] = ()


def estimate(
    demand: Demand,
    device: Device,
    precision: str | None = None,
    batch: int | None = None,
    *,
    fps: Fraction | None = None,
    battery: Battery | None = None,
) -> Estimate:
    """The verdict, the latency floor, the times of the nodes, the expected times and the energy of a network on one device.

    ``precision`` is the one that all arithmetic is done in, by default the network's own: each node's for the nodes, and for
    the floor the fastest of those, as nothing may be below it; ``batch`` is only reported.  Bytes move at the bandwidth of the
    memories that the verdict places them in.  ``fps`` asks for the frames missed, ``battery`` for the charge.
    Raises ``BadSpec`` for a precision that does not exist.
    """
    forced = None if precision is None else precision_named(precision)
    own = demand.precision
    used = forced or own
    notes = []
    if own is not None and used is not None and _stored_bits(used) != _stored_bits(own):
        notes.append(f"arithmetic at {used}, bytes as the network stores them ({own})")
    rated = used if forced else _fastest(demand, device)
    if rated != used:
        notes.append(
            f"the floor takes all MACs at {rated}, the fastest of the precisions; layer by layer each has its own"
        )
    timed, without = _timed(demand, device, forced)
    notes += without
    lying = placed(demand, device)
    verdict, floor = fit(demand, device), latency(demand, lying, rated, timed)
    times = node_times(demand, lying, forced)
    summed = layerwise(demand, lying, times, forced)
    floor = floor._replace(layerwise_s=summed.time_s, layerwise_exact=summed.exact)
    timed_by_kernels = expected(demand, device, lying, forced, batch)
    energy = device_energy(demand, lying, forced, battery, batch)
    return Estimate(
        device=device.name,
        conditions=Conditions(device.title, None, used, batch),
        fit=verdict,
        latency=floor,
        nodes=times,
        energy=energy,
        deadline=None if fps is None else deadline(fps, floor.floor_s, floor.layerwise_s, timed_by_kernels),
        notes=(
            *notes,
            *verdict.notes,
            *floor.notes,
            *(summed.notes if floor.floor_s else ()),
            *(energy.notes if energy else ()),
            *([NOT_MEASURED] if lacks_times(device) else []),
        ),
        roofline=roofs(demand, lying, times, floor, forced),
        expected=timed_by_kernels,
    )


def _fastest(demand: Demand, device: Device) -> str | None:
    """The precision of most MACs, or one of the others if the device is faster there; the first has to have a rate."""
    own = device.peak(demand.precision) if demand.precision else None
    if own is None:
        return demand.precision
    others = (device.peak(name) for name, macs in demand.macs_by_precision if name and macs)
    known = [peak for peak in others if peak is not None]
    return max((own, *known), key=lambda peak: peak.ops_per_s.value).precision


def _timed(demand: Demand, device: Device, forced: str | None) -> tuple[int | None, list[str]]:
    """The operations whose precision the device has a rate for, and a note on the others; None for all."""
    macs = {str(name): macs for name, macs in demand.macs_by_precision if macs and not device.peak(name or "")}
    if forced or not macs or demand.precision is None or device.peak(demand.precision) is None:
        return None, []
    named = " and ".join(f"{count:,} MACs at {name}" for name, count in macs.items())
    return demand.ops - 2 * sum(macs.values()), [f"the floor counts {named} as no time: their rate is not known"]


def _stored_bits(precision: str) -> int:
    """The bits that a value of this precision takes in memory; tf32 is a way to multiply values of 32."""
    return int("".join(character for character in precision if character.isdigit()))

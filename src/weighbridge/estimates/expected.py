"""The time and energy that are expected of a network where kernels were measured: beside the floor, and never in its place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device
from weighbridge.devices.measured import CONVOLUTION, FULLY_CONNECTED, Amount, Measured
from weighbridge.devices.timed import Timed, names_of
from weighbridge.estimates.class_time import asked_of, time_of
from weighbridge.estimates.class_work import ClassWork
from weighbridge.estimates.demand import Demand, NodeDemand
from weighbridge.named_tuple import NamedTuple
from weighbridge.units import rough_ratio

__all__ = ["CALL", "NOT_MEASURED", "Expected", "expected", "lacks_times", "operators_of", "time_of"]

NOT_MEASURED: Final = "no expected time: the device's file has no measured efficiencies"
"""The note of a microcontroller whose kernels nobody measured."""

CALL: Final = "call"
"""In the times by class: what a run takes beside its operators."""
_TOO_LONG: Final = "the time is beyond what a number can hold"


class Expected(NamedTuple):
    """What one run is expected to take with the library or runtime ``kernels``: an estimate from measurements of other networks.

    ``time_s`` and ``energy_j`` are what the rates and efficiencies of the device's file give, between ``least_…`` and ``most_…`` by how far
    networks that had no part in the fit were off; None where no network was measured.  ``by`` has the seconds of each class of operators,
    and of the call of a run; where only those with multiply-accumulates have a class, everything else is in them.  Times are None where
    there are none, as ``reason`` says; energies also where no power was measured.  ``conditions`` are those of the measurements; ``beyond``
    says how far outside of what was measured the network is, and what is not in the time, "" where there is nothing to say.
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
    """One entry for each of the device's measurements, then one for each runtime; ``lying`` is the placed ``device``, ``precision`` the one
    asked for.

    The time by efficiencies of kernels is the sum over the nodes with MACs of MACs / MACs a cycle + values put out x cycles each, over
    the clock, at batch 1 alone.  That by a runtime's rates is ``time_of`` and the call, at any batch.
    """
    elsewhere = next(_moved(device, lying), "")
    by_kernels = (_expected(demand, one, elsewhere, precision, batch) for one in device.measured)
    named = zip(names_of(device.timed), device.timed, strict=True)
    return (*by_kernels, *(_expected_by_class(demand, one, name, precision) for name, one in named))


def lacks_times(device: Device) -> bool:
    """Whether it is a microcontroller whose kernels nobody measured."""
    return device.is_microcontroller and not device.measured and not device.timed


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
    return found._replace(verified=verified, beyond=_beyond(demand.ops // 2, measured.least_macs, measured.most_macs))


def _beyond(macs: int, least: Amount | None, most: Amount | None) -> str:
    """How far the network is outside of the networks that were measured; the range is theirs, and says nothing of it."""
    if most is not None and macs > most.value:
        return f"beyond what was measured: {rough_ratio(macs / most.value)} times the MACs of the largest network there"
    if least is not None and not macs:
        return "beyond what was measured: it has no MACs, and every network there has"
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


def _expected_by_class(demand: Demand, timed: Timed, name: str, precision: str | None) -> Expected:
    networks = f"{timed.networks:,} network{'' if timed.networks == 1 else 's'} and " if timed.networks else ""
    where = f"{networks}single operators, {timed.mode}, {timed.thread_count}, {timed.conditions}"
    found = Expected(name, timed.precision, where, None, None, None)
    works = demand.work if timed.fuses else demand.work_as_written
    try:
        work = None if works is None else asked_of(timed, works)
    except OverflowError:
        return found._replace(reason=_TOO_LONG)
    reason = next(_class_reasons(demand, timed, work, precision), "")
    if reason or work is None:
        return found._replace(reason=reason)
    try:
        by, missing = time_of(timed, work)
    except OverflowError:
        return found._replace(reason=_TOO_LONG)
    if timed.call_s is not None:
        by = {**by, CALL: timed.call_s.value}
    time = sum(by.values())
    least, most = (None if ratio is None else time * ratio.value for ratio in (timed.least, timed.most))
    if not all(map(math.isfinite, (time, least or 0.0, most or 0.0))):
        return found._replace(reason=_TOO_LONG)
    verified = all(figure.verified for figure in timed.figures)
    beyond = "; ".join(_left_out(demand, timed, work, missing))
    return found._replace(time_s=time, least_s=least, most_s=most, by=by, verified=verified, beyond=beyond)


def _class_reasons(
    demand: Demand, timed: Timed, work: Sequence[ClassWork] | None, precision: str | None
) -> Iterator[str]:
    """Why a runtime's rates say nothing of this network."""
    if not demand.ops_exact:
        yield "not all MACs of the network are counted"
    for node in demand.nodes:
        used = precision or node.precision
        if node.ops and used != timed.precision:
            yield f"{node.name} computes at {used or 'a number format without a name'}, and they were measured at {timed.precision}"
    if work is None:
        yield "what the network asks of each class of operators is not known"
    elif not any(timed.rates(one.operators) for one in work):
        yield "none of its classes of operators was measured" if work else "nothing in the network takes time"


def _left_out(demand: Demand, timed: Timed, work: Sequence[ClassWork], missing: Sequence[str]) -> Iterator[str]:
    """What the time says nothing of, and what it is worth."""
    if missing:
        yield f"without the time of {_listed(missing)}, which {'was' if len(missing) == 1 else 'were'} not measured"
    inexact = [one.operators for one in work if not one.exact and one.operators not in missing]
    if inexact:
        yield f"not all that {_listed(inexact)} {'asks' if len(inexact) == 1 else 'ask'} is known"
    if timed.least is None or timed.most is None:
        yield "no network was measured, so that nobody knows how far off it is"
    beyond = _beyond(demand.ops // 2, timed.least_macs, timed.most_macs)
    if beyond:
        yield beyond


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last

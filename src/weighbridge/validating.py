"""Validating: measurements beside what a device expects of their networks, each left out of what it is expected by."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from weighbridge import __version__
from weighbridge.calibration.compared import groups_of
from weighbridge.calibration.efficiencies import FEWEST
from weighbridge.calibration.solve import check_there
from weighbridge.choices import devices_of
from weighbridge.devices.device import Device
from weighbridge.devices.timed import Timed
from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.measure.record import Measurement
from weighbridge.report.predicted import LeftAside, NetworkTime, distributions
from weighbridge.report.validated import Validation
from weighbridge.reweighing import (
    Reweighed,
    contradictions,
    network_of,
    network_times,
    records_of,
    reweighed,
    why_not,
)
from weighbridge.sources import Source, quietly
from weighbridge.units import exact

__all__ = ["validated"]


def validated(
    *records: str | os.PathLike[str],
    on: Source | Device,
    progress: Callable[[str], None] | None = None,
) -> Validation:
    """What the device ``on`` expects of the networks that ``records`` have measurements of, beside what they took.

    ``records`` are files and folders that ``weighbridge measure --record`` and ``weighbridge calibrate --record`` write to.  Each network
    is expected by the device as it is, which its own measurement may have had a part in, and by efficiencies fitted to the other networks
    of the records alone; the rates of single operators are the device's.  Beside it stands one constant for all, from the others as well.

    Raises ``BadSpec`` where nothing can be read, for a device without rates, and where no measurement is of one of its runtimes.
    """
    check_there()
    tell = progress or quietly
    device = _device(on)
    measurements, aside = records_of(records)
    weighed, more = _weighed(measurements, device, tell)
    if not any(weighed.values()):
        why = more[0].why if more else "there is no record that can be read"
        raise BadSpec(
            f"no measurement says anything of {device.name}: {why}",
            where=", ".join(os.fspath(one) for one in records),
            hint="measure on this machine, with the threads that the device was calibrated with",
        )
    networks = [time for timed, each in weighed.items() for time in network_times(each, timed)]
    return Validation(
        tool=f"weighbridge {__version__}",
        device=device.name,
        title=device.title,
        networks=tuple(networks),
        errors=distributions(networks),
        aside=(*aside, *more),
        notes=tuple(_notes(weighed, networks)),
    )


def _device(on: Source | Device) -> Device:
    found = devices_of(on)
    if len(found) != 1:
        raise BadSpec("a validation is of one device", where="on", hint="name one device file")
    (device,) = found
    if not device.timed:
        hint = "`weighbridge calibrate` makes a device file that has some, of this machine"
        raise BadSpec("this device has no rates of a runtime: it expects no time", where=device.name, hint=hint)
    return device


def _weighed(
    measurements: Iterable[Measurement], device: Device, tell: Callable[[str], None]
) -> tuple[dict[Timed, list[Reweighed]], list[LeftAside]]:
    """The measurements by the entry of the device that they are of, weighed again; the others with the reason."""
    found: dict[Timed, list[Reweighed]] = {one: [] for one in device.timed}
    aside = []
    for one in measurements:
        timed, why = _entry_of(one, device)
        try:
            if timed is None:
                aside.append(LeftAside(one.source, why))
            else:
                found[timed].append(reweighed(one, device, timed.fuses, tell))
        except WeighbridgeError as error:
            aside.append(LeftAside(one.source, error.what))
    return found, aside


def _entry_of(one: Measurement, device: Device) -> tuple[Timed | None, str]:
    """The entry that the measurement says something of, or why there is none."""
    whys = []
    for timed in device.timed:
        if timed.runtime == one.conditions.runtime:
            why = why_not(one, timed, (timed.conditions, device.core, device.title))
            if not why:
                return timed, ""
            whys.append(why)
    return None, whys[0] if whys else f"the device has no rates of {one.conditions.runtime}"


def _notes(weighed: dict[Timed, list[Reweighed]], networks: Sequence[NetworkTime]) -> Iterator[str]:
    for timed, each in weighed.items():
        yield from contradictions(each)
        count = groups_of([network_of(one) for one in each])
        if each and count < FEWEST:
            few = f"{exact(count)} network{' is' if count == 1 else 's are'} too few to leave one out"
            yield f"{timed.runtime}: {few}, of which there have to be {FEWEST}"
        others = sorted({one.measurement.conditions.version for one in each} - {timed.version})
        if others:
            yield f"{timed.runtime} was calibrated at version {timed.version}, and measured at {', '.join(others)}"
    for one in networks:
        if one.missing:
            yield f"{one.name} has operators without a rate ({', '.join(one.missing)}): their time is in no expected one"

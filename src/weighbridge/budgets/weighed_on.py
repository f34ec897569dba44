"""Which device of a model a budget means."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING

from weighbridge.budgets.metrics import VERDICT, metric_named, nearest
from weighbridge.budgets.record import Budget
from weighbridge.choices import devices_of
from weighbridge.devices.reserve import region_key
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple
from weighbridge.report.figures import PEAK
from weighbridge.report.record import device_names
from weighbridge.written import shown

if TYPE_CHECKING:
    from weighbridge.devices.device import Device

__all__ = ["Devices", "on_device", "weighed_on"]


class Devices(NamedTuple):
    """The devices of a model: their names in the report, those by what a device calls itself, and those of files by path.

    Several may call themselves alike, such as one of the catalogue and a file that was made from it.
    """

    names: tuple[str, ...] = ()
    called: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[PurePath, str], ...] = ()

    def named(self, written: str) -> str | None:
        """The name in the report of the device that is called so, or that stands in the file at the end of whose path this is.

        Raises ``BadSpec`` where that is several.
        """
        key, end = region_key(written), PurePath(written).parts
        alike = [name for own, name in self.called if own == key]
        found = alike or [name for path, name in self.files if path.parts[-len(end) :] == end]
        if len(set(found)) > 1:
            paths = [str(path) for path, name in self.files if name in found]
            hint = f"write on {' or on '.join(paths)}" if paths else "give each a name of its own"
            raise BadSpec(f"several devices of this model are called {shown(written)}", hint=hint)
        return found[0] if found else None


def weighed_on(on: Iterable[str | os.PathLike[str] | Device]) -> Devices:
    """The devices that ``on`` names, groups included.  Raises ``BadSpec`` for one that does not exist."""
    from weighbridge.devices.catalogue import path_of
    from weighbridge.devices.device import Device

    wanted = tuple(on)
    devices = devices_of(wanted)
    by_device = dict(zip(devices, device_names(device.name for device in devices), strict=True))
    places = [os.fspath(one) for one in wanted if not isinstance(one, Device)]
    files = tuple((PurePath(place), by_device[devices_of(place)[0]]) for place in places if path_of(place) is not None)
    called = tuple(
        (region_key(word), name) for device, name in by_device.items() for word in dict.fromkeys((device.name, name))
    )
    return Devices(tuple(by_device.values()), called, files)


def on_device(budget: Budget, devices: Devices) -> Budget:
    """The budget with its device as the report names it, the only one where it says none; a peak is the same on all, and has none.

    Raises ``BadSpec`` for a device that is not among them, for several of one name, and where the budget does not say which.
    """
    known = devices.names
    found = None if budget.device is None else devices.named(budget.device)
    if budget.device is not None and found is None:
        what = f"this model is not weighed on {shown(budget.device)}"
        if not known:
            raise BadSpec(what, hint=f"add it: on = [{budget.device!r}]")
        raise BadSpec(what, hint=f"{nearest(budget.device, known, 'it is weighed on')} (else add it to on)")
    if budget.metric.startswith(PEAK):
        return budget._replace(device=None)
    if found is not None or not (budget.metric == VERDICT or metric_named(budget.metric).of_device):
        return budget._replace(device=found)
    if len(known) == 1:
        return budget._replace(device=known[0])
    what = "this is asked of a device" if budget.metric == VERDICT else f"{budget.metric} is of a device"
    if not known:
        raise BadSpec(f"{what}, and the model is weighed on none", hint='name one: on = ["stm32f746"]')
    raise BadSpec(f"{what}, and the budget does not say which", hint=f"write on {' or on '.join(known)}")

"""The devices that a form offers: those of the folder, and those of each kind, all of which can be chosen at once."""

from __future__ import annotations

from weighbridge.devices.device import KINDS
from weighbridge.named_tuple import NamedTuple
from weighbridge.web.references import OWN, devices_offered
from weighbridge.web.shelf import Shelf

__all__ = ["DeviceGroup", "device_groups"]


class DeviceGroup(NamedTuple):
    """Devices of a kind; ``all_of`` is the name by which all of them are chosen, "" where there is none."""

    heading: str
    all_of: str
    items: tuple[tuple[str, str], ...]


def device_groups(shelf: Shelf) -> tuple[DeviceGroup, ...]:
    """Those of the folder, then the kinds in the order of ``KINDS``."""
    offered = devices_offered(shelf)
    own = [DeviceGroup(one.heading, "", one.items) for one in offered if one.items[0][0].startswith(OWN)]
    listed = zip(KINDS, offered[len(own) :], strict=True)
    groups = (DeviceGroup(one.heading, kind if len(one.items) > 1 else "", one.items) for kind, one in listed)
    return (*own, *groups)

"""Devices with memory set aside: what an application needs for itself beside the network."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from weighbridge.devices.device import Device, Figure, Memory
from weighbridge.errors import BadSpec

__all__ = ["lacks", "region_key", "with_reserved"]


def region_key(name: str) -> str:
    """What names of regions are compared by: capitals, spaces, hyphens and underscores do not matter."""
    return name.strip().lower().replace(" ", "-").replace("_", "-")


def with_reserved(devices: Sequence[Device], wanted: Mapping[str, int]) -> tuple[Device, ...]:
    """``devices`` with the ``wanted`` bytes by region reserved, beside what each file reserves already.

    Raises ``BadSpec`` for a region that none of the devices has, with those that they have, and for more bytes than a
    region has left.
    """
    for name in wanted:
        if all(lacks(device, name) for device in devices):
            known = dict.fromkeys(memory.name for device in devices for memory in device.memories)
            hint = f"the regions are {', '.join(known)}" if known else "no device here has a memory"
            raise BadSpec(f"no region is called {name!r}", where="reserve", hint=hint)
    return tuple(_reserved(device, wanted) for device in devices)


def lacks(device: Device, name: str) -> bool:
    """Whether no region of the device has this name."""
    return _region(device, name) is None


def _reserved(device: Device, wanted: Mapping[str, int]) -> Device:
    more = {memory.name: size for name, size in wanted.items() if (memory := _region(device, name)) is not None}
    memories = (_less(memory, more.get(memory.name, 0), device) for memory in device.memories)
    return dataclasses.replace(device, memories=tuple(memories))


def _region(device: Device, name: str) -> Memory | None:
    """The region of exactly this name, else the first whose name differs by what does not matter."""
    alike = [memory for memory in device.memories if region_key(memory.name) == region_key(name)]
    return next((memory for memory in alike if memory.name == name), alike[0] if alike else None)


def _less(memory: Memory, size: int, device: Device) -> Memory:
    if not size:
        return memory
    own = memory.reserved_bytes
    if size > memory.available_bytes:
        beside = f" beside the {own.value:,} B that its file reserves" if own else ""
        what = f"{size:,} B are more than the {memory.available_bytes:,} B of {memory.name} of {device.name}{beside}"
        raise BadSpec(what, where="reserve", hint="reserve less, or name another region")
    if own is None:
        return dataclasses.replace(memory, reserved_bytes=Figure(size, "asked for"))
    return dataclasses.replace(memory, reserved_bytes=dataclasses.replace(own, value=own.value + size))

"""The devices that the app knows, by the names that an address has for them: those of the catalogue, and ``own:`` those of the folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from weighbridge.devices.catalogue import by_kind, file_of
from weighbridge.devices.device import Device
from weighbridge.devices.plain import device_tables
from weighbridge.devices.read import device_of
from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.handwritten import parse_toml
from weighbridge.named_tuple import NamedTuple
from weighbridge.toml_file import faulty
from weighbridge.web.references import OWN
from weighbridge.web.shelf import Shelf

__all__ = ["Own", "catalogued", "device_named", "file_named", "kept_device", "listed", "own_devices", "told"]


class Own(NamedTuple):
    """A device file of the folder by the name that an address has for it: its device, or what is wrong with the file."""

    on: str
    device: Device | None
    error: WeighbridgeError | None = None


@cache
def catalogued() -> tuple[Device, ...]:
    """The devices of the catalogue, the smallest kind first."""
    return by_kind()


def own_devices(shelf: Shelf) -> tuple[Own, ...]:
    """The device files of the folder, the newest first."""
    return tuple(_own(kept.name, shelf) for kept in shelf.devices())


def device_named(on: str, shelf: Shelf) -> Device:
    """The device of this name.  Raises ``BadSpec`` for one that is not there, and with all faults of a file of the folder."""
    if on.startswith(OWN):
        return _read(file_named(on, shelf), f"{on.removeprefix(OWN)}.toml")
    return next((device for device in catalogued() if device.name == on), None) or _read(file_of(on), on)


def file_named(on: str, shelf: Shelf) -> bytes:
    """The file of the device of this name.  Raises ``BadSpec`` for one that is not there."""
    return shelf.device_file(on.removeprefix(OWN)) if on.startswith(OWN) else file_of(on)


def kept_device(content: bytes, shelf: Shelf, faults: Iterable[str] = ()) -> str:
    """Keep a device file, and return the name that an address has for it.

    Raises ``BadSpec`` with all faults of the file, and with ``faults`` that were found before.  A name that a device has already is one:
    reports tell devices apart by their names alone.
    """
    name, own_faults = _judged(content)
    found = [*faults, *own_faults]
    found += (f"$.name: {what}; give it another name: reports call a device by it" for what in _taken(name, shelf))
    if found:
        raise faulty(found, "", "device file")
    try:
        return f"{OWN}{shelf.save_device(content)}"
    except BadSpec as error:
        if error.where != "name":
            raise
        raise faulty([f"$.name: {error.what}; {error.hint}"], "", "device file") from None


def listed(on: str, device: Device) -> dict[str, Any]:
    """What a list of devices says of one in JSON."""
    return {
        "on": on,
        "name": device.name,
        "title": device.title,
        "kind": device.kind,
        "class": device.class_,
        "core": device.core,
        "address": f"/devices/{on}.json",
    }


def told(on: str, device: Device) -> dict[str, Any]:
    """A device in JSON: the tables of its file, and what it leaves out."""
    return {"on": on, **device_tables(device), "kind": device.kind, "gaps": list(device.gaps)}


def _own(name: str, shelf: Shelf) -> Own:
    on = f"{OWN}{name}"
    try:
        return Own(on, device_named(on, shelf))
    except BadSpec as error:
        return Own(on, None, error)


@lru_cache(maxsize=64)
def _read(content: bytes, where: str) -> Device:
    return device_of(content, where)


def _judged(content: bytes) -> tuple[object, tuple[str, ...]]:
    """The name that a file has, however bad it is else, and its faults."""
    try:
        return device_of(content, "").name, ()
    except BadSpec as error:
        return _name_in(content), error.details or (f"{error.what}; {error.hint}" if error.hint else error.what,)


def _taken(name: object, shelf: Shelf) -> Iterator[str]:
    """Who has this name already."""
    if any(name == one.name for one in catalogued()):
        yield f"the catalogue has {name!r} already"
    elif any(one.on == f"{OWN}{name}" or (one.device and one.device.name == name) for one in own_devices(shelf)):
        yield f"there is one of your own that is called {name!r} already"


def _name_in(content: bytes) -> object:
    try:
        return parse_toml(content, "", "a device file").get("name")
    except BadSpec:
        return None

"""The devices and the tables of energies that come with the package, one TOML file each, and the user's own by path."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from weighbridge.devices.device import KINDS, Device, EnergyTable
from weighbridge.errors import BadSpec

__all__ = [
    "by_kind",
    "energy_names",
    "file_of",
    "find",
    "find_all",
    "find_energy",
    "find_one_by_one",
    "names",
    "path_of",
]

_FOLDER = Path(__file__).parent
_ENERGY = _FOLDER / "energy"


@cache
def names() -> tuple[str, ...]:
    """The names of the catalogue's devices, in alphabetical order."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def by_kind() -> tuple[Device, ...]:
    """All devices of the catalogue, by kind, the smallest first, and by name."""
    return tuple(sorted(map(find, names()), key=lambda device: KINDS.index(device.kind)))


def file_of(name: str) -> bytes:
    """The device file of a name that is one of ``names``.  Raises ``BadSpec`` for any other."""
    if name not in names():
        raise _unknown(name, name, names(), "device", _DEVICES)
    return (_FOLDER / f"{name}.toml").read_bytes()


def find(name_or_path: str) -> Device:
    """The device of this name in the catalogue, or the one that the file at this path describes.

    Capital letters, spaces and underscores in a name do not matter.  What ends in ``.toml`` or has a directory in it is a
    path.  Raises ``BadSpec`` for an unknown name, with the nearest ones, and for a file with faults, with all of them.
    """
    from weighbridge.devices.read import read_device

    path = path_of(name_or_path)
    if path is not None:
        return read_device(path)
    name = plain_name(name_or_path)
    if name not in names():
        raise _unknown(name_or_path, name, (*names(), *KINDS), "device", _DEVICES)
    return read_device(_FOLDER / f"{name}.toml")


def find_all(name_or_path: str) -> tuple[Device, ...]:
    """Every device of a group (``mcu``, ``npu``, ``board``, ``server``, ``other``), else the one that ``find`` finds."""
    if plain_name(name_or_path) in KINDS:
        kind = plain_name(name_or_path)
        return tuple(device for device in map(find, names()) if device.kind == kind)
    return (find(name_or_path),)


def find_one_by_one(wanted: Iterable[str]) -> tuple[Device, ...]:
    """The devices among ``wanted`` that are named by themselves, not by a group."""
    return tuple(find(name) for name in wanted if plain_name(name) not in KINDS)


def energy_names() -> tuple[str, ...]:
    """The names of the tables of energies, in alphabetical order."""
    return tuple(sorted(path.stem for path in _ENERGY.glob("*.toml")))


def find_energy(name_or_path: str) -> EnergyTable:
    """The table of energies of this name, or the one in the file at this path; errors as of ``find``."""
    from weighbridge.devices.read import read_energy_table

    path = path_of(name_or_path)
    if path is not None:
        return read_energy_table(path)
    name = plain_name(name_or_path)
    if name not in energy_names():
        raise _unknown(name_or_path, name, energy_names(), "table of energies", _ENERGIES)
    return read_energy_table(_ENERGY / f"{name}.toml")


_DEVICES = "`weighbridge devices` lists the names; or give the path of a device file, ./mine.toml"
_ENERGIES = "`weighbridge energy` lists the names; or give the path of a file, ./mine.toml"


def path_of(name_or_path: str) -> Path | None:
    """The path of a user's file; None for what is a name of the catalogue."""
    path = Path(name_or_path)
    return path if path.suffix == ".toml" or path.name != name_or_path else None


def plain_name(name: str) -> str:
    """As names are looked up: capital letters, spaces and underscores do not matter."""
    return name.strip().lower().replace(" ", "-").replace("_", "-")


def _unknown(given: str, name: str, known: tuple[str, ...], what: str, advice: str) -> BadSpec:
    from difflib import get_close_matches

    nearest = get_close_matches(name, known, n=1, cutoff=0.5) or [item for item in known if name and name in item][:3]
    meant = f"did you mean {' or '.join(nearest)}? " if nearest else ""
    return BadSpec(f"there is no {what} {given!r}", hint=f"{meant}{advice}")

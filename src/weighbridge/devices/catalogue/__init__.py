"""The devices that come with the package, one TOML file each, and the user's own by path."""

from __future__ import annotations

from pathlib import Path

from weighbridge.devices.device import Device
from weighbridge.errors import BadSpec

__all__ = ["find", "names"]

_FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """The names of the catalogue's devices, in alphabetical order."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def find(name_or_path: str) -> Device:
    """The device of this name in the catalogue, or the one that the file at this path describes.

    Capital letters, spaces and underscores in a name do not matter.  What ends in ``.toml`` or has a directory in it is a
    path.  Raises ``BadSpec`` for an unknown name, with the nearest ones, and for a file with faults, with all of them.
    """
    from weighbridge.devices.read import read_device

    path = Path(name_or_path)
    if path.suffix == ".toml" or path.name != name_or_path:
        return read_device(path)
    name = name_or_path.strip().lower().replace(" ", "-").replace("_", "-")
    known = names()
    if name not in known:
        raise _unknown(name_or_path, name, known)
    return read_device(_FOLDER / f"{name}.toml")


def _unknown(given: str, name: str, known: tuple[str, ...]) -> BadSpec:
    from difflib import get_close_matches

    nearest = get_close_matches(name, known, n=1, cutoff=0.5) or [item for item in known if name and name in item][:3]
    meant = f"did you mean {' or '.join(nearest)}? " if nearest else ""
    hint = f"{meant}`weighbridge devices` lists the names; or give the path of a device file, ./mine.toml"
    return BadSpec(f"there is no device {given!r}", hint=hint)

"""What the shell offers when the user presses Tab."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["complete_device", "complete_source"]


def complete_source(incomplete: str) -> Iterator[str]:
    """Textbook networks, then the files and folders that begin so."""
    from weighbridge.textbook import names

    yield from (name for name in names() if name.startswith(incomplete))
    yield from _paths(incomplete, (".onnx", ".toml"))


def complete_device(incomplete: str) -> Iterator[str]:
    """Devices of the catalogue, then the device files and folders that begin so."""
    from weighbridge.devices.catalogue import names

    yield from (name for name in names() if name.startswith(incomplete))
    yield from _paths(incomplete, (".toml",))


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    folder, _, start = incomplete.rpartition("/")
    place = Path(f"{folder}/" if incomplete.startswith("/") or folder else ".")
    try:
        found = sorted(place.iterdir())
    except OSError:
        return
    for path in found:
        if path.name.startswith(start) and (path.suffix in suffixes or path.is_dir()):
            shown = f"{folder}/{path.name}" if "/" in incomplete else path.name
            yield f"{shown}/" if path.is_dir() else shown

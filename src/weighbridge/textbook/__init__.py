"""The networks of the literature, as data: ``find("alexnet:resolution=256")``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from weighbridge.errors import BadSpec
from weighbridge.frontends.from_toml import graph_of, merged, read_toml
from weighbridge.frontends.toml_expression import Value
from weighbridge.frontends.toml_read import Specification, nearest
from weighbridge.graph import Graph

__all__ = ["find", "names", "specification"]

_FOLDER = Path(__file__).parent  # importlib.resources would take longer to import than all of this to read


@cache
def names() -> tuple[str, ...]:
    """The names of all textbook networks, sorted."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def specification(name: str) -> Specification:
    """The network file called ``name``: its source, parameters, layers.  Raises ``BadSpec`` with the nearest name."""
    known = names()
    if name not in known:
        hint = f"the textbook networks are {', '.join(known)}"
        raise BadSpec(f"there is no textbook network {name!r}{nearest(name, known)}", hint=hint)
    return _read(name)


@cache
def _read(name: str) -> Specification:
    """One file is built many times, at each batch and resolution that somebody asks for, and reading it takes as long as that."""
    return read_toml((_FOLDER / f"{name}.toml").read_bytes(), name)


def find(spec: str, parameters: Mapping[str, Value] | None = None) -> Graph:
    """The network that ``spec`` names, with its parameters after a colon: ``"alexnet:resolution=256,head=gap"``.

    ``parameters`` are added to those in ``spec``, such as a batch that comes from elsewhere.  Raises ``BadSpec``: an
    unknown name (with the nearest and the list), an unknown parameter, a value out of range (with the range), a
    parameter given twice.
    """
    name, _, choices = spec.partition(":")
    found = specification(name.strip())
    return graph_of(found, merged(choices, parameters or {}, name), name)

"""Networks written by hand, as TOML: the format of the textbook networks, for everybody.

docs/networks.md describes it.  Nothing of a file is executed: expressions are the small arithmetic of ``toml_expression``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.handwritten import MAX_FILE_BYTES, parse_toml
from weighbridge.written import shown

from .toml_build import build
from .toml_expression import Value
from .toml_read import Specification, read
from .toml_values import choose

__all__ = ["graph_of", "load_toml", "merged", "parse_choices", "read_file", "read_toml"]


def load_toml(path: Path, parameters: Mapping[str, Value] | None = None) -> Graph:
    """The graph of the network file at ``path``, with ``parameters`` as values or as text.

    Raises ``BadSpec``: a file that cannot be read or is no TOML; all faults of its tables at once, each with its
    ``$.path``; a parameter that does not exist or is out of range; the first layer whose shapes do not fit.
    """
    return graph_of(read_file(path), parameters or {}, str(path))


def read_file(path: Path) -> Specification:
    """The specification in the network file at ``path``.  Raises ``BadSpec``."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadSpec(f"the network file cannot be read: {error.strerror or error}", where=str(path)) from None
    return read_toml(content, str(path))


def graph_of(specification: Specification, parameters: Mapping[str, Value], where: str) -> Graph:
    """The graph of a specification under ``parameters``.  Raises ``BadSpec``."""
    return build(specification, choose(specification.parameters, parameters, where), where)


def read_toml(content: bytes, where: str) -> Specification:
    """The specification that ``content`` holds.  Raises ``BadSpec``."""
    return read(parse_toml(content, where, "a network file"), where)


def parse_choices(text: str, where: str) -> dict[str, str]:
    """``"resolution=256,head=gap"`` as a mapping; the values stay text.  Raises ``BadSpec``."""
    choices: dict[str, str] = {}
    for part in text.split(",") if text else ():
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not name or not equals or not value:
            raise BadSpec(
                f"{part!r} is no choice of a parameter", where=where, hint="write name=value, with commas between"
            )
        if name in choices:
            raise BadSpec(f"{name!r} is chosen twice", where=where)
        choices[name] = value
    return choices


def merged(choices: str, parameters: Mapping[str, Value], where: str) -> dict[str, Value]:
    """``choices`` as ``parse_choices`` reads them, and ``parameters`` that are given beside them, such as a batch.

    Raises ``BadSpec`` for one that is in both with two values: neither is taken silently.
    """
    chosen: dict[str, Value] = {**parse_choices(choices, where)}
    for name, value in parameters.items():
        given = value if isinstance(value, str) else shown(value)
        if chosen.get(name, given) != given:
            what = f"{name!r} is {chosen[name]} in the name of the network, and {given} beside it"
            hint = f"leave {name}={chosen[name]} out of the name, or give it there alone"
            raise BadSpec(what, where=where, hint=hint)
        chosen[name] = value
    return chosen

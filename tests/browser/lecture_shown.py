"""How a figure of the source material is written down as a page of the app shows it: where the page stands, what it then says, and of
which entry of lecture.toml that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Place", "Shown", "State"]

Place = str | tuple[str, str]
"""The name of a readout; with ``about `` before it what is said of the readout; ``box `` and a control; ``sentence``; or the row and the
column of a table.
"""


class Shown(NamedTuple):
    """``text`` is all that stands at ``place``, of a sentence a part; one of its numbers is what ``entry`` states, ``times`` that.

    ``stated`` is None where the entry is a text.
    """

    entry: str
    place: Place
    text: str
    stated: str | None
    times: str = "1"


class State(NamedTuple):
    """A page, whose ``moves`` are made one after the other: a control, and what is typed into its box or chosen."""

    page: str
    moves: Mapping[str, str]
    shown: tuple[Shown, ...]
    query: str = ""

"""Requests made by hand, and graphs to go with them."""

from __future__ import annotations

from dataclasses import replace

from weighbridge.arena import Arena, ArenaBuffer, PersistentBytes
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Graph

FLOAT, INT8 = DTYPES["float32"], DTYPES["int8"]
REFERENCE = PersistentBytes("reference", 4, 1000, 234, "measured")

FRAGMENTED = Arena(
    (
        ArenaBuffer("x", 90, 0, 1),
        ArenaBuffer("a", 60, 1, 3, "one"),
        ArenaBuffer("b", 150, 2, 3, "two"),
        ArenaBuffer("one: sums", 10, 1, 1, "one", is_scratch=True),
    ),
    ("", "one", "two", "three"),
)
"""By size b (160 B) lies at 0, x (96 B) at 0 before it, a (64 B), which meets both, behind b; the scratch fits between x and a."""


def chain(*names: str) -> Graph:
    """A network with a node of each name, of 64 values each."""
    builder = Builder("chain")
    tensor = builder.input("x", (1, 1, 8, 8), FLOAT)
    for name in names:
        (tensor,) = builder.add("relu", [("x", tensor)], name=name)
    return builder.graph([tensor])


def recorded(*names: str) -> Graph:
    return replace(chain(*names), arena=FRAGMENTED)

"""What is alive while each layer runs, in several ways of running one network: what is drawn, in a terminal and as a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

from weighbridge.named_tuple import NamedTuple
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.units import exact

__all__ = ["AliveMap", "Curve", "Level", "alive_grid"]

_ABOVE: Final = 1.5
"""A level that is so many times as high as the largest peak is drawn, a higher one is told."""


class Curve(NamedTuple):
    """One way of running: the ``names`` of its layers in the order in which they run, and the bytes alive then, None where unknown.

    ``marked`` are the places of the layers that the key of the map speaks of.
    """

    name: str
    names: Sequence[str]
    sizes: Sequence[int | None]
    marked: Set[int] = frozenset()

    @property
    def peak(self) -> int | None:
        """The place of the first layer at which most is alive; None where nothing is known."""
        known = [(size, -place) for place, size in enumerate(self.sizes) if size is not None]
        return -max(known)[1] if known else None

    @property
    def peak_bytes(self) -> int:
        """The most that is known to be alive."""
        return max((size for size in self.sizes if size is not None), default=0)

    @property
    def outcome(self) -> str:
        """Where the peak is."""
        place = self.peak
        if place is None:
            return "what is alive is not known"
        more = "" if None not in self.sizes else " of what is known"
        where = f"layer {exact(place + 1)} of {exact(len(self.sizes))}, {self.names[place]}"
        return f"peak{more} {exact(self.peak_bytes)} B at {where}"

    @property
    def said(self) -> str:
        """Where the peak of this way of running is."""
        return f"{self.name}: {self.outcome}"


class Level(NamedTuple):
    """An amount that all curves are held to: what a device has, what no order goes below."""

    name: str
    bytes: int


class AliveMap(NamedTuple):
    """Curves on one scale, with levels; ``means`` says what the marked layers are, "" where none is."""

    title: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()
    means: str = ""

    @property
    def levels_by_size(self) -> Mapping[int, str]:
        """Each amount once, with the names of all that have it."""
        found: dict[int, list[str]] = {}
        for one in self.levels:
            found.setdefault(one.bytes, []).append(one.name)
        return {size: " and ".join(names) for size, names in found.items()}

    @property
    def top_bytes(self) -> int:
        """Where the scale ends: at the largest peak, or at a level not far above it."""
        peak = max((one.peak_bytes for one in self.curves), default=0)
        return max([peak, *(one.bytes for one in self.levels if one.bytes <= _ABOVE * peak)])


def alive_grid(drawn: AliveMap) -> Grid:
    """All figures of the map, a row a time; names once where they are the same in every way of running."""
    columns, cells = [Column("runs as", is_number=True)], [[exact(place + 1) for place in range(_length(drawn))]]
    shown: Sequence[str] = ()
    for curve in drawn.curves:
        if curve.names != shown:
            columns.append(Column("layer" if not shown else f"layer, {curve.name}"))
            cells.append(list(curve.names))
            shown = curve.names
        columns.append(Column(f"bytes, {curve.name}", is_number=True))
        cells.append(["?" if size is None else exact(size) for size in curve.sizes])
    return Grid(drawn.title, tuple(columns), tuple(GridRow(row) for row in zip(*cells, strict=True)))


def _length(drawn: AliveMap) -> int:
    return max((len(one.sizes) for one in drawn.curves), default=0)

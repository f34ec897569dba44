"""The page of a table of energies: every number with its source and doubt, and all of them over each other."""

from __future__ import annotations

import math
from collections.abc import Iterator

from weighbridge.calculators.energies import Energies, EnergyEntry
from weighbridge.errors import printable
from weighbridge.report.grid import Column, Grid, GridRow, grid_lines
from weighbridge.report.spans import Line, Style, bar, in_ascii, wrap
from weighbridge.report.terminal import Look
from weighbridge.units import in_full, significant

__all__ = ["energy_lines"]

_BAR = 24


def energy_lines(found: Energies, look: Look) -> Iterator[Line]:
    """The page as lines of spans, as wide as ``look`` allows."""
    lines = _lines(found, look)
    return lines if look.unicode else (in_ascii(line) for line in lines)


def _lines(found: Energies, look: Look) -> Iterator[Line]:
    width = look.measure
    yield from wrap(f"{found.name}: {printable(found.title, 2000)}", width, Style.STRONG)
    yield from wrap(printable(found.process, 2000), width, Style.QUIET)
    yield Line()
    if not found.entries:
        yield from wrap("the table is empty: it has no operation and no access", width, Style.WARNING)
    else:
        yield from grid_lines(_table(found, look.unicode), width)
        yield Line()
    if len(found.entries) > 1:
        yield from grid_lines(_ratios(found), width)
        yield Line()
    yield from _sources(found, width)
    for note in found.notes:
        yield from wrap(f"note: {printable(note, 2000)}", width, Style.QUIET, hanging=6)


def _table(found: Energies, unicode: bool) -> Grid:
    largest = max((math.log10(entry.times_least) for entry in found.entries), default=0) or 1
    rows = tuple(
        GridRow(
            (
                f"{'' if entry.verified else '~'}{printable(entry.name)}",
                f"{in_full(entry.energy_j * 10**12)} pJ",
                significant(float(entry.times_least)),
                bar(math.log10(entry.times_least) / largest, _BAR, unicode),
            )
        )
        for entry in found.entries
    )
    columns = (
        Column("operation or access"),
        Column("energy", True),
        Column("times the least", True),
        Column("logarithmic", rank=1),
    )
    notes = ("~ not verified",) if any(not entry.verified for entry in found.entries) else ()
    return Grid("energy each", columns, rows, notes)


def _ratios(found: Energies) -> Grid:
    names = [entry.name for entry in found.entries]
    columns = (Column("over"), *(Column(str(place), True) for place in range(1, len(names))))
    rows = []
    for place, name in enumerate(names, 1):
        below = [significant(float(found.ratios[name][other])) for other in names[: place - 1]]
        rows.append(GridRow((f"{place} {printable(name)}", *below, *[""] * (len(names) - 1 - len(below)))))
    return Grid("each over those above it", columns, tuple(rows))


def _sources(found: Energies, width: int) -> Iterator[Line]:
    by_source: dict[tuple[str, bool, str], list[EnergyEntry]] = {}
    for entry in found.entries:
        by_source.setdefault((entry.source, entry.verified, entry.note), []).append(entry)
    for (source, verified, note), entries in by_source.items():
        names = ", ".join(printable(entry.name) for entry in entries)
        doubt = "" if verified else "; not verified"
        said = f" ({printable(note, 2000)})" if note else ""
        yield from wrap(f"{names}: {printable(source, 2000)}{doubt}{said}", width, Style.PLAIN, hanging=2)

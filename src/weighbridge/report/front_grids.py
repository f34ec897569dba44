"""Which models no other beats, and the frames that each misses, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import printable
from weighbridge.report.expectations import EXPECTED_NOTE
from weighbridge.report.figures import label
from weighbridge.report.fronts import Front
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.missed import EXPECTED, FLOOR, Deadlines, Missed
from weighbridge.units import exact, in_full, rough_seconds, seconds, stated

__all__ = ["deadline_grid", "front_grid"]

_UNKNOWN: Final = "?"
_BEST: Final = "not beaten"


def front_grid(fronts: Sequence[Front], called: Mapping[str, str]) -> Grid:
    """A row for each model on each front."""
    rows, notes = [], []
    for front in fronts:
        where = "the network" if front.on is None else printable(front.on, 80)
        notes.append(f"{where}: compared in {'; '.join(map(label, front.metrics))}")
        placed = {
            **dict.fromkeys(front.best, _BEST),
            **{one.model: f"beaten by {', '.join(called[name] for name in one.by)}" for one in front.beaten},
            **dict.fromkeys((one.model for one in front.unplaced), "not placed"),
        }
        why: dict[str, list[str]] = {}
        for one in front.unplaced:
            why.setdefault(one.reason, []).append(called[one.model])
        notes += (f"{where}: not placed {', '.join(names)}: {printable(reason, 200)}" for reason, names in why.items())
        rows += [GridRow((where, name, placed[model])) for model, name in called.items() if model in placed]
    meaning = "one beats another if it is no worse in any figure and better in one; how good a network is, only published rows say"
    return Grid("which none beats", (Column("on"), Column("model"), Column("")), tuple(rows), (*notes, meaning))


def deadline_grid(found: Deadlines, called: Mapping[str, str]) -> Grid:
    """A row for each model on each device, or at its published time."""
    rows = tuple(_missed(one, called[one.model]) for one in found.by)
    columns = (
        Column("model"),
        Column("on"),
        Column("latency", is_number=True),
        Column("frames missed", is_number=True),
    )
    notes = ["frames missed while one inference runs: the latency times the rate, rounded up, less the frame itself"]
    if any(one.kind == FLOOR for one in found.by):
        notes.append("a floor is the least that a device can take: at least so many are missed")
    if any(one.kind == EXPECTED for one in found.by):
        notes.append(EXPECTED_NOTE)
    return Grid(
        f"at {found.fps:,.6g} frames a second, {seconds(found.deadline_s)} each",
        columns,
        rows,
        tuple(notes),
    )


def _missed(one: Missed, name: str) -> GridRow:
    if one.latency_s is None or one.frames_missed is None:
        return GridRow((name, printable(one.on, 80), _UNKNOWN, _UNKNOWN))
    frames = exact(one.frames_missed)
    if one.kind == EXPECTED:
        on = f"{printable(one.on, 80)}, {printable(one.kernels, 60)}"
        return GridRow((name, on, f"expected {rough_seconds(one.latency_s)}", f"expected {frames}"))
    at_least = "at least " if one.kind == FLOOR else ""
    time = seconds(one.latency_s) if at_least else f"{in_full(stated(one.latency_s) * 1000)} ms"
    bound = "" if one.exact else ">= "
    kind = "floor " if at_least else "measured "
    return GridRow((name, printable(one.on, 80), f"{kind}{bound}{time}", f"{at_least}{frames}"))

"""The table of energies: what an operation and a read from memory take, and how many times one is another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from weighbridge.calculators.energies import Energies, EnergyEntry
from weighbridge.calculators.energies import energies as weighed
from weighbridge.devices.catalogue import find_energy
from weighbridge.report.charts.theme import ACCENT, MUTED, PALETTE
from weighbridge.units import exact, in_full, significant
from weighbridge.web.controls import Choice, State, Switch
from weighbridge.web.simulator import Answer, Figure, Plot, Preset, Readout, Simulator

__all__ = ["energies"]

_TABLE: Final = "45nm"
_DRAM, _SRAM, _MULTIPLY = "32-bits-from-dram", "32-bits-from-sram", "multiply-int32"
_PICO: Final = 10**12
_TOO_SHORT: Final = 100
"""A bar of less than this part of the longest is a few pixels long."""


def energies() -> Simulator:
    """The simulator; its presets are the ratios that the literature names."""
    choices = {_key(entry): entry.name for entry in _found().entries}
    return Simulator(
        "energies",
        "What an operation takes",
        "How much more does it take to fetch a number than to compute with it?",
        "Choose two entries of the table and see how many times one is the other. Between the smallest and the largest lie powers of "
        "ten: on a linear axis only the largest can be seen.",
        (
            Choice("over", "this", _DRAM, choices, "The entry that is divided."),
            Choice("under", "over this", _MULTIPLY, choices, "The entry that it is divided by."),
            Switch("logarithmic", "logarithmic axis", True, "Each step of a linear axis adds, of this one multiplies."),
        ),
        _answer,
        (
            Preset("DRAM over an integer multiplication", {"over": _DRAM, "under": _MULTIPLY}),
            Preset("DRAM over SRAM", {"over": _DRAM, "under": _SRAM}),
            Preset("an addition of floats over one of integers", {"over": "add-float32", "under": "add-int32"}),
            Preset("DRAM over an addition of integers", {"over": _DRAM, "under": "add-int32"}),
            Preset("the same on a linear axis", {"over": _DRAM, "under": "add-int32", "logarithmic": False}),
        ),
    )


@cache
def _found() -> Energies:
    return weighed(find_energy(_TABLE))


def _key(entry: EnergyEntry) -> str:
    """The name of an entry as an address has it."""
    return entry.name.lower().replace(" ", "-")


def _answer(state: State) -> Answer:
    found = _found()
    by_key = {_key(entry): entry for entry in found.entries}
    over, under = by_key[str(state["over"])], by_key[str(state["under"])]
    ratio = found.ratios[over.name][under.name]
    doubt = "" if over.verified and under.verified else "~"
    shown = f"{doubt}{significant(float(ratio))}"
    readouts = (
        Readout(
            "ratio", "ratio", float(ratio), f"{shown} times", f"{over.name} over {under.name}", "One over the other"
        ),
        *_readouts(found),
    )
    sentence = f"{over.name}: {shown} times the energy of {under.name}"
    notes = (f"{found.title}; ~ stands before what is not verified", *_sources(found), *found.notes)
    return Answer(readouts, (sentence,), (_plot(found, over, under, state),), notes=notes)


def _readouts(found: Energies) -> Iterator[Readout]:
    for entry in found.entries:
        times = f"{significant(float(entry.times_least))} times the least"
        yield Readout(_key(entry), entry.name, float(entry.energy_j), _energy(entry), times, "Energy each")


def _energy(entry: EnergyEntry) -> str:
    return f"{'' if entry.verified else '~'}{in_full(entry.energy_j * _PICO)} pJ"


def _sources(found: Energies) -> Iterator[str]:
    """Where the figures are from, those of one source together."""
    by_source: dict[tuple[str, bool, str], list[str]] = {}
    for entry in found.entries:
        by_source.setdefault((entry.source, entry.verified, entry.note), []).append(entry.name)
    for (source, verified, note), entries in by_source.items():
        doubt = "" if verified else "; not verified"
        yield f"{', '.join(entries)}: {source}{doubt}{f' ({note})' if note else ''}"


def _plot(found: Energies, over: EnergyEntry, under: EnergyEntry, state: State) -> Plot:
    parts = {under.name: "the other", over.name: "one"}
    rows: tuple[Mapping[str, Figure], ...] = tuple(
        {
            "entry": entry.name,
            "picojoules": float(entry.energy_j * _PICO),
            "energy": _energy(entry),
            "part": parts.get(entry.name, "rest"),
        }
        for entry in found.entries
    )
    if state["logarithmic"]:
        least, *_, most = found.entries
        said = f"all {exact(len(rows))} can be read, from {_energy(least)} to {_energy(most)}"
        return Plot("energies", _title("logarithmic"), _LOGARITHMIC, rows, said)
    return Plot("energies", _title("linear"), _LINEAR, rows, _unseen(rows))


def _title(axis: str) -> str:
    return f"Energy each, {axis} axis"


def _unseen(rows: tuple[Mapping[str, Figure], ...]) -> str:
    """How many bars are too short for the eye."""
    sizes = [float(row["picojoules"] or 0) for row in rows]
    short = sum(size * _TOO_SHORT < max(sizes) for size in sizes)
    return f"{exact(short)} of {exact(len(sizes))} bars are shorter than a hundredth of the longest"


_COLOUR: Final[Mapping[str, Any]] = {
    "field": "part",
    "type": "nominal",
    "legend": None,
    "scale": {"domain": ["one", "the other", "rest"], "range": [ACCENT, PALETTE[0], MUTED]},
}
_PLACE: Final[Mapping[str, Any]] = {"field": "entry", "type": "nominal", "sort": None, "title": None}
_TOOLTIP: Final[list[Mapping[str, Any]]] = [
    {"field": "entry", "type": "nominal", "title": "entry"},
    {"field": "energy", "type": "nominal", "title": "energy"},
]
_LABEL: Final[Mapping[str, Any]] = {
    "mark": {"type": "text", "align": "left", "dx": 9, "fill": "currentColor", "aria": False},
    "encoding": {"text": {"field": "energy", "type": "nominal"}},
}


def _spec(mark: Mapping[str, Any], axis: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "data": {"name": "energies"},
        "width": 560,
        "height": {"step": 26},
        "encoding": {
            "x": {"field": "picojoules", "type": "quantitative", "title": "picojoules", **axis},
            "y": _PLACE,
        },
        "layer": [{"mark": mark, "encoding": {"color": _COLOUR, "tooltip": _TOOLTIP}}, _LABEL],
    }


_POWERS_OF_TEN: Final = "indexof(format(datum.value, '.0e'), '1e') == 0 ? format(datum.value, ',~g') : ''"
_LINEAR: Final = _spec({"type": "bar", "height": 16, "aria": False}, {"axis": {"tickCount": 6}})
# A bar has no beginning on a logarithmic axis: it has no zero.
_LOGARITHMIC: Final = _spec(
    {"type": "point", "filled": True, "size": 130, "opacity": 1, "aria": False},
    {"scale": {"type": "log", "padding": 8}, "axis": {"labelExpr": _POWERS_OF_TEN}},
)

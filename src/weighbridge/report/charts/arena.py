"""The arena map: every buffer at its offset, from the step at which it begins to the one at which it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import altair

from weighbridge.errors import printable
from weighbridge.memory import ARENA, ArenaPlan, PlacedBuffer
from weighbridge.report.arena_map import is_alive, peak_step
from weighbridge.report.charts.axes import amounts
from weighbridge.report.charts.bars import sized
from weighbridge.report.charts.layers import MOST, picked_opacity
from weighbridge.report.charts.panel import Datum, NoPanel, Panel, Subject, key
from weighbridge.report.charts.theme import ACCENT, HEIGHT, PALETTE, WIDTH

__all__ = ["arena"]

_TENSOR: Final = "tensor"
_SCRATCH: Final = "scratch"
_FULL: Final = 0.7
_FAINT: Final = 0.2
"""How strong the inside of a buffer is that is alive at the peak, and of one that is not; the edges are full."""


def arena(subject: Subject) -> Panel | NoPanel:
    """A rectangle a buffer, step by offset; those alive at the peak are filled, and its step is ruled."""
    memory = subject.report.memory
    plan = memory.arena
    if plan is None:
        return NoPanel(f"{ARENA} does not apply: {printable(memory.inapplicable.get(ARENA, 'the report has no plan'))}")
    peak = peak_step(plan)
    steps = len(plan.scopes)
    placed = [one for one in plan.buffers if _is_between(one, steps)]
    if not any(one.aligned_bytes for one in placed):
        return NoPanel(f"{ARENA}: no buffer is alive at any step")
    name, ruled = f"arena_{subject.place}", f"arena_peak_{subject.place}"
    datasets = {name: tuple(_rows(subject, _room(placed, peak), peak, steps))}
    drawing: Any = _buffers(name, steps)
    if peak is not None:
        datasets[ruled] = ({"step": peak},)
        drawing += (
            altair.Chart(altair.NamedData(ruled))
            .mark_rule(aria=False, color=ACCENT, strokeDash=[4, 3], strokeWidth=2)
            .encode(x="step:Q", tooltip=altair.Tooltip("step:Q", title="peak at step", format=",d"))
        )
    said = f"{sized(plan.bytes)}{_where(plan, peak)}"
    title = altair.TitleParams(ARENA, subtitle=said, limit=WIDTH)
    drawing = drawing.properties(width=WIDTH, height=HEIGHT * 3 // 2, title=title)
    return Panel(drawing, datasets, f"{ARENA}: {said}", tuple(_notes(plan, len(placed))))


def _is_between(one: PlacedBuffer, steps: int) -> bool:
    """Whether ``one`` is there at one of ``steps``."""
    return one.first is not None and one.last is not None and one.first <= min(one.last, steps - 1)


def _where(plan: ArenaPlan, peak: int | None) -> str:
    if peak is None:
        return ""
    return f", peak at step {peak:,}" + (f" ({printable(plan.peak_node, 60)})" if plan.peak_node else "")


def _notes(plan: ArenaPlan, placed: int) -> Iterator[str]:
    if placed > MOST:
        yield f"drawn are {MOST:,} of {placed:,} buffers: those alive at the peak, then the largest; the JSON has all"
    untouched = len(plan.buffers) - placed
    if untouched:
        yield f"{untouched:,} of {len(plan.buffers):,} buffers have a place and are read or written at no step"


def _room(placed: Sequence[PlacedBuffer], peak: int | None) -> Sequence[PlacedBuffer]:
    """As many as there is room for, those that are alive at the peak first, then the largest."""
    return sorted(placed, key=lambda one: (not is_alive(one, peak), -one.aligned_bytes))[:MOST]


def _rows(subject: Subject, buffers: Sequence[PlacedBuffer], peak: int | None, steps: int) -> Iterator[Datum]:
    places = _places(subject)
    for one in buffers:
        first, last = one.first or 0, one.last or 0
        place = places.get(one.node)
        yield {
            "key": None if place is None else key(subject.place, place),
            "tensor": printable(one.name, 80),
            "kind": _SCRATCH if one.is_scratch else _TENSOR,
            "node": printable(one.node, 60) or "none, it is an input",
            "bytes": one.bytes,
            "aligned_bytes": one.aligned_bytes,
            "offset": one.offset,
            "end": one.offset + one.aligned_bytes,
            "first": first,
            "last": last,
            "from": first - 0.5,
            "until": min(last, steps - 1) + 0.5,
            "is_alive": is_alive(one, peak),
        }


def _places(subject: Subject) -> Mapping[str, int]:
    """The place of each node by its name, the first of several of one name."""
    return {node.name: place for place, node in reversed(list(enumerate(subject.report.nodes)))}


def _buffers(name: str, steps: int) -> Any:
    kinds = altair.Scale(domain=[_TENSOR, _SCRATCH], range=[PALETTE[0], PALETTE[1]])
    legend = altair.Legend(orient="bottom")  # one for both: Vega-Lite warns of two that differ
    whole = [("bytes", "bytes"), ("aligned_bytes", "bytes, aligned"), ("offset", "offset (B)")]
    return (
        altair.Chart(altair.NamedData(name))
        .mark_rect(aria=False, strokeWidth=1)
        .encode(
            x=altair.X(
                "from:Q",
                title="step",
                axis=altair.Axis(tickMinStep=1, format=",d", grid=False),
                scale=altair.Scale(domain=[-0.5, max(steps, 1) - 0.5], nice=False, zero=False),
            ),
            x2="until:Q",
            y=altair.Y("offset:Q", title="offset in bytes", axis=amounts("B")),
            y2="end:Q",
            color=altair.Color("kind:N", scale=kinds, title=None, legend=legend),
            stroke=altair.Stroke("kind:N", scale=kinds, title=None, legend=legend),
            fillOpacity=altair.condition("datum.is_alive", altair.value(_FULL), altair.value(_FAINT)),
            opacity=picked_opacity(),
            tooltip=[
                altair.Tooltip("tensor:N"),
                altair.Tooltip("kind:N"),
                *(altair.Tooltip(f"{field}:Q", title=title, format=",") for field, title in whole),
                altair.Tooltip("first:Q", title="first step", format=",d"),
                altair.Tooltip("last:Q", title="last step", format=",d"),
                altair.Tooltip("node:N", title="made at"),
            ],
        )
    )

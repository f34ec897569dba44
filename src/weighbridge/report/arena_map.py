"""The plan of an arena on a page: what is drawn, the figures beside it, and what is alive at the peak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from weighbridge.errors import BadSpec, printable
from weighbridge.memory import ARENA, ArenaPlan, MemoryPlan, PlacedBuffer
from weighbridge.report.grid import Column, Grid, GridRow
from weighbridge.report.headlines import bytes_headline
from weighbridge.report.page import SCRATCH_MARK, ArenaMap, Headline, Piece, percent
from weighbridge.units import exact

__all__ = ["arena_map", "check_map", "is_alive", "peak_step"]

_NAMED: Final = 30
"""So many buffers that are alive at the peak have a row of their own."""


def check_map(memory: MemoryPlan) -> None:
    """Raises ``BadSpec`` with the reason where there is no plan to draw."""
    if memory.arena is None:
        reason = printable(memory.inapplicable.get(ARENA, "the report has no plan"))
        raise BadSpec(f"there is no map: {ARENA} does not apply: {reason}", where="--map")


def arena_map(memory: MemoryPlan) -> ArenaMap | None:
    """The map of a plan; None where there is none."""
    plan = memory.arena
    if plan is None:
        return None
    peak = peak_step(plan)
    alive = sorted((one for one in plan.buffers if is_alive(one, peak)), key=lambda one: one.offset)
    capitals = dict(zip((id(one) for one in alive if not one.is_scratch), ascii_uppercase, strict=False))
    return ArenaMap(
        title=f"{ARENA} step by step: {_steps(plan)}",
        bytes=plan.bytes,
        steps=len(plan.scopes),
        peak=peak,
        pieces=tuple(_pieces(plan.buffers, capitals)),
        key=f"capitals: alive at the peak; {SCRATCH_MARK}: scratch; each cell shows what takes most of it",
        figures=tuple(_figures(plan, memory, peak)),
        alive=_alive(plan, peak, alive, capitals),
    )


def peak_step(plan: ArenaPlan) -> int | None:
    """The step of the peak; None without buffers, and where a report names one that there is not."""
    return plan.peak_scope if plan.peak_scope is not None and plan.peak_scope < len(plan.scopes) else None


def _steps(plan: ArenaPlan) -> str:
    count = len(plan.scopes)
    steps = f"{count:,} {'step' if count == 1 else 'steps'}, one a node"
    if plan.source == "runtime":
        return f"{steps}; in step 0 the inputs are filled" if plan.scopes[:1] == ("",) else steps
    return steps


def is_alive(one: PlacedBuffer, step: int | None) -> bool:
    """Whether ``one`` is there at ``step``; nothing is at none."""
    return step is not None and one.first is not None and one.last is not None and one.first <= step <= one.last


def _pieces(buffers: Iterable[PlacedBuffer], capitals: Mapping[int, str]) -> Iterator[Piece]:
    """What is alive at some step: at the peak it has a capital, the lowest first, elsewhere a letter in turn."""
    drawn = [one for one in buffers if one.first is not None and one.last is not None]
    for place, one in enumerate(sorted(drawn, key=lambda one: one.first or 0)):
        mark = SCRATCH_MARK if one.is_scratch else capitals.get(id(one), ascii_lowercase[place % 26])
        yield Piece(mark, one.offset, one.offset + one.aligned_bytes, one.first or 0, one.last or 0)


def _figures(plan: ArenaPlan, memory: MemoryPlan, peak: int | None) -> Iterator[Headline]:
    where = "no step" if peak is None else f"step {peak:,}"
    node = f" ({printable(plan.peak_node, 60)})" if plan.peak_node else ""
    above = f"{_share(plan.excess_bytes, plan.lower_bound_bytes)}of it" if plan.lower_bound_bytes else "of nothing"
    yield bytes_headline("arena", plan.bytes, f"the highest end of a buffer; the peak is {where}{node}")
    yield bytes_headline("no reuse", plan.no_reuse_bytes, "every buffer in a place of its own")
    yield bytes_headline("lower bound", plan.lower_bound_bytes, "alive at once, at most: no plan can do with less")
    yield bytes_headline("above it", plan.excess_bytes, f"arena less lower bound, {above}")
    yield bytes_headline("fragmentation", plan.fragmentation_bytes, "free at the peak below the highest end")
    if memory.variable_bytes:
        yield bytes_headline("variables", memory.variable_bytes, "outlive an inference; beside the arena")
    if memory.persistent:
        sentence = "an estimate: what the runtime keeps beside it, with reference kernels and pointers of 32 bits"
        yield bytes_headline("persistent", memory.persistent_bytes, sentence)._replace(is_exact=False)


def _share(part: int, whole: int) -> str:
    """``33.3% ``; a quotient that no float holds is none."""
    try:
        return f"{percent(part / whole)} "
    except OverflowError:
        return "many times "


def _alive(
    plan: ArenaPlan, peak: int | None, alive: Sequence[PlacedBuffer], capitals: Mapping[int, str]
) -> Grid | None:
    if peak is None:
        return None
    shown = reversed(alive[-_NAMED:])  # the highest first, as on the map
    rows = [_row(one, SCRATCH_MARK if one.is_scratch else capitals.get(id(one), "")) for one in shown]
    node = f" ({printable(plan.peak_node, 60)})" if plan.peak_node else ""
    more = len(alive) - _NAMED
    return Grid(
        title=f"alive at the peak, step {peak:,}{node}",
        columns=(
            Column(""),
            Column("bytes", is_number=True),
            Column("offset", is_number=True),
            Column("steps", is_number=True, rank=2),
            Column("buffer"),
            Column("kind", rank=1),
        ),
        rows=tuple(rows),
        notes=(f"{more:,} more lie below these: see the JSON",) if more > 0 else (),
    )


def _row(one: PlacedBuffer, mark: str) -> GridRow:
    first, last = one.first or 0, one.last or 0
    steps = f"{first:,}" if first == last else f"{first:,} to {last:,}"
    kind = "scratch" if one.is_scratch else "" if one.node else "input"
    return GridRow((mark, exact(one.bytes), exact(one.offset), steps, printable(one.name, 80), kind))

"""The stage and the grid that leave the smallest peak, of all that there are up to a size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.memory.plan import plan_of_values
from weighbridge.memory.records import IN_PLACE
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op, known_total
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.maps import NO_MAPS, maps_of
from weighbridge.patches.part import Known
from weighbridge.patches.plan import Grid, PatchPlan, inputs_of, least_in, peaks_behind, peaks_in, planned
from weighbridge.patches.rows import RowRules
from weighbridge.patches.stage import stage_to, stages
from weighbridge.patches.streamed import Streamed, in_rows

__all__ = ["FINEST", "GRIDS", "Searched", "best_in_rows", "searched"]

FINEST: Final = 8
"""Patches side by side at most."""
GRIDS: Final = tuple(Grid(size, size) for size in range(2, FINEST + 1))


class Searched(NamedTuple):
    """``plan`` has the smallest peak under ``policy`` of the ``tried`` stages and grids, and of these the fewest MACs; None where none is
    smaller than ``before_bytes``, the peak without patches.  ``reasons`` say by node why it can end no stage.
    """

    plan: PatchPlan | None
    policy: str
    before_bytes: int
    tried: int
    reasons: Mapping[str, str]


class _Asked(NamedTuple):
    """By which policy, whether the input is held, and the smallest peak so far."""

    policy: str
    with_input: bool
    best: int


class _Candidate(NamedTuple):
    """A stage and a grid with its peak."""

    peak_bytes: int
    last: str
    grid: Grid


def searched(
    deployed: Graph,
    policy: str,
    *,
    with_input: bool = False,
    last: str | None = None,
    grids: Sequence[Grid] = GRIDS,
    operators: Mapping[str, Op] = OPERATORS,
) -> Searched | str:
    """The best of all stages, or of that up to ``last``, and of ``grids``; or why nothing can be told.

    A stage is not tried behind which as much is alive as without patches, or more than with patches that were tried; nor, of squares,
    a finer one where what is alive behind the stage is already the most.  A grid one patch of which takes more than the best so far is
    not looked at further.  ``with_input`` holds the input in the same memory while
    the stage runs.
    Raises ``BadSpec`` as ``planned`` does for a ``last`` that is no end of a stage.
    """
    whole = plan_of_values(deployed, operators)
    before = whole.peak_bytes.get(policy)
    if before is None:
        return f"there is no peak under {policy}"
    if last is None and not maps_of(deployed, deployed.nodes, operators).axes:
        return Searched(None, policy, before, 0, {deployed.name: NO_MAPS})
    ends = stages(deployed, operators) if last is None else (last,)
    behind = dict(_behind(deployed, whole.profile[policy], operators))
    found: list[_Candidate] = []
    reasons: dict[str, str] = {}
    tried, best, known = 0, before, Known()
    for end in sorted(ends, key=lambda name: behind.get(name, 0)):
        if last is None and (behind[end] > best or behind[end] >= before):
            continue
        try:
            asked = _Asked(policy, with_input, best)
            for candidate in _of_stage(deployed, end, grids, asked, operators, known):
                tried += 1
                if candidate is not None and candidate.peak_bytes < before:
                    found.append(candidate)
                    best = min(best, candidate.peak_bytes)
        except BadSpec as error:
            if last is not None:
                raise
            reasons[end] = error.what
    plans = [planned(deployed, one.last, one.grid, operators) for one in found if one.peak_bytes == best]
    return Searched(min(plans, key=lambda plan: plan.clipped_macs, default=None), policy, before, tried, reasons)


def _of_stage(
    deployed: Graph,
    end: str,
    grids: Sequence[Grid],
    asked: _Asked,
    operators: Mapping[str, Op],
    known: Known,
) -> Iterator[_Candidate | None]:
    """The grids of a stage, of squares until a finer one makes no difference; None for one that takes more than the best so far.

    Raises ``BadSpec``, of a grid only where none is coarse enough.
    """
    stage, (policy, with_input, best) = stage_to(deployed, end, operators), asked
    held = known_total(deployed.tensors[name].bytes for name in inputs_of(deployed, stage)) if with_input else 0
    in_place = policy.endswith(IN_PLACE)
    rest = peaks_behind(deployed, stage, operators)
    for grid in grids:
        try:
            if least_in(deployed, stage, grid, operators, in_place=in_place, known=known) + (held or 0) > best:
                yield None
                continue
            peaks = peaks_in(deployed, stage, grid, operators, rest, known)
        except BadSpec as error:
            if error.where == "grid" and grid != grids[0]:
                continue
            raise
        peak = peaks.peak_bytes(policy, with_input=with_input)
        if peak is not None:
            best = min(best, peak)
            yield _Candidate(peak, end, grid)
        if grids is GRIDS and peak is not None and peak == peaks.rest_bytes[policy]:
            return


def _behind(graph: Graph, profile: Sequence[int | None], operators: Mapping[str, Op]) -> Iterator[tuple[str, int]]:
    """For each node that runs, the most that is alive behind it."""
    most = 0
    for node, alive in reversed(list(zip(lifetimes(graph, operators).nodes, profile, strict=True))):
        yield node.name, most
        most = max(most, alive or 0)


def best_in_rows(
    deployed: Graph,
    policy: str,
    *,
    with_input: bool = False,
    last: str | None = None,
    operators: Mapping[str, Op] = OPERATORS,
) -> Streamed | None:
    """The stage that leaves the smallest peak under ``policy`` row by row, the shortest of several, or that up to ``last``.

    None where none leaves less than the network takes in one piece, or where that up to ``last`` does not run row by row.
    """
    rules = RowRules(deployed, operators)
    if last is not None:
        return _rows_of(deployed, last, rules)
    whole = plan_of_values(deployed, operators)
    before = whole.peak_bytes.get(policy)
    if before is None:
        return None
    behind = dict(_behind(deployed, whole.profile[policy], operators))
    places = {node.name: place for place, node in enumerate(lifetimes(deployed, operators).nodes)}
    ends = [end for end in stages(deployed, operators) if behind[end] < before]
    best: tuple[int, int] = before, -1
    found: Streamed | None = None
    bounds = {end: behind[end] for end in ends}
    widest: Streamed | None = None
    while ends and widest is None:
        end = ends.pop()
        widest = _rows_of(deployed, end, rules)
    if widest is None:
        return None
    bounds = dict(_at_least(deployed, [*ends, widest.last], widest, behind, with_input=with_input))
    for bound, place, end in sorted((bounds[end], places[end], end) for end in bounds):
        if (bound, place) > best:
            break
        one = widest if end == widest.last else _rows_of(deployed, end, rules)
        peak = None if one is None else (one.with_input_bytes if with_input else one.peak_bytes)[policy]
        if peak is not None and peak < before and (peak, place) < best:
            best, found = (peak, place), one
    return found


def _rows_of(deployed: Graph, last: str, rules: RowRules) -> Streamed | None:
    """The stage row by row, None where it does not run so."""
    try:
        return in_rows(deployed, last, rules)
    except BadSpec:
        return None


def _at_least(
    deployed: Graph, ends: Sequence[str], widest: Streamed, behind: Mapping[str, int], *, with_input: bool
) -> Iterator[tuple[str, int]]:
    """What is alive at least with each stage row by row: a row of each tensor inside, as little of it as the longest stage needs."""
    row_bytes = {ring.name: (ring.bytes or 0) // ring.rows for ring in widest.rings}
    inside, wanted = 0, set(ends)
    given = (widest.input_bytes or 0) if with_input else 0
    for node in deployed.nodes:
        if node.name in wanted:
            buffer = deployed.tensors[node.outputs[0]].bytes or 0
            yield node.name, max(behind[node.name], inside + buffer + given)
        inside += sum(row_bytes.get(name, 0) for name in node.outputs)

"""The stage and the grid that leave the smallest peak, of all that there are up to a size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.memory.plan import plan_of_values
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.plan import Grid, PatchPlan, peaks_behind, peaks_in, planned
from weighbridge.patches.stage import stage_to, stages

__all__ = ["FINEST", "GRIDS", "Searched", "searched"]

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
    a finer one where what is alive behind the stage is already the most.  ``with_input`` holds the input in the same memory while
    the stage runs.
    Raises ``BadSpec`` as ``planned`` does for a ``last`` that is no end of a stage.
    """
    whole = plan_of_values(deployed, operators)
    before = whole.peak_bytes.get(policy)
    if before is None:
        return f"there is no peak under {policy}"
    ends = stages(deployed, operators) if last is None else (last,)
    behind = dict(_behind(deployed, whole.profile[policy], operators))
    found: list[_Candidate] = []
    reasons: dict[str, str] = {}
    tried, best = 0, before
    for end in sorted(ends, key=lambda name: behind.get(name, 0)):
        if last is None and (behind[end] > best or behind[end] >= before):
            continue
        try:
            for candidate in _of_stage(deployed, end, grids, (policy, with_input), operators):
                tried += 1
                if candidate.peak_bytes < before:
                    found.append(candidate)
                    best = min(best, candidate.peak_bytes)
        except BadSpec as error:
            if last is not None:
                raise
            reasons[end] = error.what
    plans = [planned(deployed, one.last, one.grid, operators) for one in found if one.peak_bytes == best]
    return Searched(min(plans, key=lambda plan: plan.clipped_macs, default=None), policy, before, tried, reasons)


def _of_stage(
    deployed: Graph, end: str, grids: Sequence[Grid], asked: tuple[str, bool], operators: Mapping[str, Op]
) -> Iterator[_Candidate]:
    """The grids of a stage, of squares until a finer one makes no difference.

    Raises ``BadSpec``, of a grid only where none is coarse enough.
    """
    stage, (policy, with_input) = stage_to(deployed, end, operators), asked
    rest = peaks_behind(deployed, stage, operators)
    for grid in grids:
        try:
            peaks = peaks_in(deployed, stage, grid, operators, rest)
        except BadSpec as error:
            if error.where == "grid" and grid != grids[0]:
                continue
            raise
        peak = peaks.peak_bytes(policy, with_input=with_input)
        if peak is not None:
            yield _Candidate(peak, end, grid)
        if grids is GRIDS and peak is not None and peak == peaks.rest_bytes[policy]:
            return


def _behind(graph: Graph, profile: Sequence[int | None], operators: Mapping[str, Op]) -> Iterator[tuple[str, int]]:
    """For each node that runs, the most that is alive behind it."""
    most = 0
    for node, alive in reversed(list(zip(lifetimes(graph, operators).nodes, profile, strict=True))):
        yield node.name, most
        most = max(most, alive or 0)

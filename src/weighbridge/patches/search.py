"""The stage and the grid that leave the smallest peak, of all that there are up to a size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.memory.plan import plan_of_values
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.maps import NO_MAPS
from weighbridge.patches.options import Option, Options, behind_each
from weighbridge.patches.plan import Grid, PatchPlan, planned
from weighbridge.patches.rows import RowRules
from weighbridge.patches.stage import stages
from weighbridge.patches.streamed import Streamed, in_rows

__all__ = ["FINEST", "GRIDS", "POLICIES", "Candidate", "Searched", "best_in_rows", "searched"]

FINEST: Final = 8
"""Patches side by side at most."""
GRIDS: Final = tuple(Grid(size, size) for size in range(2, FINEST + 1))
POLICIES: Final = frozenset({"pair", "live", "pair_in_place", "live_in_place"})


class Candidate(NamedTuple):
    """The stage up to ``last`` in patches of ``grid``, and what is alive at most."""

    peak_bytes: int
    last: str
    grid: Grid


class Searched(NamedTuple):
    """``plan`` has the smallest peak under ``policy`` of all stages and grids, and of these the fewest MACs; None where none is smaller
    than ``before_bytes``, the peak without patches: ``best`` is the smallest then, None where no stage runs in patches.

    ``tried`` stages and grids were looked at, all others leave more at least.  ``reasons`` say by node why it can end no stage.
    """

    plan: PatchPlan | None
    policy: str
    before_bytes: int
    tried: int
    reasons: Mapping[str, str]
    best: Candidate | None = None


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

    Those that could leave least are looked at first, until what is left cannot leave less.  ``with_input`` holds the input in the same
    memory while the stage runs.
    Raises ``BadSpec`` as ``planned`` does for a ``last`` that is no end of a stage.
    """
    before = plan_of_values(deployed, operators).peak_bytes.get(policy)
    if before is None or policy not in POLICIES:
        return f"there is no peak under {policy}"
    options = Options(deployed, policy, operators, with_input=with_input, last=last, grids=grids)
    if last is None and not options.running.maps.axes:
        return Searched(None, policy, before, 0, {deployed.name: NO_MAPS})
    best = _smallest(options, before)
    if last is not None and best is None and last in options.reasons:
        raise options.reasons[last]
    reasons = {name: error.what for name, error in options.reasons.items()}
    if best is None or best.peak_bytes >= before:
        return Searched(None, policy, before, options.tried, reasons, best)
    return Searched(planned(deployed, best.last, best.grid, operators), policy, before, options.tried, reasons)


def _smallest(options: Options, before: int) -> Candidate | None:
    """The smallest peak; of several below ``before`` that with the fewest MACs, and of these the first."""
    best: Candidate | None = None
    chosen = None
    waiting = list(options.ends())
    heapify(waiting)
    while waiting:
        option = heappop(waiting)
        if best is not None and (
            option.least_bytes > best.peak_bytes or option.least_bytes == best.peak_bytes >= before
        ):
            break
        if option.grid is None:
            for one in options.grids_of(option):
                heappush(waiting, one)
            continue
        ties = best is not None and option.least_bytes == best.peak_bytes
        if ties and chosen is not None and not _comes_first(option, chosen, options):
            continue
        peak = options.peak_bytes(option)
        if peak is None:
            continue
        if (
            best is None
            or chosen is None
            or peak < best.peak_bytes
            or (peak == best.peak_bytes < before and _comes_first(option, chosen, options))
        ):
            best, chosen = Candidate(peak, option.last, option.grid), option
    return best


def _comes_first(one: Option, other: Option, options: Options) -> bool:
    """Whether one has fewer MACs, or as many and comes before the other."""
    return (options.macs(one), one.order) < (options.macs(other), other.order)


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
    behind = behind_each(deployed, policy, operators)
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

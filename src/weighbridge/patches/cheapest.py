"""The patches that compute least again, of all whose peak has room in a memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

from weighbridge.counts import count
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.memory.records import IN_PLACE
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.halo import Box, Span, whole
from weighbridge.operators.record import Op, known_total
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.part import Known, boxes_of
from weighbridge.patches.plan import Grid, inputs_of, least_in, peaks_in, planned, splits
from weighbridge.patches.search import GRIDS
from weighbridge.patches.stage import Stage, stage_to, stages

__all__ = ["Cheapest", "cheapest", "macs_again"]

_BY_THE_INPUT: Final = frozenset({"conv_transpose"})
"""Operators that take MACs for each element of the operand, and not of the result: their patches are counted one by one."""


class Cheapest(NamedTuple):
    """The stage up to ``last`` in patches of ``grid``: what is alive at most, and the MACs that are done again."""

    last: str
    grid: Grid
    peak_bytes: int
    macs_more: int


def cheapest(
    deployed: Graph,
    policy: str,
    room_bytes: int,
    *,
    with_input: bool = False,
    last: str | None = None,
    grids: Sequence[Grid] = GRIDS,
    operators: Mapping[str, Op] = OPERATORS,
) -> Cheapest | None:
    """Of all stages, or that up to ``last``, and of all ``grids`` whose peak under ``policy`` is no more than ``room_bytes`` those with the
    fewest MACs done again, of several those with the smallest peak; None where there are none.

    The peak has the input in it where ``with_input`` says so, as ``searched`` does.
    """
    asked = _Asked(policy, room_bytes, with_input)
    macs, known = {one.name: one.macs or 0 for one in count(deployed, deployed).nodes}, Known()
    best: Cheapest | None = None
    for end in stages(deployed, operators) if last is None else (last,):
        try:
            for found in _of_stage(deployed, end, grids, asked, (macs, known, operators), best):
                if best is None or (found.macs_more, found.peak_bytes) < (best.macs_more, best.peak_bytes):
                    best = found
        except BadSpec:
            continue
    return best


class _Asked(NamedTuple):
    """By which policy, how much there is, and whether the input is held."""

    policy: str
    room_bytes: int
    with_input: bool


def _of_stage(
    deployed: Graph,
    end: str,
    grids: Sequence[Grid],
    asked: _Asked,
    facts: tuple[Mapping[str, int], Known, Mapping[str, Op]],
    best: Cheapest | None,
) -> Iterator[Cheapest]:
    """The grids of a stage that have room, and that do no more again than the best.  Raises ``BadSpec`` for what is no stage."""
    (policy, room, with_input), (macs, known, operators) = asked, facts
    stage, rest = stage_to(deployed, end, operators), None
    held = known_total(deployed.tensors[name].bytes for name in inputs_of(deployed, stage)) if with_input else 0
    if held is None or held + (deployed.tensors[stage.output].bytes or 0) > room:
        return
    for grid in grids:
        try:
            in_place = policy.endswith(IN_PLACE)
            if held + least_in(deployed, stage, grid, operators, in_place=in_place, known=known) > room:
                continue
            more = macs_again(deployed, stage, grid, macs, known, operators)
            if best is not None and more > best.macs_more:
                continue
            peaks = peaks_in(deployed, stage, grid, operators, rest, known)
        except BadSpec as error:
            if error.where == "grid":
                continue
            raise
        rest = peaks.rest_bytes
        behind, peak = rest[policy], peaks.peak_bytes(policy, with_input=with_input)
        if behind is None or behind > room:
            return
        if peak is not None and peak <= room:
            yield Cheapest(end, grid, peak, more)


def macs_again(
    deployed: Graph,
    stage: Stage,
    grid: Grid,
    macs: Mapping[str, int],
    known: Known,
    operators: Mapping[str, Op] = OPERATORS,
) -> int:
    """The MACs of all patches less those of the stage in one piece; ``macs`` are those of each node.

    What a patch computes of a map is so many rows times so many columns, so that all patches compute the sum of the rows times the
    sum of the columns.  It is below 0 where the stage computes what nobody needs.  Raises ``BadSpec`` as ``planned`` does.
    """
    if any(node.operator in _BY_THE_INPUT for node in stage.nodes):
        plan = planned(deployed, stage.last.name, grid, operators)
        return plan.clipped_macs - plan.stage_macs
    all_of_it = whole(deployed.tensors[stage.output].shape or ())
    rows, columns = stage.axes
    along = []
    for axis, spans in zip(stage.axes, splits(all_of_it[rows].size, all_of_it[columns].size, grid), strict=True):
        boxes = [boxes_of(deployed, stage, _with(all_of_it, axis, span), operators, known) for span in spans]
        along.append({node.name: sum(_elements(one.get(node.outputs[0])) for one in boxes) for node in stage.nodes})
    needed = boxes_of(deployed, stage, all_of_it, operators, known)
    more = 0
    for node in stage.nodes:
        every = deployed.tensors[node.outputs[0]].elements or 1
        once = _elements(needed.get(node.outputs[0]))
        done = along[0][node.name] * along[1][node.name] // once if once else 0
        more += macs.get(node.name, 0) * done // every - macs.get(node.name, 0)
    return more


def _with(box: Box, axis: int, span: Span) -> Box:
    return (*box[:axis], span, *box[axis + 1 :])


def _elements(box: Box | None) -> int:
    return 0 if box is None else prod(span.size for span in box)

"""Patches: the first stage of a source runs piece by piece, so that less of it is alive at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

from weighbridge import __version__
from weighbridge.api import Inputs, Module, deployed_of
from weighbridge.choices import Reserve, WeightBits, devices_of, reserve_of
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.cheapest import Cheapest, cheapest
from weighbridge.patches.plan import Grid, PatchPlan, planned
from weighbridge.patches.search import GRIDS, POLICIES, Candidate, best_in_rows, searched
from weighbridge.patches.stage import running_in, sizes_unknown
from weighbridge.report.patched import Patched, Room
from weighbridge.report.peaks import policy_named
from weighbridge.sources import Given, Source, check, quietly, read
from weighbridge.written import shown

if TYPE_CHECKING:
    from weighbridge.devices.device import Device
    from weighbridge.estimates import Demand

__all__ = ["in_patches"]

_GRID: Final = re.compile(r"([1-9]\d{0,5})\s*[xX]\s*([1-9]\d{0,5})")
_POLICY: Final = "live_in_place"


def in_patches(  # noqa: PLR0913 - the options are those of the command
    source: Source | Graph | Module,
    *,
    last: str | None = None,
    grid: str | tuple[int, int] | Iterable[str | tuple[int, int]] = (),
    policy: str = _POLICY,
    with_input: bool = True,
    on: Source | Device | Iterable[Source | Device] = (),
    reserve: Reserve = (),
    batch: int | None = None,
    sequence: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Inputs = None,
    kwargs: Mapping[str, Any] | None = None,
    weight_bits: WeightBits | None = None,
    activation_bits: int | None = None,
    precision: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Patched:
    """The first stage of a network patch by patch: each patch of its result is computed by itself, of the part of the image that it needs.

    ``last`` is the node that the stage ends with, ``grid`` how many patches above each other and side by side (``"4x4"``), one or several;
    what is left out is searched for: the stage and the square grid of 2 to 8 with the smallest peak under ``policy``, of these the one
    with the fewest MACs.  With both given the plan is that one, whether it helps or not.  ``streamed`` has the stage that was given,
    or the best one, row by row.  ``with_input`` holds the input of the
    network in the same memory while the stage runs; without it each patch reads its part where it lies, in flash or in a camera.

    ``source``, the sizes, widths, ``on`` and ``reserve`` are as in ``weigh``.  A device is compared by what its preferred memory for
    activations has left for them; for one that has too little in one piece the patches with the fewest MACs done again are told that
    have room.

    Raises what ``weigh`` does, and ``BadSpec`` for a node that no stage can end with, one in the stage that has to see all of its input,
    a grid finer than the map, and a policy that has no peak here.
    """
    given = Given(batch, sequence, dims, inputs, kwargs)
    grids = tuple(_grids(grid))
    policy_named(policy)
    devices, _ = reserve_of(reserve, devices_of(on))
    check(source, given)
    tell = progress or quietly
    graph, _, origin, _ = read(source, given, tell)
    deployed = deployed_of(graph, weight_bits, activation_bits, precision)
    tell("looking for the best patches")
    found = _found(deployed, last, grids, policy, with_input=with_input)
    made = Patched(
        tool=f"weighbridge {__version__}",
        source=origin,
        name=graph.name,
        policy=policy,
        with_input=with_input,
        before_bytes=found.before_bytes,
        plan=found.plan,
        tried=found.tried,
        reasons=found.reasons,
        notes=(*deployed.notes, *found.notes),
        streamed=best_in_rows(deployed, policy, with_input=with_input, last=last),
        best=found.best,
    )
    looked_for = partial(cheapest, deployed, policy, with_input=with_input, last=last, grids=grids or GRIDS)
    needed = _needed(deployed) if devices else None
    return replace(
        made,
        on=tuple(_with_cheapest(_room(device, needed, made), looked_for) for device in devices) if needed else (),
    )


class _Found(NamedTuple):
    """What was found, by a search or by the one plan that was asked for."""

    plan: PatchPlan | None
    before_bytes: int
    tried: int
    reasons: Mapping[str, str]
    notes: tuple[str, ...] = ()
    best: Candidate | None = None


def _found(deployed: Graph, last: str | None, grids: tuple[Grid, ...], policy: str, *, with_input: bool) -> _Found:
    if last is not None and len(grids) == 1:
        plan = planned(deployed, last, grids[0])
        before = plan.before_bytes.get(policy)
        if before is None:
            raise _no_peak(deployed, policy)
        return _Found(plan, before, 1, {})
    found = searched(deployed, policy, with_input=with_input, last=last, grids=grids or GRIDS)
    if isinstance(found, str):
        raise _no_peak(deployed, policy)
    if found.plan is None and found.best is None and grids:
        _check(grids, deployed)
    return _Found(found.plan, found.before_bytes, found.tried, found.reasons, best=found.best)


def _check(grids: tuple[Grid, ...], deployed: Graph) -> None:
    """Raises ``BadSpec`` where every grid that was asked for is larger than any map; a network without maps has none to be larger than."""
    running = running_in(deployed, OPERATORS)
    sizes = [
        [1 if axis is None else (deployed.tensors[name].shape or ())[axis] for axis in axes]
        for name, axes in running.maps.made.items()
    ]
    if not sizes or any(rows >= grid.rows and columns >= grid.columns for rows, columns in sizes for grid in grids):
        return
    asked = " or ".join(f"{grid.rows} x {grid.columns}" for grid in grids)
    rows, columns = max(sizes, key=prod)
    raise BadSpec(
        f"{asked} patches, and the largest map that a layer makes has {rows} x {columns}",
        where="grid",
        hint="a patch has at least one row and one column of the result of the stage",
    )


def _no_peak(deployed: Graph, policy: str) -> BadSpec:
    if policy not in POLICIES:
        hint = "the policies of patches are pair, live, pair_in_place and live_in_place"
        return BadSpec(f"there is no peak under {policy}", where="policy", hint=hint)
    reason, hint = sizes_unknown(deployed)
    return BadSpec(f"no patches can be told: {reason}", where=deployed.name, hint=hint)


def _needed(deployed: Graph) -> Demand:
    from weighbridge.counts import count
    from weighbridge.estimates import demand
    from weighbridge.memory import plan

    return demand(deployed, count(deployed, deployed), plan(deployed))


def _room(device: Device, needed: Demand, made: Patched) -> Room:
    """The verdicts of a device by its preferred memory for activations, and by what else lies there."""
    from weighbridge.estimates.left import left_in, region_of_activations

    region = region_of_activations(needed, device)
    if region is None:
        return Room(device.name, None, None, None, None, None)
    left, after = left_in(region), made.after_bytes
    with_patches, by_rows = (None if size is None else left.verdict(size) for size in (after, made.by_rows_bytes))
    return Room(
        device.name,
        region.name,
        left.bytes,
        # the gaps and the scratch of a runtime's arena may be too much where what is alive is not
        region.verdict if region.verdict == "does not fit" else left.verdict(made.before_bytes),
        with_patches,
        None if after is None else max(0, after - left.bytes),
        by_rows,
        beside_bytes=region.available_bytes - left.bytes,
    )


def _with_cheapest(room: Room, looked_for: Callable[[int], Cheapest | None]) -> Room:
    """The verdicts of a device that may have too little in one piece, with the patches that cost least."""
    if room.before in (None, "fits") or room.available_bytes is None:
        return room
    return room._replace(cheapest=looked_for(room.available_bytes))


def _grids(grid: object) -> Iterator[Grid]:
    """Each of what may be one or several.  Raises ``BadSpec``."""
    one = isinstance(grid, str) or (
        isinstance(grid, tuple) and len(grid) == 2 and all(type(side) is int for side in grid)
    )
    given: object = (grid,) if one else grid
    if not isinstance(given, Iterable):
        raise _no_grid(grid)
    for each in given:
        found = _GRID.fullmatch(each.strip()) if isinstance(each, str) else None
        if found is not None:
            yield Grid(int(found[1]), int(found[2]))
        elif isinstance(each, tuple) and len(each) == 2 and all(type(side) is int and side > 0 for side in each):
            yield Grid(*each)
        else:
            raise _no_grid(each)


def _no_grid(given: object) -> BadSpec:
    return BadSpec(
        f"{shown(given)} is no grid", where="grid", hint="write 4x4: patches above each other, and side by side"
    )

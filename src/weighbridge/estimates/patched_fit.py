"""Whether patches make a network fit whose activations have no room: which ones do, at what price, or what the least is that they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from weighbridge.counts import NetworkFacts
from weighbridge.devices.device import ACTIVATIONS, Device
from weighbridge.estimates.demand import LIVE
from weighbridge.estimates.fit import Fit
from weighbridge.estimates.left import left_in
from weighbridge.estimates.needs import DOES_NOT_FIT, FITS
from weighbridge.graph import Graph
from weighbridge.memory.records import MemoryPlan
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op, known_total
from weighbridge.operators.table import OPERATORS

if TYPE_CHECKING:  # a verdict without patches is made without them
    from weighbridge.patches.plan import Grid

__all__ = ["PatchSearch", "PatchedFit", "PatchedStage", "patched_fit", "search_of"]


class PatchedStage(NamedTuple):
    """The first ``layers`` of a network, up to ``last``, in ``rows`` x ``columns`` patches.

    ``peak_bytes`` is the peak of the network then; ``macs`` those of the stage in one piece, ``patched_macs`` those of all patches.
    """

    last: str
    layers: int
    rows: int
    columns: int
    peak_bytes: int
    macs: int
    patched_macs: int


class PatchedFit(NamedTuple):
    """What running the first stage patch by patch makes of the memory ``region``, in which activations have no room in one piece.

    ``room_bytes`` are those of the region less all else that lies in it; unless ``exact`` the size of something there is not known, and
    is not in it.  ``verdict`` is "fits" where patches have room: then ``stage`` has, of all that do, those with the fewest MACs done
    again.  It is "does not fit" where none do: then those with the smallest peak, None where none lowers it.

    Peaks are by the memory policy ``policy`` with the input of the network held, ``before_bytes`` without patches: what is alive, which is
    no more than what the arena of a runtime takes.  ``network_macs`` are None where not every node is counted.
    """

    region: str
    verdict: str
    policy: str
    room_bytes: int
    exact: bool
    before_bytes: int
    stage: PatchedStage | None = None
    network_macs: int | None = None


class PatchSearch(NamedTuple):
    """What is looked for of one network, once for all devices: by the bytes that there are the patches ``within`` them that do least
    again, None where none have room; and the ones with the smallest peak.  ``before_bytes`` is the peak under ``live`` of one piece,
    ``network_macs`` None where not every node is counted.
    """

    before_bytes: int | None
    network_macs: int | None
    within: Callable[[int], PatchedStage | None]
    least: Callable[[], Least]


class Least(NamedTuple):
    """Of the ``tried`` stages and grids the one with the smallest peak, None where none lowers that of one piece."""

    stage: PatchedStage | None
    tried: int


def search_of(
    deployed: Graph, facts: NetworkFacts, memory: MemoryPlan, operators: Mapping[str, Op] = OPERATORS
) -> PatchSearch:
    """The searches of a graph that runs, of squares of 2 to 8 patches and of all stages, each done when it is asked for.

    ``facts`` and ``memory`` are those of ``deployed``.
    """
    return PatchSearch(
        memory.peak_bytes[LIVE],
        facts.macs if facts.exact else None,
        cache(lambda room_bytes: _cheapest(deployed, facts, room_bytes, operators)),
        cache(lambda: _least(deployed, operators)),
    )


def patched_fit(search: PatchSearch, fit: Fit, device: Device) -> PatchedFit | None:
    """The patches that make a network fit the memory for activations of a microcontroller.

    None where activations have room, where the device is no microcontroller, where what else lies in the memory leaves no room at
    all, where no peak is known, and where the network has nothing that could run in patches.  None also where what is alive has room,
    and only the gaps and the scratch of a runtime's arena have not, of which patches say nothing.
    """
    region = next((one for one in fit.regions if ACTIVATIONS in one.holds), None)
    if region is None or region.verdict == FITS or not device.is_microcontroller:
        return None
    room, _, exact = left_in(region)
    before = search.before_bytes
    if before is None or not 0 < room < before:
        return None
    asked = PatchedFit(region.name, DOES_NOT_FIT, LIVE, room, exact, before, network_macs=search.network_macs)
    enough = search.within(room)
    if enough is not None:
        return asked._replace(verdict=FITS, stage=enough)
    least = search.least()
    return asked._replace(stage=least.stage) if least.tried else None


def _cheapest(deployed: Graph, facts: NetworkFacts, room: int, operators: Mapping[str, Op]) -> PatchedStage | None:
    from weighbridge.patches.cheapest import cheapest
    from weighbridge.patches.stage import stage_to

    found = cheapest(deployed, LIVE, room, with_input=True, operators=operators)
    if found is None:
        return None
    inside = {node.name for node in stage_to(deployed, found.last, operators).nodes}
    macs = known_total(one.macs for one in facts.nodes if one.name in inside) or 0
    return _stage(found.last, (len(inside), found.grid, found.peak_bytes), macs, macs + found.macs_more)


def _least(deployed: Graph, operators: Mapping[str, Op]) -> Least:
    from weighbridge.patches.search import searched

    found = searched(deployed, LIVE, with_input=True, operators=operators)
    if isinstance(found, str):
        return Least(None, 0)
    plan = found.plan
    peak = None if plan is None else plan.with_input_bytes[LIVE]
    if plan is None or peak is None:
        return Least(None, found.tried)
    size = (len(plan.nodes), plan.grid, peak)
    return Least(_stage(plan.last, size, plan.stage_macs, plan.clipped_macs), found.tried)


def _stage(last: str, size: tuple[int, Grid, int], macs: int, patched_macs: int) -> PatchedStage:
    layers, grid, peak = size
    return PatchedStage(last, layers, grid.rows, grid.columns, peak, macs, patched_macs)

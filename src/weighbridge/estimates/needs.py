"""What a network asks of the memories of a device, by what lies in them, and whether one memory has room for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from weighbridge.arena import kept_on_boards
from weighbridge.devices.device import ACTIVATIONS, PERSISTENT, WEIGHTS, Device
from weighbridge.estimates.demand import LIVE, ArenaDemand, Demand
from weighbridge.memory.records import ARENA
from weighbridge.named_tuple import NamedTuple

__all__ = ["DOES_NOT_FIT", "FITS", "UNKNOWN", "Need", "Room", "needs", "room"]

FITS: Final = "fits"
DOES_NOT_FIT: Final = "does not fit"
UNKNOWN: Final = "unknown"

_KINDS_WITH_AN_ARENA: Final = ("npu", "other")
"""Beside microcontrollers."""


class Need(NamedTuple):
    """The bytes of one content (``weights``, ``activations``, ``persistent``), which lie in one piece; None is unknown.

    Unless ``exact`` they are a lower bound; where ``estimated`` they are neither, but a guess that ``basis`` explains, and so are
    never part of what is needed for certain.  ``policy`` is the memory policy that activations follow, ``variable_bytes``
    the part of them that lives on from one inference to the next, ``node`` sets their peak.
    """

    content: str
    bytes: int | None
    exact: bool
    estimated: bool = False
    policy: str | None = None
    variable_bytes: int | None = None
    node: str | None = None
    basis: str = ""


class Room(NamedTuple):
    """Whether several needs have room in one block of memory.

    ``needed_bytes`` is what is known for certain, None where a size is unknown or nothing certain lies there;
    ``estimated_bytes`` what is estimated to lie beside it, None where nothing is or nobody knows; ``short_bytes`` None unless
    the verdict is certain.
    """

    verdict: str
    needed_bytes: int | None
    estimated_bytes: int | None
    short_bytes: int | None
    exact: bool


def needs(demand: Demand, device: Device) -> tuple[Need, ...]:
    """What lies in the device's memories while it runs the network, the one that is read most often first.

    Where the network is a file for a runtime that plans its memory, and the device is of a kind that has such a runtime,
    the activations are that runtime's arena and its variable tensors, and beside them lies what it keeps for itself;
    elsewhere they are the peak of the policy ``live`` and the variables.  An arena that cannot be planned is at least that.
    """
    weights = Need(WEIGHTS, demand.stored_bytes, demand.stored_exact and demand.stored_bytes is not None)
    arena = demand.arena
    has_arena = device.is_microcontroller or device.kind in _KINDS_WITH_AN_ARENA
    live = _live(demand)
    if arena is None or not has_arena:
        return live, weights
    return _arena(arena, demand, live), _persistent(arena, device), weights


def _live(demand: Demand) -> Need:
    variable = demand.variable_bytes
    size = None if demand.peak_bytes is None else demand.peak_bytes + (variable or 0)
    known = demand.peak_exact and size is not None and variable is not None
    return Need(ACTIVATIONS, size, known, policy=LIVE, variable_bytes=variable or None, node=demand.peak_node)


def _arena(arena: ArenaDemand, demand: Demand, live: Need) -> Need:
    if arena.peak_bytes is None:
        return live._replace(exact=False, basis=arena.reason)
    variable = arena.variable_bytes
    return Need(
        ACTIVATIONS,
        arena.peak_bytes + (variable or 0),
        demand.peak_exact and arena.exact and variable is not None,
        policy=ARENA,
        variable_bytes=variable,
        node=arena.peak_node,
    )


def _persistent(arena: ArenaDemand, device: Device) -> Need:
    """The estimate for the kernels that the device is known to use, else for those that any device can use."""
    found = kept_on_boards(arena.persistent, device.kernel_library) or kept_on_boards(arena.persistent)
    if found is None:
        return Need(PERSISTENT, None, exact=False, estimated=True, basis="no estimate is there")
    basis = f"{found.library} kernels, {found.pointer_bytes}-byte pointers: {found.basis}"
    return Need(PERSISTENT, found.total_bytes, exact=False, estimated=True, basis=basis)


def room(wanted: Sequence[Need], available_bytes: int) -> Room:
    """Whether ``wanted`` fits a block of ``available_bytes``.

    A need that is known from below can prove that it does not, never that it does.  An estimate proves nothing by itself: where
    there is room for what is certain and not for the estimate beside it, the verdict is ``unknown``.
    """
    certain = [need for need in wanted if not need.estimated]
    guessed = [need for need in wanted if need.estimated]
    least, sizes_known = _sum(certain)
    estimate, estimate_known = _sum(guessed)
    exact = all(need.exact for need in certain)
    needed = least if certain and sizes_known else None
    beside = estimate if guessed and estimate_known else None
    if least > available_bytes:
        return Room(DOES_NOT_FIT, needed, beside, least - available_bytes, exact)
    if not exact or not estimate_known or least + estimate > available_bytes:
        return Room(UNKNOWN, needed, beside, None, exact)
    return Room(FITS, needed, beside, 0, exact)


def _sum(of: Iterable[Need]) -> tuple[int, bool]:
    """The bytes that are known, and whether all are."""
    sizes = [need.bytes for need in of]
    return sum(size for size in sizes if size is not None), None not in sizes

"""Whether a network fits: by memory region, and by how many bytes it does not."""

from __future__ import annotations

from typing import Final, NamedTuple

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device, Memory
from weighbridge.estimates.demand import Demand
from weighbridge.estimates.roofline import quotient

__all__ = ["DOES_NOT_FIT", "FITS", "UNKNOWN", "Fit", "Region", "fit"]

FITS: Final = "fits"
DOES_NOT_FIT: Final = "does not fit"
UNKNOWN: Final = "unknown"


class Region(NamedTuple):
    """One memory: what is needed of it, what it offers less the reserved bytes, and by how much it falls short.

    ``needed_bytes`` is None where a size is unknown; where ``exact`` is False it is a lower bound, and so is
    ``short_bytes``, which is None where the verdict is ``unknown``.  ``ratio`` is needed / available and ``weight_ratio``
    the weights alone / available: above 1 they do not fit.  ``peak_node`` sets the need of activations.  ``verified`` is
    False where the memory's size is not.
    """

    name: str
    holds: tuple[str, ...]
    verdict: str
    needed_bytes: int | None
    available_bytes: int
    short_bytes: int | None
    bytes: int
    reserved_bytes: int
    ratio: float | None
    weight_ratio: float | None
    peak_node: str | None
    exact: bool
    verified: bool = True


class Fit(NamedTuple):
    """``verdict`` is ``fits`` if every region does, ``does not fit`` if one does not, else ``unknown``."""

    verdict: str
    regions: tuple[Region, ...]
    notes: tuple[str, ...] = ()


def fit(demand: Demand, device: Device) -> Fit:
    """Compare what a network keeps and computes with a device's memories.

    The region that holds weights has to take all that is stored with the deployed model (weights, biases, constants);
    the one that holds activations the peak of policy ``live``; a region that holds both, their sum.  A need known only
    from below can prove that a network does not fit, never that it fits.
    """
    regions = tuple(_region(demand, memory) for memory in device.memories if memory.holds)
    missing = [what for what in (WEIGHTS, ACTIVATIONS) if device.memory_for(what) is None]
    notes = [f"no memory is known to hold {what}" for what in missing]
    for memory in device.memories:
        if not memory.holds:
            continue  # nothing is compared with it
        for what, figure in (("size of", memory.bytes), ("reserved part of", memory.reserved_bytes)):
            if figure is not None and not figure.verified:
                notes.append(f"the {what} {memory.name} is not verified ({figure.note or figure.source})")
    verdicts = {region.verdict for region in regions}
    if DOES_NOT_FIT in verdicts:
        verdict = DOES_NOT_FIT
    elif missing or UNKNOWN in verdicts:
        verdict = UNKNOWN
    else:
        verdict = FITS
    return Fit(verdict, regions, tuple(notes))


def _region(demand: Demand, memory: Memory) -> Region:
    holds_weights, holds_activations = WEIGHTS in memory.holds, ACTIVATIONS in memory.holds
    needs = [demand.stored_bytes] * holds_weights + [demand.peak_bytes] * holds_activations
    known = [size for size in needs if size is not None]
    needed = sum(known) if len(known) == len(needs) else None
    exact = needed is not None
    if holds_weights:
        exact = exact and demand.stored_exact
    if holds_activations:
        exact = exact and demand.peak_exact
    available = memory.available_bytes
    least = sum(known)
    short: int | None
    if least > available:
        verdict, short = DOES_NOT_FIT, least - available
    else:
        verdict, short = (FITS, 0) if exact else (UNKNOWN, None)
    return Region(
        name=memory.name,
        holds=memory.holds,
        verdict=verdict,
        needed_bytes=needed,
        available_bytes=available,
        short_bytes=short,
        bytes=memory.bytes.value,
        reserved_bytes=memory.bytes.value - available,
        ratio=_ratio(needed, available),
        weight_ratio=_ratio(demand.weight_bytes, available) if holds_weights else None,
        peak_node=demand.peak_node if holds_activations else None,
        exact=exact,
        verified=all(figure.verified for figure in (memory.bytes, memory.reserved_bytes) if figure is not None),
    )


def _ratio(needed: int | None, available: int) -> float | None:
    """None also where a ratio is beyond what a float can hold."""
    return None if needed is None or not available else quotient(needed, available)

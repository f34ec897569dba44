"""Whether a network fits: by memory region, and by how many bytes it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weighbridge.devices.device import ACTIVATIONS, CODE, WEIGHTS, Device, Memory
from weighbridge.estimates.demand import LIVE, Demand
from weighbridge.estimates.needs import DOES_NOT_FIT, FITS, UNKNOWN, Need, Room, needs, room
from weighbridge.estimates.place import lying_in, moved_on, placed
from weighbridge.estimates.roofline import quotient
from weighbridge.named_tuple import NamedTuple

__all__ = ["DOES_NOT_FIT", "FITS", "UNKNOWN", "Fit", "Region", "fit"]


class Region(NamedTuple):
    """One memory: what is needed of it, what it offers less the reserved bytes, and by how much it falls short.

    ``holds`` is what lies there, ``contents`` the same one by one with its bytes.  ``needed_bytes`` is None where a size is
    unknown; where ``exact`` is False it is a lower bound, and so is ``short_bytes``, which is None where the verdict is
    ``unknown``.  ``estimated_bytes`` lie there beside ``needed_bytes`` by an estimate, None where there is none.
    ``available_bytes`` are ``bytes`` less ``reserved_bytes``, and no more than ``largest_block_bytes``, the longest
    piece without a gap (None where the region is one piece).  ``ratio`` is needed / available and ``weight_ratio`` the
    weights alone / available: above 1 they do not fit.  ``peak_node`` sets the need of activations under ``policy``.
    ``verified`` is False where the memory's size is not.  ``bandwidth_bytes_per_s`` is that of the estimates, None where it
    is not known.  ``uncounted`` lies there too, in no figure: code, which nobody gave bytes for.
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
    policy: str | None = None
    estimated_bytes: int | None = None
    largest_block_bytes: int | None = None
    bandwidth_bytes_per_s: int | None = None
    contents: tuple[Need, ...] = ()
    uncounted: tuple[str, ...] = ()


class Fit(NamedTuple):
    """``verdict`` is ``fits`` if every region does, ``does not fit`` if one does not, else ``unknown``."""

    verdict: str
    regions: tuple[Region, ...]
    notes: tuple[str, ...] = ()


def fit(demand: Demand, device: Device) -> Fit:
    """Compare what a network keeps and computes with the memories in which a device holds it.

    The region that holds weights has to take all that is stored with the deployed model (weights, biases, constants);
    the one that holds activations what ``needs`` says of them; a region that holds both, their sum; which regions
    those are says ``placed``.  A need known only from below can prove that a network does not fit, never that it fits, and an
    estimate neither.
    """
    lying, wanted = placed(demand, device), needs(demand, device)
    code = _code_place(device, lying)
    regions = tuple(
        _region(demand, memory, lying_in(memory, wanted), (CODE,) if code and code.name == memory.name else ())
        for memory in lying.memories
        if memory.holds
    )
    missing = [what for what in (WEIGHTS, ACTIVATIONS) if lying.memory_for(what) is None]
    notes = [f"no memory is known to hold {what}" for what in missing]
    notes += moved_on(demand, device, lying)
    notes += _doubts(lying)
    notes += (note for region in regions for note in _on_contents(region))
    if code is not None and not any(region.uncounted for region in regions):
        notes.append(f"code is not counted: nothing is reserved for it in {code.name}")
    verdicts = {region.verdict for region in regions}
    if DOES_NOT_FIT in verdicts:
        verdict = DOES_NOT_FIT
    elif missing or UNKNOWN in verdicts:
        verdict = UNKNOWN
    else:
        verdict = FITS
    return Fit(verdict, regions, tuple(notes))


def _region(demand: Demand, memory: Memory, contents: Sequence[Need], uncounted: tuple[str, ...]) -> Region:
    found = room(contents, memory.block_bytes)
    activations = next((need for need in contents if need.content == ACTIVATIONS), None)
    block, bandwidth = memory.largest_block_bytes, memory.bandwidth_bytes_per_s
    return Region(
        name=memory.name,
        holds=tuple(need.content for need in contents),
        verdict=found.verdict,
        needed_bytes=found.needed_bytes,
        available_bytes=memory.block_bytes,
        short_bytes=found.short_bytes,
        bytes=memory.bytes.value,
        reserved_bytes=memory.bytes.value - memory.available_bytes,
        ratio=_ratio(_shown_need(found, contents), memory.block_bytes),
        weight_ratio=_ratio(demand.weight_bytes, memory.block_bytes) if WEIGHTS in memory.holds else None,
        peak_node=activations.node if activations else None,
        exact=found.exact,
        verified=all(figure.verified for figure in memory.size_figures),
        policy=activations.policy if activations else None,
        estimated_bytes=found.estimated_bytes,
        largest_block_bytes=block.value if block else None,
        bandwidth_bytes_per_s=bandwidth.value if bandwidth else None,
        contents=tuple(contents),
        uncounted=uncounted,
    )


def _shown_need(found: Room, contents: Sequence[Need]) -> int | None:
    """What is needed; of a region in which nothing else lies, the estimate."""
    return found.estimated_bytes if all(need.estimated for need in contents) else found.needed_bytes


def _ratio(needed: int | None, available: int) -> float | None:
    """None also where a ratio is beyond what a float can hold."""
    return None if needed is None or not available else quotient(needed, available)


def _doubts(lying: Device) -> Iterator[str]:
    """The sizes that a verdict rests on and that are not verified."""
    for memory in lying.memories:
        if not memory.holds:
            continue  # nothing is compared with it
        parts = (
            ("size of", memory.bytes),
            ("reserved part of", memory.reserved_bytes),
            ("largest block of", memory.largest_block_bytes),
        )
        for what, figure in parts:
            if figure is not None and not figure.verified:
                yield f"the {what} {memory.name} is not verified ({figure.note or figure.source})"


def _on_contents(region: Region) -> Iterator[str]:
    """What an arena that is not planned and an estimate mean for the verdict."""
    for need in region.contents:
        if need.content == ACTIVATIONS and need.policy == LIVE and need.basis:
            yield f"{region.name}: the arena is not planned ({need.basis}); what is alive at once is a lower bound of it"
        if not need.estimated:
            continue
        if need.bytes is None:
            yield f"{region.name}: how much the runtime keeps for itself is not known ({need.basis})"
            continue
        yield f"{region.name}: {need.bytes:,} B of the runtime's own data are an estimate ({need.basis})"
    certain, estimate = region.needed_bytes, region.estimated_bytes
    if region.verdict != UNKNOWN or not region.exact or estimate is None:
        return
    over = (certain or 0) + estimate - region.available_bytes
    if certain is None:
        yield f"{region.name}: whether it fits is unknown, as the estimate is {over:,} B more than there is"
    else:
        yield (
            f"{region.name}: whether it fits is unknown, as the {certain:,} B that are certain do and the "
            f"{certain + estimate:,} B with the estimate do not: {over:,} B too much"
        )


def _code_place(device: Device, lying: Device) -> Memory | None:
    """Where code lies that no bytes are reserved for: it shares a microcontroller's memories, and no network tells its size."""
    place = device.memory_for(CODE) or (lying.memory_for(WEIGHTS) if device.is_microcontroller else None)
    return None if place is None or place.reserved_bytes is not None else place

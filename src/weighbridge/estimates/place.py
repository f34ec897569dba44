"""Where weights, activations and a runtime's own data go, on a device with several memories for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, PERSISTENT, Device, Memory
from weighbridge.estimates.demand import Demand
from weighbridge.estimates.needs import DOES_NOT_FIT, FITS, UNKNOWN, Need, needs, room

__all__ = ["lying_in", "moved_on", "placed"]

_ORDER: Final = (FITS, UNKNOWN, DOES_NOT_FIT)


def placed(demand: Demand, device: Device) -> Device:
    """``device`` as the network lies in it: what a memory holds there is what lies in it, and nothing lies in two.

    Each content is one block, so memories are never added up.  Of all ways to place them the first wins in which
    everything fits: the activations' preferred memory comes first, then the runtime's, then the weights'.  Where none is known to
    fit, the first of unknown verdict; else the one that is short of the fewest bytes in all.  A runtime's data lie with
    the activations where the device has no place of their own for them.
    """
    wanted = needs(demand, device)
    options = {need.content: device.memories_for(need.content) for need in wanted}
    chosen = [content for content, memories in options.items() if memories]
    best, score = dict[str, Memory](), (len(_ORDER), 0)
    for places in product(*(options[content] for content in chosen)):
        place = dict(zip(chosen, places, strict=True))
        if not options.get(PERSISTENT, True) and ACTIVATIONS in place:
            place[PERSISTENT] = place[ACTIVATIONS]
        found = _score(place, wanted)
        if found < score:
            best, score = place, found
        if score[0] == 0:
            break
    return replace(device, memories=tuple(_holding(memory, best) for memory in device.memories))


def lying_in(memory: Memory, wanted: Sequence[Need]) -> tuple[Need, ...]:
    """Those of ``wanted`` that lie in a memory of a placed device, in the order in which it names them."""
    by_content = {need.content: need for need in wanted}
    return tuple(by_content[content] for content in memory.holds if content in by_content)


def moved_on(demand: Demand, device: Device, lying: Device) -> Iterator[str]:
    """A sentence for everything that does not lie in its preferred memory; ``lying`` is the placed ``device``."""
    for need in needs(demand, device):
        first, used = device.memory_for(need.content), lying.memory_for(need.content)
        if first is None or used is None or first.name == used.name:
            continue
        alone = room((need,), first.block_bytes)
        why = f"is {alone.short_bytes:,} B too small for them" if alone.short_bytes else "has no certain room for them"
        named = "runtime's own data" if need.content == PERSISTENT else need.content
        yield f"the {named} are placed in {used.name}: {first.name} {why}"


def _score(place: Mapping[str, Memory], wanted: Sequence[Need]) -> tuple[int, int]:
    """The worst verdict of a memory, as its place in the order, and the bytes that are missing in all."""
    by_memory: dict[str, tuple[Memory, list[Need]]] = {}
    for need in wanted:
        if need.content in place:
            memory = place[need.content]
            by_memory.setdefault(memory.name, (memory, []))[1].append(need)
    rooms = [room(needed, memory.block_bytes) for memory, needed in by_memory.values()]
    worst = max((_ORDER.index(one.verdict) for one in rooms), default=0)
    return worst, sum(one.short_bytes or 0 for one in rooms)


def _holding(memory: Memory, place: Mapping[str, Memory]) -> Memory:
    """``memory``, holding what is placed there: in the order of the device's file, then what the file has no place for."""
    held = [content for content, where in place.items() if where is memory]
    named = [content for content in memory.holds if content in held]
    return replace(memory, holds=(*named, *(content for content in held if content not in named)))

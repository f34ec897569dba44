"""Where weights, activations and a runtime's own data go, on a device with several memories for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
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
    best = _Search(needs(demand, device), device).best
    return replace(device, memories=tuple(_holding(memory, best) for memory in device.memories))


class _Search:
    """Looks at all ways to place ``wanted``, in order of preference; ``best`` is the first of the best score.

    A way is left as soon as its contents, each by itself, score no better than the best one: together they never need less.
    """

    def __init__(self, wanted: Sequence[Need], device: Device) -> None:
        self.wanted = wanted
        self.best: Mapping[str, Memory] = {}
        self.score = (len(_ORDER), 0)
        keeps = any(need.content == PERSISTENT for need in wanted)
        self.has_follower = keeps and not device.memories_for(PERSISTENT)
        ways = [(need, device.memories_for(need.content)) for need in wanted]
        self.ways = [
            [(need.content, memory, _score({need.content: memory}, (need,))) for memory in memories]
            for need, memories in ways
            if memories
        ]
        floors = [_least(way) for way in self.ways]
        self.floors = [_together(floors[index:]) for index in range(len(floors) + 1)]
        self._look(0, {}, (0, 0))

    def _look(self, index: int, place: dict[str, Memory], so_far: tuple[int, int]) -> None:
        """Look at every way that begins with ``place``, whose contents by themselves score ``so_far``."""
        if _together((so_far, self.floors[index])) >= self.score:
            return
        if index == len(self.ways):
            if self.has_follower and ACTIVATIONS in place:
                place = {**place, PERSISTENT: place[ACTIVATIONS]}
            found = _score(place, self.wanted)
            if found < self.score:
                self.best, self.score = place, found
            return
        for content, memory, score in self.ways[index]:
            self._look(index + 1, {**place, content: memory}, _together((so_far, score)))


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


def _together(scores: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The worst verdict, and all that is missing."""
    found = list(scores)
    return max((rank for rank, _ in found), default=0), sum(short for _, short in found)


def _least(way: Sequence[tuple[str, Memory, tuple[int, int]]]) -> tuple[int, int]:
    """What no choice among a content's memories is below."""
    return min(rank for _, _, (rank, _) in way), min(short for _, _, (_, short) in way)


def _holding(memory: Memory, place: Mapping[str, Memory]) -> Memory:
    """``memory``, holding what is placed there: in the order of the device's file, then what the file has no place for."""
    held = [content for content, where in place.items() if where is memory]
    named = [content for content in memory.holds if content in held]
    return replace(memory, holds=(*named, *(content for content in held if content not in named)))

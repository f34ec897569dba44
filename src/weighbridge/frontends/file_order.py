"""The list of nodes that a file has, and the same list in another order.

Nothing here reads or writes a file: a format tells what each of its nodes waits for, and in which pieces of the old file, or
bytes of its own, the file with the nodes in another order consists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from weighbridge.errors import BadModel
from weighbridge.named_tuple import NamedTuple

__all__ = ["FileList", "Piece", "Rewritten", "check_order", "in_turn", "ordered_by"]

Piece = bytes | tuple[int, int]
"""Bytes to write, or a range of the old file to copy."""


class Rewritten(NamedTuple):
    """A file as its pieces, one behind the other, and what else than the order was changed in it."""

    pieces: tuple[Piece, ...]
    notes: tuple[str, ...] = ()


class FileList(Protocol):
    """The nodes of the graph that is weighed, by their places in the file's list."""

    @property
    def before(self) -> Sequence[frozenset[int]]:
        """For each node those whose results it, or a graph inside it, reads."""

    @property
    def order(self) -> Sequence[int]:
        """The order in which they run now, each behind those that it waits for."""

    @property
    def effects(self) -> frozenset[int]:
        """Nodes that do more than make their results: among each other they have to stay in their order."""

    def rewritten(self, order: Sequence[int]) -> Rewritten:
        """The file with its nodes in this order.  Raises ``WeighbridgeError`` where the format, or this file, does not allow it."""


def in_turn(before: Sequence[frozenset[int]], order: Iterable[int], kept: Collection[int]) -> list[frozenset[int]]:
    """What each node waits for, where those of ``kept`` also wait for the one of them that comes before it in ``order``."""
    waits, last = list(before), -1
    for place in order:
        if place in kept:
            waits[place] = waits[place] | {last} if last >= 0 else waits[place]
            last = place
    return waits


def ordered_by(times: Mapping[int, int], before: Sequence[frozenset[int]]) -> tuple[int, ...]:
    """All places in an order in which each stands behind those that it waits for, whatever ``times`` say.

    Those that have a time come by it as far as that allows.  Of the others, those that wait for none of these keep their places
    where nothing needs them sooner; the rest stand in front of the first one that waits for them, or at the end.  Raises
    ``BadModel`` where places wait for each other.
    """
    every = range(len(before))
    wanted = _closed((*sorted(times, key=lambda place: (times[place], place)), *every), before)
    free: set[int] = set()
    for place in _closed(every, before):
        if place not in times and before[place] <= free:
            free.add(place)
    others = iter([place for place in wanted if place not in free])
    return tuple(_closed([place if place in free else next(others) for place in every], before))


def _closed(roots: Iterable[int], before: Sequence[frozenset[int]]) -> list[int]:
    """``roots``, each behind all that it waits for."""
    done: dict[int, bool] = {}
    order: list[int] = []
    for root in roots:
        pending = [root]
        while pending:
            place = pending[-1]
            if done.get(place):
                pending.pop()
                continue
            waiting = sorted((one for one in before[place] if not done.get(one)), reverse=True)
            if not waiting:
                done[place] = True
                order.append(place)
                continue
            if place in done:
                raise BadModel(f"node {place} waits for its own result: the graph has a cycle")
            done[place] = False
            pending.extend(waiting)
    return order


def check_order(order: Sequence[int], before: Sequence[frozenset[int]]) -> None:
    """Raises ``BadModel`` for an order that leaves a node out, has one twice, or runs one before what it waits for."""
    if sorted(order) != list(range(len(before))):
        raise BadModel(f"an order of {len(order):,} nodes is none of the {len(before):,} in the file")
    done: set[int] = set()
    for place in order:
        if not before[place] <= done:
            raise BadModel(f"node {place} would run before node {min(before[place] - done)}, which it waits for")
        done.add(place)

"""The policy ``arena_tflm``: every buffer at an offset, as TensorFlow Lite Micro's greedy planner packs them.

A file that is made for that runtime has its own requests (``Graph.arena``).  Of any other graph the storages that the other
policies know are packed in the same way, one scope a running node.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from typing import Final

from weighbridge.arena import ALIGNMENT_BYTES, Arena, ArenaBuffer
from weighbridge.graph import Graph, Node
from weighbridge.memory.coverage import Piece, most_covered
from weighbridge.memory.lifetimes import Lifetimes
from weighbridge.memory.packing import Overwhelmed, Request, pack
from weighbridge.memory.records import ArenaPlan, PlacedBuffer
from weighbridge.memory.requests import IM2COL, requests_of, with_im2col
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op

__all__ = ["ESTIMATE", "ArenaPeak", "arena_peak", "planned"]

ESTIMATE: Final = (
    "persistent_bytes is an estimate, for the reference kernels of TensorFlow Lite Micro and pointers of 32 bits; memory.persistent "
    "has its basis, and other libraries"
)
"""What a reader of that figure must know."""


class ArenaPeak(NamedTuple):
    """A plan, the node that sets its peak (None where no node does), and the highest end in use around each running node.

    ``profile`` is None where the nodes are in another order than the runtime's scopes.
    """

    plan: ArenaPlan
    node: str | None
    profile: tuple[int, ...] | None

    @property
    def offsets(self) -> dict[str, int]:
        """Where each tensor lies; of several buffers of one name, the first."""
        return {one.name: one.offset for one in reversed(self.plan.buffers) if not one.is_scratch}


def arena_peak(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op], scratch: str) -> ArenaPeak | str:
    """The arena of ``graph`` as it runs, with ``scratch`` added where that is a name, or why there is none."""
    try:
        return _arena_peak(graph, spans, operators, scratch)
    except Overwhelmed:
        return "so many buffers are alive at once that their plan would take too long"


def _arena_peak(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op], scratch: str) -> ArenaPeak | str:
    if graph.arena is None or not graph.arena.is_known:
        arena, starts = requests_of(graph, spans, operators, scratch)
        if arena.reason:
            return arena.reason
        plan = planned(arena, "graph", scratch)
        scope = plan.peak_scope  # that of a node in a body belongs to the node outside
        node = None if scope is None else spans.nodes[max(bisect_right(starts, scope) - 1, 0)].name
        return ArenaPeak(plan, node, _profile(plan, starts))
    arena = graph.arena
    if scratch == IM2COL and not arena.reason:
        arena = with_im2col(arena, graph, spans, operators)
    reason = arena.reason or _misplaced(arena)
    if reason:
        return reason
    plan = planned(arena, "runtime", scratch)
    return ArenaPeak(plan, plan.peak_node, _profile(plan, _starts(plan.scopes, spans.nodes)))


def _misplaced(arena: Arena) -> str:
    found = next((one.name for one in arena.buffers if one.offset is not None and one.offset < 0), None)
    return "" if found is None else f"the plan in the file puts {found} before the beginning of the arena"


def planned(arena: Arena, source: str, scratch: str = "") -> ArenaPlan:
    """The requests of ``arena``, which has some or none but no reason, at the offsets that the planner gives them."""
    sizes = [-(-one.bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES for one in arena.buffers]
    requests = [Request(size, one.first, one.last, one.offset) for size, one in zip(sizes, arena.buffers, strict=True)]
    offsets = pack(requests)
    buffers = [_placed(one, size, offset) for one, size, offset in zip(arena.buffers, sizes, offsets, strict=True)]
    top = max((one.offset + one.aligned_bytes for one in buffers), default=0)
    bound = _lower_bound(requests, offsets)
    scope = _peak_scope(buffers, top, arena.scopes)
    alive = [] if scope is None else [one for one in buffers if _is_alive(one, scope)]
    return ArenaPlan(
        source=source,
        scratch=scratch,
        bytes=top,
        no_reuse_bytes=sum(sizes),
        lower_bound_bytes=bound,
        excess_bytes=top - bound,
        fragmentation_bytes=0 if scope is None else top - _covered((one.offset, one.aligned_bytes) for one in alive),
        peak_scope=scope,
        peak_node=None if scope is None else arena.scopes[scope] or None,
        scopes=arena.scopes,
        buffers=tuple(buffers),
    )


def _placed(one: ArenaBuffer, size: int, offset: int) -> PlacedBuffer:
    is_touched = one.first >= 0
    first, last = (one.first, one.last) if is_touched else (None, None)
    return PlacedBuffer(one.name, one.bytes, size, offset, first, last, one.node, one.is_scratch)


def _is_alive(one: PlacedBuffer, scope: int) -> bool:
    return one.first is not None and one.last is not None and one.first <= scope <= one.last


def _peak_scope(buffers: Sequence[PlacedBuffer], top: int, scopes: Sequence[str]) -> int | None:
    """Of the scopes at which a buffer is alive that ends at ``top``, those of operators first, the fullest."""
    change, highest = [0] * (len(scopes) + 1), [0] * (len(scopes) + 1)
    for one in buffers:
        if one.first is not None and one.last is not None:
            change[one.first] += one.aligned_bytes
            change[one.last + 1] -= one.aligned_bytes
            if one.offset + one.aligned_bytes == top:
                highest[one.first] += 1
                highest[one.last + 1] -= 1
    alive = list(accumulate(change))
    at_top = [scope for scope, count in enumerate(accumulate(highest)) if count]
    return max(at_top, key=lambda scope: (scopes[scope] != "", alive[scope], -scope), default=None)


def _lower_bound(requests: Sequence[Request], offsets: Sequence[int]) -> int:
    """The most that is alive at one moment; of what has an offset of its own, what lies in one place counts once."""
    if any(one.offset is not None for one in requests):
        placed = zip(requests, offsets, strict=True)
        return most_covered([Piece(offset, offset + one.size, one.first, one.last) for one, offset in placed])
    change: dict[int, int] = {}
    for size, first, last, _ in requests:
        change[first] = change.get(first, 0) + size
        change[last + 1] = change.get(last + 1, 0) - size
    return max(accumulate(change[moment] for moment in sorted(change)), default=0)


def _covered(pieces: Iterable[tuple[int, int]]) -> int:
    """Bytes that lie in at least one of the pieces, which are offsets and sizes."""
    total = reached = 0
    for offset, size in sorted(pieces):
        total += max(0, offset + size - max(reached, offset))
        reached = max(reached, offset + size)
    return total


def _profile(plan: ArenaPlan, starts: Sequence[int] | None) -> tuple[int, ...] | None:
    """For each running node the highest end in use from its scope, in ``starts``, to that of the next; None without these.

    What comes before the first node's scope is the first node's.
    """
    if starts is None or not starts:
        return None if starts is None else ()
    ends = _ends(plan)
    edges = [0, *starts[1:], len(ends)]
    return tuple([max(ends[begin : max(end, begin + 1)]) for begin, end in pairwise(edges)])


def _ends(plan: ArenaPlan) -> list[int]:
    """The highest end in use at each scope."""
    coming = sorted((one for one in plan.buffers if one.first is not None), key=lambda one: -(one.first or 0))
    alive: list[tuple[int, int]] = []
    ends = []
    for scope in range(len(plan.scopes)):
        while coming and coming[-1].first == scope:
            one = coming.pop()
            heappush(alive, (-one.offset - one.aligned_bytes, one.last or 0))
        while alive and alive[0][1] < scope:
            heappop(alive)
        ends.append(-alive[0][0] if alive else 0)
    return ends


def _starts(scopes: Sequence[str], nodes: Sequence[Node]) -> list[int] | None:
    """The scope of each node; one without a scope goes with the next.  None where the nodes are in another order, or no scopes."""
    if not scopes:
        return None if nodes else []
    first: dict[str, int] = {}
    for place, name in enumerate(scopes):
        first.setdefault(name, place)
    starts: list[int] = []
    start = len(scopes) - 1
    for node in reversed(nodes):
        start = first.get(node.name, start)
        starts.append(start)
    starts.reverse()
    return starts if all(one <= other for one, other in pairwise(starts)) else None

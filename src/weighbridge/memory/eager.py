"""The policy ``eager``: what the framework that ran the model held, from its own record."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final

from weighbridge.graph import Allocation
from weighbridge.named_tuple import NamedTuple

__all__ = ["EAGER", "WORKSPACE", "EagerPeak", "eager_peak"]

EAGER: Final = "eager"
"""The name of the policy."""

WORKSPACE: Final = (
    "eager is what PyTorch's operators return on a processor under no_grad; the workspace of kernels comes on top: as measured, "
    "none in transformers, 0 to 52 % more in most convolutional networks, 150 % in one"
)
"""What a reader of the figure must know; docs/eager-memory.md measures it."""


class EagerPeak(NamedTuple):
    """The most that was held, the node whose call set it (None where no call did), and what was held around each node.

    ``profile`` has for each node that runs the most that was held from its call to that of the next one, so that what is
    fused into a node, or computed beforehand, is in its figure; None where the nodes are not in the order of the calls.
    """

    bytes: int
    node: str | None
    profile: tuple[int, ...] | None


class _Alive(NamedTuple):
    """Bytes from each moment at which they change to the next; the first moment is 0."""

    moments: list[int]
    bytes: list[int]

    def most(self, begin: int, end: int) -> int:
        """The most from moment ``begin`` to before ``end``, at least that at ``begin``."""
        first = bisect_right(self.moments, begin) - 1
        return max(self.bytes[first : max(bisect_left(self.moments, end), first + 1)])


def eager_peak(allocations: Sequence[Allocation], nodes: Sequence[str]) -> EagerPeak:
    """The peak of a record, which is not empty, and its profile over ``nodes``, the names of those that run, in order."""
    alive = _alive(allocations)
    peak = max(alive.bytes)
    moment = alive.moments[alive.bytes.index(peak)]
    at = [one.node for one in allocations if one.first == moment and one.bytes]
    return EagerPeak(peak, next(filter(None, at), None), _profile(alive, _starts(allocations, nodes)))


def _alive(allocations: Iterable[Allocation]) -> _Alive:
    change = Counter({0: 0})
    for size, first, last, _ in allocations:
        change[first] += size
        change[last + 1] -= size
    moments = sorted(change)
    return _Alive(moments, list(accumulate(change[moment] for moment in moments)))


def _starts(allocations: Iterable[Allocation], nodes: Sequence[str]) -> list[int] | None:
    """The moment at which each node begins.  One that is a step of a call begins with the call, which comes after it."""
    first: dict[str, int] = {}
    for one in allocations:
        first[one.node] = min(one.first, first.get(one.node, one.first))
    starts = _from_the_back(nodes, first)
    return starts if all(one <= other for one, other in pairwise(starts)) else None


def _from_the_back(nodes: Sequence[str], first: Mapping[str, int]) -> list[int]:
    starts: list[int] = []
    start = max(first.values())
    for node in reversed(nodes):
        start = first.get(node, start)
        starts.append(start)
    return starts[::-1]


def _profile(alive: _Alive, starts: list[int] | None) -> tuple[int, ...] | None:
    if starts is None:
        return None
    if not starts:
        return ()
    ends = [*starts[1:], alive.moments[-1]]
    return tuple(alive.most(begin, end) for begin, end in zip([0, *starts[1:]], ends, strict=True))

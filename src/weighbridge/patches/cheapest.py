"""The patches that compute least again, of all whose peak has room in a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.options import Options
from weighbridge.patches.plan import Grid
from weighbridge.patches.search import GRIDS

__all__ = ["Cheapest", "cheapest"]


class Cheapest(NamedTuple):
    """The stage up to ``last`` in patches of ``grid``: what is alive at most, and the MACs that are done again."""

    last: str
    grid: Grid
    peak_bytes: int
    macs_more: int


def cheapest(
    deployed: Graph,
    policy: str,
    room_bytes: int,
    *,
    with_input: bool = False,
    last: str | None = None,
    grids: Sequence[Grid] = GRIDS,
    operators: Mapping[str, Op] = OPERATORS,
) -> Cheapest | None:
    """Of all stages, or that up to ``last``, and of all ``grids`` whose peak under ``policy`` is no more than ``room_bytes`` those with the
    fewest MACs done again, of several those with the smallest peak; None where there are none.

    The peak has the input in it where ``with_input`` says so, as ``searched`` does.
    """
    options = Options(deployed, policy, operators, with_input=with_input, last=last, grids=grids)
    fitting = [one for end in options.ends() if end.least_bytes <= room_bytes for one in options.grids_of(end)]
    ranked = [(options.macs_again(one), one.order[1:], one) for one in fitting if one.least_bytes <= room_bytes]
    best: Cheapest | None = None
    for more, _, one in sorted(ranked):
        if best is not None and more > best.macs_more:
            break
        if one.grid is None or (best is not None and one.least_bytes >= best.peak_bytes):
            continue
        peak = options.peak_bytes(one)
        if peak is not None and peak <= room_bytes and (best is None or peak < best.peak_bytes):
            best = Cheapest(one.last, one.grid, peak, more)
    return best

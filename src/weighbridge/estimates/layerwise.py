"""The time of each node, one after the other, and where it lies under the roofline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from weighbridge.devices.device import ACTIVATIONS, WEIGHTS, Device
from weighbridge.estimates.demand import Demand, NodeDemand
from weighbridge.estimates.roofline import bound_of, memory_time, quotient, ratio
from weighbridge.named_tuple import NamedTuple

__all__ = ["Layerwise", "NodeTime", "layerwise", "node_times"]


_TOO_LONG: Final = "no layerwise time, as it is beyond what a number can hold"
_NO_TIME: Final = "no layerwise time, as nothing that is counted takes a time that is known"


class NodeTime(NamedTuple):
    """One node on a device.

    ``compute_s`` is its operations / peak at its precision, ``memory_s`` its input, output and weight bytes / bandwidth,
    ``time_s`` the larger of those that are known; ``bound`` names it where both are.  ``intensity_ops_per_byte`` is operations
    per byte moved, ``attained_ops_per_s`` operations / ``time_s``: None without operations.  ``precision`` is the one that it
    computes at.  None is unknown; unless ``exact`` a count behind them is a lower bound.
    """

    name: str
    compute_s: float | None
    memory_s: float | None
    bound: str | None
    time_s: float | None
    intensity_ops_per_byte: float | None
    exact: bool
    precision: str | None = None
    attained_ops_per_s: float | None = None


class Layerwise(NamedTuple):
    """The sum over nodes in seconds, None where a node has operations and no rate; unless ``exact`` a lower bound: a count
    behind it is one, or bytes go through a memory whose bandwidth is not known, which takes no time in it.
    """

    time_s: float | None
    exact: bool
    notes: tuple[str, ...] = ()


def node_times(demand: Demand, device: Device, precision: str | None = None) -> tuple[NodeTime, ...]:
    """Every node's time = max(2 x MACs / peak, (input + output + weight bytes) / bandwidth).

    Each node computes at its own precision, or all at ``precision``.  A node without MACs is bounded by its bytes.  Weights and
    activations in one memory queue; memories beside each other work at the same time, so the slower one counts.
    """
    return tuple(_node_time(node, device, precision or node.precision) for node in demand.nodes)


def _node_time(node: NodeDemand, device: Device, precision: str | None) -> NodeTime:
    compute: float | None = None
    if not node.ops:
        compute = 0.0 if node.exact else None
    elif (peak := device.peak(precision) if precision else None) is not None:
        compute = quotient(node.ops, peak.ops_per_s.value)
    memory = memory_time(device, node.stored_bytes, node.running_bytes, node.exact)
    known = [time for time in (compute, memory) if time is not None]
    has_rate = bool(compute) or (not node.ops and memory is not None)
    moved = node.stored_bytes + node.running_bytes
    time = max(known, default=None) if has_rate else None
    return NodeTime(
        name=node.name,
        compute_s=compute,
        memory_s=memory,
        bound=bound_of(compute, memory) if compute or memory else None,
        time_s=time,
        intensity_ops_per_byte=ratio(node.ops, moved),
        exact=node.exact,
        precision=precision if node.ops else None,
        attained_ops_per_s=quotient(node.ops, time) if node.ops and time else None,
    )


def layerwise(demand: Demand, device: Device, times: Sequence[NodeTime], precision: str | None = None) -> Layerwise:
    """The sum of ``times``, which are those of ``demand``'s nodes on ``device`` at their own precision or at ``precision``."""
    without = [node for node, time in zip(demand.nodes, times, strict=True) if node.ops and time.compute_s is None]
    if without:
        first = without[0]
        rate = precision or first.precision
        at = f"at {rate}" if rate else "in its number format"
        more = f" and {len(without) - 1:,} more nodes" if len(without) > 1 else ""
        return Layerwise(None, False, (f"no layerwise time, as the peak rate of {first.name}{more} {at} is not known",))
    known = [time.time_s for time in times if time.time_s is not None]
    exact = all(time.exact for time in times) and not _is_blind(demand, device)
    summed = sum(known)
    if math.isinf(summed):
        return Layerwise(None, False, (_TOO_LONG,))
    return Layerwise(summed or None, exact and bool(summed), () if summed or not times else (_NO_TIME,))


def _is_blind(demand: Demand, device: Device) -> bool:
    """Whether some bytes go where no bandwidth is known."""
    weights, activations = (device.memory_for(what) for what in (WEIGHTS, ACTIVATIONS))
    unknown = [memory is None or memory.bandwidth_bytes_per_s is None for memory in (weights, activations)]
    return any((node.stored_bytes and unknown[0]) or (node.running_bytes and unknown[1]) for node in demand.nodes)

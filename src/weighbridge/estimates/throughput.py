"""Inferences a second against the batch: at most the batch over its latency floor."""

from __future__ import annotations

from collections.abc import Iterable

from weighbridge.estimates.fit import Fit
from weighbridge.estimates.latency import Latency
from weighbridge.named_tuple import NamedTuple

__all__ = ["BatchPoint", "Throughput", "batch_point", "throughput"]


class BatchPoint(NamedTuple):
    """One batch size: the floor of its latency and what it allows, ``per_s`` = batch / ``latency_s``.

    ``layerwise_s`` and ``layerwise_per_s`` are the same for the sum over nodes.  ``verdict`` says whether this batch fits.
    Unless ``exact`` (``layerwise_exact``) the times are lower bounds; the rates are upper bounds in any case.
    """

    batch: int
    latency_s: float | None
    per_s: float | None
    layerwise_s: float | None
    layerwise_per_s: float | None
    bound: str | None
    verdict: str
    exact: bool = True
    layerwise_exact: bool = True


class Throughput(NamedTuple):
    """Points in order of batch size; none where the batch size is unknown."""

    by_batch: tuple[BatchPoint, ...]


def batch_point(batch: int, latency: Latency, fit: Fit) -> BatchPoint:
    """The point of a batch whose ``latency`` and ``fit`` these are."""
    return BatchPoint(
        batch,
        latency.floor_s,
        _rate(batch, latency.floor_s),
        latency.layerwise_s,
        _rate(batch, latency.layerwise_s),
        latency.bound,
        fit.verdict,
        latency.exact,
        latency.layerwise_exact,
    )


def throughput(points: Iterable[BatchPoint]) -> Throughput:
    """The points by batch size."""
    return Throughput(tuple(sorted(points, key=lambda point: point.batch)))


def _rate(batch: int, latency_s: float | None) -> float | None:
    """None too where no float holds it: a saved report may be of any batch."""
    try:
        return batch / latency_s if latency_s else None
    except OverflowError:
        return None

"""The record of a published network."""

from __future__ import annotations

from fractions import Fraction

from weighbridge.named_tuple import NamedTuple

__all__ = ["Conditions", "Published"]


class Conditions(NamedTuple):
    """What a time was measured under; "" and None are what the source does not say."""

    hardware: str = ""
    runtime: str = ""
    precision: str = ""
    batch: int | None = None


class Published(NamedTuple):
    """A network as somebody published it, every figure by their convention and None where they give none.

    ``macs`` are multiply-accumulates as the source counts them and ``flops`` what it calls FLOPs, whatever it means by it;
    ``latency_s`` and ``throughput_per_s`` were measured under ``conditions``.  ``quality`` is in the unit of ``quality_metric``
    (``"mIoU, %"``), more being better.  ``source`` says where all this stands, ``input`` what went in, and ``notes`` what is known about
    why it is as fast or slow as it is.
    """

    name: str
    title: str
    source: str
    input: str = ""
    macs: Fraction | None = None
    flops: Fraction | None = None
    latency_s: Fraction | None = None
    throughput_per_s: Fraction | None = None
    conditions: Conditions | None = None
    quality: Fraction | None = None
    quality_metric: str = ""
    notes: tuple[str, ...] = ()

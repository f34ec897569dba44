"""Devices made by hand for their charts, and what is read of a chart."""

from __future__ import annotations

from typing import Any

from tests.report.charts.drawings import svg
from tests.report.samples import alexnet, node, on_device, report
from weighbridge import Report
from weighbridge.estimates import BatchPoint, NodeTime, Roof, Roofline, RoofPoint, Throughput
from weighbridge.report.charts.panel import Chart

__all__ = ["MICROCONTROLLER", "NAMES", "ROOFLINE", "labels_of", "point", "rows", "time", "with_points", "with_times"]

NAMES = ("roofline", "latency", "throughput")
MICROCONTROLLER = "stm32f746"
"""The device of those that are made by hand."""


def rows(made: Chart, name: str) -> tuple[Any, ...]:
    (found,) = [data for key, data in made.datasets.items() if key.startswith(name)]
    return found


def labels_of(made: Chart) -> set[str]:
    return {part.partition("<")[0] for part in svg(made).split(">") if part.endswith("</text")}


def point(batch: int, per_s: float | None, verdict: str = "fits", layerwise: float | None = None) -> BatchPoint:
    return BatchPoint(batch, 1.0, per_s, None, layerwise, "memory", verdict)


def with_points(*points: BatchPoint) -> Report:
    on = on_device()._replace(throughput=Throughput(points))
    return report(alexnet(), on=(on,))


def time(name: str, **changes: Any) -> NodeTime:
    one = NodeTime(name, 1e-3, 2e-3, "memory", 2e-3, 4.0, True, "int8", 1e6)
    return one._replace(**changes)


ROOFLINE = Roofline(("DRAM",), 10**6, (Roof("int8", "core", 10**7, 10.0, (RoofPoint(1, 1e6), RoofPoint(10, 1e7))),))


def with_times(*times: NodeTime, roofline: Roofline = ROOFLINE) -> Report:
    on = on_device()._replace(nodes=times, roofline=roofline)
    return report([node(one.name, macs=5) for one in times], on=(on,))

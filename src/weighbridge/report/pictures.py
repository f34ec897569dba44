"""A chart as a picture: SVG, PNG or PDF, drawn by vl-convert without a browser and without a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import vl_convert

from weighbridge.report.charts.panel import Chart
from weighbridge.report.charts.theme import config

__all__ = ["FORMATS", "picture"]

FORMATS: Final = ("svg", "png", "pdf")


def picture(chart: Chart, kind: str, theme: str = "light", scale: float = 2) -> bytes:
    """``chart``, which has a panel, as a file of ``kind``; ``scale`` is how many pixels of a PNG stand for one of the chart."""
    spec: dict[str, Any] = {
        **(chart.spec or {}),
        "datasets": {name: list(map(dict, rows)) for name, rows in chart.datasets.items()},
    }
    options: Mapping[str, Any] = {"config": dict(config(theme)), "allowed_base_urls": []}
    if kind == "svg":
        svg: str = vl_convert.vegalite_to_svg(spec, **options)
        return svg.encode()
    if kind == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, **options))
    return bytes(vl_convert.vegalite_to_png(spec, scale=scale, **options))

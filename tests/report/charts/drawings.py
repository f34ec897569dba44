"""What every chart owes its readers, checked on its specification and on the picture that is drawn of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weighbridge import Report
from weighbridge.report.charts.drawn import chart
from weighbridge.report.charts.panel import IS_PICKED, Chart
from weighbridge.report.pictures import picture

__all__ = ["drawn", "svg", "titles_of_axes", "views"]

_PLACES = ("x", "y")


def views(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every part of ``spec`` that has a mark."""
    if "mark" in spec:
        yield spec
    for part in (*spec.get("vconcat", ()), *spec.get("layer", ())):
        yield from views(part)


def titles_of_axes(chart: Chart) -> list[str]:
    """The titles of the axes that are drawn; a mark that lies over another has the axes of that."""
    channels = [
        view["encoding"][place] for view in views(chart.spec or {}) for place in _PLACES if place in view["encoding"]
    ]
    return [channel["title"] for channel in channels if channel.get("axis", {}) is not None and "title" in channel]


def drawn(name: str, reports: Mapping[str, Report] | Report, policy: str = "live", device: str | None = None) -> Chart:
    """The chart ``name`` of one report or several, which breaks none of the rules that all charts are held to.

    That it is valid Vega-Lite is checked where altair writes it; Vega draws it here.
    """
    made = chart(name, {"sample": reports} if isinstance(reports, Report) else reports, policy, device)
    if made.spec is None:
        assert made.reasons
        assert not made.datasets
        return made
    parts = list(views(made.spec))
    assert not [view for view in parts if view["mark"]["type"] == "text"]
    assert {view["data"]["name"] for view in parts} == set(made.datasets)
    assert not [view for view in parts if view["mark"].get("aria") is not False]
    assert "values" not in str([view["data"] for view in parts])
    for view in parts:
        if any("key" in row for row in made.datasets[view["data"]["name"]]):
            assert view["encoding"]["opacity"]["condition"]["test"] == IS_PICKED
    assert all(titles_of_axes(made))
    assert made.description
    assert "NaN" not in svg(made)
    return made


def svg(chart: Chart) -> str:
    """The picture of ``chart``, drawn by Vega."""
    return picture(chart, "svg", ["sample"]).decode()

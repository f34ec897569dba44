"""A chart as a picture: SVG, PNG or PDF, drawn by vl-convert without a browser and without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any, Final

import vl_convert

from weighbridge.errors import BadSpec, printable
from weighbridge.report.charts.panel import Chart, title_line
from weighbridge.report.charts.theme import config

__all__ = ["FORMATS", "picture"]

FORMATS: Final = ("svg", "png", "pdf")

_LINE: Final = 120
"""Characters of the small print that stand beside each other above a chart."""
_ABOVE: Final = 12
"""Pixels between the small print and what is drawn, which may begin with a title of its own."""
_BEYOND_16_BITS: Final = re.compile("[^\\u0000-\\uffff]")
"""Characters that are two units of a string in JavaScript: Vega cuts a text that is too long between the two, and vl-convert
cannot measure half a character.
"""
_MOST_PIXELS: Final = 100_000_000
"""Of a PNG, which takes 4 B each while it is drawn."""
_SIZE: Final = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')


def picture(chart: Chart, kind: str, titles: Sequence[str], *, theme: str = "light", scale: float = 2) -> bytes:
    """``chart``, which has a panel, as a file of ``kind``; ``scale`` is how many pixels of a PNG stand for one of the chart.

    A picture stands alone: above the chart are its title, ``titles`` of the reports that it is of, and what it leaves out.
    Raises ``BadSpec`` for a PNG of more than a hundred million pixels.
    """
    drawing = dict(chart.spec or {})
    whole: dict[str, Any] = {name: drawing.pop(name) for name in ("$schema", "params") if name in drawing}
    whole |= {
        "title": {"text": chart.title, "subtitle": list(_small_print(chart, titles)), "offset": _ABOVE},
        "description": f"{chart.title}: {chart.description}",
        "vconcat": [drawing],
        "datasets": {name: list(map(dict, rows)) for name, rows in chart.datasets.items()},
    }
    text = _BEYOND_16_BITS.sub(_escaped, json.dumps(whole, ensure_ascii=False, allow_nan=False))
    options: Mapping[str, Any] = {"config": dict(config(theme)), "allowed_base_urls": []}
    if kind == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(text, **options))
    svg: str = vl_convert.vegalite_to_svg(text, **options)
    if kind == "png":
        _check_size(svg, scale)
        return bytes(vl_convert.svg_to_png(svg, scale=scale))
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(whole["description"])}" ', 1).encode()


def _check_size(svg: str, scale: float) -> None:
    found = _SIZE.search(svg)
    assert found is not None
    width, height = (round(float(size) * scale) for size in found.groups())
    if width * height > _MOST_PIXELS:
        what = f"the picture would have {width:,} x {height:,} pixels, more than {_MOST_PIXELS:,}"
        raise BadSpec(what, hint="take a smaller --scale or fewer reports; an SVG has no pixels")


def _escaped(found: re.Match[str]) -> str:
    """A character as ``printable`` writes those that cannot be shown, inside a string of JSON."""
    return f"\\\\U{ord(found[0]):08x}"


def _small_print(chart: Chart, titles: Sequence[str]) -> Iterator[str]:
    """Lines; each of several reports has its title at its own panel."""
    of = titles if len(titles) == 1 else ()
    on = (f"on {printable(chart.device)}",) if chart.device else ()
    for sentence in (" ".join((*of, *on)), *chart.notes, *chart.reasons):
        yield from map(title_line, wrap(sentence, _LINE))

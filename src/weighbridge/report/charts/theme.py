"""The one look of all charts: colours that people with colour-blindness tell apart, and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["ACCENT", "HEIGHT", "INK", "MUTED", "PALETTE", "WIDTH", "config"]

PALETTE: Final = ("#0072B2", "#009E73", "#CC79A7", "#D55E00")
"""Blue, bluish green, reddish purple and vermilion of Okabe and Ito, Color Universal Design, 2008.

These have a contrast of 3:1 with a light ground and with a dark one; of the other four, orange and sky blue have 2.3:1 on white, black
and yellow vanish.  Any two of them differ by a CIEDE2000 of 10.9 at least (purple and vermilion without blue cones; without red
ones 12.2, blue and purple), so their order is free; blue and vermilion, the first and the last, differ by 49 to all eyes.
tests/report/test_palette.py holds this.
"""
ACCENT: Final = PALETTE[3]
"""What stands out: a peak, what does not fit."""
MUTED: Final = "#8A8A8A"
"""What is in the background: limits, what is not known; it has the same contrast with a light page and a dark one."""
INK: Final = {"light": "#1A1A1A", "dark": "#E8E8E8", "page": "currentColor"}
"""The colour of text by theme; a page gives its own to every chart on it."""

WIDTH: Final = 760
HEIGHT: Final = 220
"""Of a panel, in pixels, axes left out."""

_FONT: Final = "sans-serif"


def config(theme: str) -> Mapping[str, Any]:
    """Vega-Lite's ``config`` for a picture on a ``light`` or a ``dark`` ground, or for a ``page`` with colours of its own."""
    ink = INK[theme]
    background = {"light": "#FFFFFF", "dark": "#16181D", "page": None}[theme]
    axis = {
        "domainColor": ink,
        "gridColor": MUTED,
        "gridOpacity": 0.25,
        "labelColor": ink,
        "labelFontSize": 11,
        "labelOverlap": "greedy",
        "labelLimit": 180,
        "tickColor": ink,
        "titleColor": ink,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "aria": True,
        "axis": axis,
        "background": background,
        "font": _FONT,
        "legend": {"labelColor": ink, "titleColor": ink, "labelFontSize": 11, "titleFontSize": 12, "labelLimit": 300},
        "header": {"labelColor": ink, "titleColor": ink},
        "range": {"category": list(PALETTE)},
        "title": {"color": ink, "subtitleColor": ink, "anchor": "start", "fontSize": 13, "subtitleFontSize": 11},
        "view": {"stroke": None},
    }

"""The library that draws charts, as one script; made when a page first asks for it and kept."""

from __future__ import annotations

from functools import cache

import vl_convert

__all__ = ["vega"]


@cache
def vega() -> str:
    """Vega, Vega-Lite and vega-embed, as vl-convert carries them, which set ``window.vegaEmbed``."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle

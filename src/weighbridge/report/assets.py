"""What every page of the report is dressed in: the style sheet, the script and its data, and the library that draws the charts."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final

import vl_convert

__all__ = ["in_script", "library", "resource", "script", "style_sheet"]

_WIDTHS: Final = "".join(f".w{part}{{background-size:{part}% 3px}}" for part in range(101))
"""The lengths of bars as classes: the policy of the page lets in no style of a single element."""


@cache
def style_sheet() -> str:
    """The style sheet of the report."""
    return f"{resource('report.css')}{_WIDTHS}"


@cache
def script() -> str:
    """The script that draws charts, sorts tables and folds trees."""
    return resource("report.js")


@cache
def library() -> str:
    """Vega, Vega-Lite and vega-embed, as vl-convert carries them, in one script, which sets ``window.vegaEmbed``.

    It ends where the element that holds it does.  To make it takes seconds, so it is made once.
    """
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def in_script(data: object) -> str:
    """JSON that no HTML parser takes for a tag."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def resource(name: str) -> str:
    """The text of one of the report's templates."""
    return (files("weighbridge.report") / "templates" / name).read_text(encoding="utf-8")

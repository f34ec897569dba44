"""The web application: which address has which page, its twin in JSON, and what no answer goes out without."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from weighbridge import __version__
from weighbridge.errors import printable
from weighbridge.report.assets import script as report_script
from weighbridge.web import ahead, compare_pages, device_pages, report_pages, weigh_pages
from weighbridge.web.bodies import Room
from weighbridge.web.guard import Door, Guard
from weighbridge.web.openapi import document
from weighbridge.web.pages import failed_page, first_page, missing_page, script, simulator_page, style
from weighbridge.web.shelf import Shelf
from weighbridge.web.simulator import Simulator, answered, plain
from weighbridge.web.simulators import simulators
from weighbridge.web.uploads import Uploads
from weighbridge.web.work import Work

__all__ = ["application"]

_LOOPBACK: Final = Door()
_NAMED: Final = 60
"""Characters of an address that is not there, when one like it is looked for."""


def application(shelf: Shelf, work: Work, door: Door = _LOOPBACK) -> ASGIApp:
    """The app as ASGI, which keeps on ``shelf`` what it is told to keep, and has ``work`` read what somebody uploads.
    ``door`` says who is let in.

    What a page of a simulator shows follows from its address.
    """
    every = simulators(Uploads(shelf, work))
    pages = Starlette(
        routes=[
            Route("/", _first),
            Route("/openapi.json", partial(_openapi, every)),
            Route("/static/app.css", partial(_text, style, "text/css")),
            Route("/static/app.js", partial(_text, script, "text/javascript")),
            Route("/static/report.js", partial(_text, report_script, "text/javascript")),
            Route("/static/vega.js", partial(_vega, work)),
            *weigh_pages.routes(shelf, work),
            *report_pages.routes(shelf, work),
            *compare_pages.routes(shelf, work),
            *device_pages.routes(shelf, work),
            *(Route(f"/{name}", partial(_page, one)) for name, one in every.items()),
            *(Route(f"/{name}.json", partial(_twin, one)) for name, one in every.items()),
        ],
        exception_handlers={404: _missing, 405: _no_method, Exception: _failed},
    )
    pages.state.room = Room()
    return Guard(pages, door)


def _said(what: str, status: int) -> Response:
    return JSONResponse({"error": what}, status)


def _first(request: Request) -> Response:
    return HTMLResponse(first_page(simulators()))


def _page(simulator: Simulator, request: Request) -> Response:
    found, answer = answered(simulator, request.query_params.multi_items())
    return HTMLResponse(simulator_page(simulator, found, answer), 422 if found.faults else 200)


def _twin(simulator: Simulator, request: Request) -> Response:
    found, answer = answered(simulator, request.query_params.multi_items())
    return _Strict(plain(simulator, found, None if found.faults else answer), 422 if found.faults else 200)


class _Strict(JSONResponse):
    """JSON as the rest of Weighbridge writes it: no NaN and no infinity."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _openapi(every: Mapping[str, Simulator], request: Request) -> Response:
    return JSONResponse(document(every.values(), __version__))


def _text(content: Any, kind: str, request: Request) -> Response:
    return Response(content(), media_type=kind, headers={"cache-control": "no-cache"})


async def _vega(work: Work, request: Request) -> Response:
    return Response(await ahead.charts(work), media_type="text/javascript", headers={"cache-control": "max-age=3600"})


def _missing(request: Request, error: Exception) -> Response:
    name = request.scope["path"].strip("/")[:_NAMED]
    is_twin = request.scope["path"].endswith(".json")
    near = next(iter(get_close_matches(name.removesuffix(".json"), simulators(), 1)), None)
    if not is_twin:
        return HTMLResponse(missing_page(simulators(), near), 404)
    hint = f"did you mean /{near}.json?" if near else "/openapi.json lists all"
    return _said(f"there is no such page; {hint}", 404)


def _no_method(request: Request, error: Exception) -> Response:
    answer = _said(f"{printable(request.method, 20)} is nothing that this address takes", 405)
    answer.headers.update(getattr(error, "headers", None) or {})  # which says what it does take
    return answer


def _failed(request: Request, error: Exception) -> Response:
    if request.scope["path"].endswith(".json"):
        return _said("this is a fault of weighbridge, not yours; the terminal that it runs in says more", 500)
    return HTMLResponse(failed_page(simulators()), 500)

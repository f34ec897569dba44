"""The web application: which address has which page, its twin in JSON, and what no answer goes out without."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weighbridge import __version__
from weighbridge.web.openapi import document
from weighbridge.web.pages import first_page, missing_page, script, simulator_page, style
from weighbridge.web.simulator import Simulator, answered, plain
from weighbridge.web.simulators import simulators

__all__ = ["LOOPBACK", "application"]

LOOPBACK: Final = ("127.0.0.1", "localhost")
"""The names that the app answers to: a page of somebody else's that gives its own name this address gets nothing."""
_LONGEST_QUERY: Final = 8_000
_SECURITY: Final[Mapping[str, str]] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def application() -> Starlette:
    """The app as ASGI.  It keeps nothing between requests: all that a page shows follows from its address."""
    return Starlette(
        routes=[
            Route("/", _first),
            Route("/openapi.json", _openapi),
            Route("/static/app.css", partial(_text, style, "text/css")),
            Route("/static/app.js", partial(_text, script, "text/javascript")),
            Route("/static/vega.js", _vega),
            *(Route(f"/{name}", partial(_page, one)) for name, one in simulators().items()),
            *(Route(f"/{name}.json", partial(_twin, one)) for name, one in simulators().items()),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK)),
            Middleware(_Guard),
        ],
        exception_handlers={404: _missing},
    )


class _Guard:
    """Adds what a browser is to be told with every answer, and refuses addresses that are too long to mean anything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), text.encode()) for name, text in _SECURITY.items()]
            await send(message)

        if len(scope["query_string"]) > _LONGEST_QUERY:
            await _said("the address is too long", 414)(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)


def _said(what: str, status: int) -> Response:
    return JSONResponse({"error": what}, status)


def _first(request: Request) -> Response:
    return HTMLResponse(first_page(simulators().values()))


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


def _openapi(request: Request) -> Response:
    return JSONResponse(document(simulators().values(), __version__))


def _text(content: Any, kind: str, request: Request) -> Response:
    return Response(content(), media_type=kind, headers={"cache-control": "no-cache"})


def _vega(request: Request) -> Response:
    from weighbridge.web.bundle import vega

    return Response(vega(), media_type="text/javascript", headers={"cache-control": "max-age=3600"})


def _missing(request: Request, error: Exception) -> Response:
    if request.url.path.endswith(".json"):
        return _said("there is no such page", 404)
    return HTMLResponse(missing_page(simulators().values()), 404)

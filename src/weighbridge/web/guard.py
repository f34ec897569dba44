"""Around the whole app: who is let in, what a browser is told with every answer, and what is said of a fault of ours."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from http.cookies import SimpleCookie
from secrets import compare_digest
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weighbridge.errors import internal, printable
from weighbridge.named_tuple import NamedTuple
from weighbridge.web.pages import rendered
from weighbridge.web.work import Fault

__all__ = ["LOOPBACK", "Door", "Guard"]

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
"""The names of this machine for itself: a page of somebody else's that gives its own name this address gets nothing."""
_LONGEST: Final = 8_000
"""Bytes of an address, far more than any state takes."""
_HOST: Final = re.compile(r"\[(?P<six>[^\]]*)\](?::\d+)?|(?P<name>[^:]*)(?::\d+)?")
_SECURITY: Final[Mapping[str, str]] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    # Not "no-referrer": under that a browser calls the origin of our own forms "null".
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer that has none of the name itself."""
_HEEDED_HERE: Final = b"cross-origin-opener-policy"
"""Of these, what a browser heeds from its own machine alone; from another, without encryption, it only complains of it."""
_HOW_TO_ENTER: Final = (
    "open the address that was shown where this was started, which has ?token= in it; a program sends the token as the header "
    '"Authorization: Bearer TOKEN"'
)

_EMPTY: Final[Message] = {"type": "http.request", "body": b"", "more_body": False}


class Door(NamedTuple):
    """Who is let in: whoever names one of ``hosts``, or, where there is a ``token``, whoever has that.

    With a token any name will do: a page elsewhere whose name leads here has no cookie for that name.
    """

    hosts: frozenset[str] = LOOPBACK
    token: str = ""


class Guard:
    """Around ``app``: lets in whom ``door`` says, and nothing that a page elsewhere makes a browser send.

    An answer is given up where the client goes away, and a job with it that runs for it.
    """

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                has = {name.lower() for name, _ in message["headers"]}
                if _name(scope) not in LOOPBACK:
                    has.add(_HEEDED_HERE)
                told = [(name.encode(), text.encode()) for name, text in _SECURITY.items()]
                if message["status"] == 503:
                    told.append((b"retry-after", b"60"))
                message["headers"] = [*message["headers"], *(one for one in told if one[0] not in has)]
            await send(message)

        answer = _entry(scope, self._door) or _foreign(scope) or _too_long(scope)
        if answer is not None:
            await answer(scope, receive, guarded)
            return
        try:
            await _until_gone(self._app, scope, receive, guarded)
        except Exception as error:  # what it says may be of any length and is for the terminal alone
            if os.environ.get("WEIGHBRIDGE_DEBUG") == "1":
                raise
            said = printable(str(error), 600) if isinstance(error, Fault) else internal(error)
            sys.stderr.write(f"weighbridge: {said}\n")


async def _until_gone(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Have ``app`` answer, until it has or its client is gone."""
    is_read = anyio.Event()
    failed: Exception | None = None
    has_body = scope["method"] not in ("GET", "HEAD")

    async def received() -> Message:
        if is_read.is_set():  # whoever asks for more is told nothing until the end
            await anyio.sleep_forever()
        message = await receive() if has_body else _EMPTY
        if not message.get("more_body"):
            is_read.set()
        return message

    async def watch() -> None:
        if has_body:
            await is_read.wait()
        while (await receive())["type"] != "http.disconnect":
            pass
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            await app(scope, received, send)
        except Exception as error:
            failed = error
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed


def _entry(scope: Scope, door: Door) -> Response | None:
    """None for whoever is let in; else what is said to others, or what gives a browser its cookie."""
    headers = Headers(scope=scope)
    if not door.token:
        if _name(scope) in door.hosts:
            return None
        return _told(scope, 400, "Another name", "this answers to the names of this machine alone")
    said = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    is_told = any(name == "token" and _same(value, door.token) for name, value in said)
    if is_told and scope["method"] in ("GET", "HEAD"):
        return _welcome(scope, door.token, [one for one in said if one[0] != "token"])
    kind, _, sent = headers.get("authorization", "").partition(" ")
    cookie = cookie_parser(headers.get("cookie", "")).get(_cookie_name(scope), "")
    if _same(cookie, door.token) or (kind.lower() == "bearer" and _same(sent.strip(), door.token)):
        return None
    answer = _told(scope, 401, "A token is needed", _HOW_TO_ENTER)
    answer.headers["www-authenticate"] = "Bearer"
    return answer


def _name(scope: Scope) -> str:
    """What the request calls this machine, "" where that is no name."""
    found = _HOST.fullmatch(Headers(scope=scope).get("host", ""))
    return (found["six"] or found["name"] or "").lower() if found else ""


def _welcome(scope: Scope, token: str, query: list[tuple[str, str]]) -> Response:
    """Gives the cookie, and leads to the same address without the token.

    A browser that follows a link of a page elsewhere sends it, and with a form or a script of that page it does not.
    """
    path = "/" + quote(scope["path"].lstrip("/"))  # two slashes would be another machine
    cookie: SimpleCookie = SimpleCookie({_cookie_name(scope): token})
    for one in cookie.values():
        one["path"], one["httponly"], one["samesite"] = "/", True, "Lax"
    answer = RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)
    answer.headers["set-cookie"] = cookie.output(header="").strip()
    return answer


def _cookie_name(scope: Scope) -> str:
    """By port: a browser does not tell one port of a machine from another when it sends cookies."""
    return f"weighbridge-{(scope.get('server') or ('', 0))[1]}"


def _same(said: str, token: str) -> bool:
    return compare_digest(said.encode(errors="replace"), token.encode())


def _foreign(scope: Scope) -> Response | None:
    """What is said to a request that a page elsewhere made a browser send; None for all else, also what no browser sent.

    A link elsewhere may lead here; a picture, a script or a form may not.
    """
    headers = Headers(scope=scope)
    site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
    is_link = scope["method"] in ("GET", "HEAD") and headers.get("sec-fetch-dest") == "document"
    is_ours = site in ("same-origin", "none") or is_link
    if origin is not None and scope["method"] not in ("GET", "HEAD"):
        is_ours = is_ours and _place(origin) == headers.get("host", "?").lower()
    return None if is_ours else _told(scope, 403, "Another page asked for this", "only pages of this app may")


def _place(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _too_long(scope: Scope) -> Response | None:
    if len(scope["path"].encode()) + len(scope["query_string"]) <= _LONGEST:
        return None
    return _told(scope, 414, "Too long an address", f"the address is longer than {_LONGEST:,} bytes")


def _told(scope: Scope, status: int, heading: str, what: str) -> Response:
    """The same as a page for people, as JSON for programs; neither says anything of the app."""
    if scope["path"].endswith(".json") or "text/html" not in Headers(scope=scope).get("accept", ""):
        return JSONResponse({"error": what}, status)
    return HTMLResponse(rendered("told.html.jinja", heading=heading, what=what), status)

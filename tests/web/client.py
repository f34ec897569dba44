"""Asks the app without a socket, and reads its pages as a browser without scripts does."""

from __future__ import annotations

import asyncio
import atexit
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import httpx
from starlette.types import ASGIApp

from weighbridge.web.server import application
from weighbridge.web.shelf import opened
from weighbridge.web.work import Work

__all__ = ["HOST", "Page", "ask", "fresh", "read"]

HOST: Final = "127.0.0.1:8631"
_APART: Final = ThreadPoolExecutor(1, "ask")
"""A thread of its own: in that of the tests a browser of others may have an event loop that runs."""
_SHELVES: Final = ExitStack()
atexit.register(_SHELVES.close)
_WORK: Final = Work()
atexit.register(_WORK.close)
_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})


def fresh(folder: Path | None = None) -> ASGIApp:
    """An app of its own; what it keeps lies in ``folder``, or goes with the tests."""
    shelf = _SHELVES.enter_context(opened(folder))
    return application(shelf, _WORK)


def ask(
    address: str, *, method: str = "GET", host: str = HOST, app: ASGIApp | None = None, **sent: Any
) -> httpx.Response:
    """The answer of ``app``, by default a fresh one, to one request, with what is ``sent``: ``data``, ``files`` as httpx has them."""

    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app=app or fresh())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8631") as client:
            return await client.request(method, address, headers={"host": host}, **sent)

    return _APART.submit(lambda: asyncio.run(once())).result()


@dataclass
class Page(HTMLParser):
    """``tags`` are all of them with their attributes, ``texts`` what stands in an element that has an id, by that."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    text: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    """What the form sends, as it stands."""
    _open: list[tuple[str, str | None]] = field(default_factory=list)
    _select: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        self.tags.append((tag, has))
        if tag not in _VOID:
            self._open.append((tag, has.get("id")))
        if "id" in has:
            self.texts.setdefault(has["id"], "")
        if tag == "input" and "name" in has:
            if has.get("type") not in ("checkbox", "file") or "checked" in has:
                self.fields[has["name"]] = has.get("value", "")
        elif tag == "select":
            self._select = has["name"]
        elif tag == "option" and ("selected" in has or self._select not in self.fields):
            self.fields[self._select] = has["value"]

    def handle_endtag(self, tag: str) -> None:
        assert self._open, tag
        opened, _ = self._open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        if any(tag == "script" for tag, _ in self._open):
            return
        self.text += data
        for _, name in self._open:
            if name is not None:
                self.texts[name] += data

    def ids(self) -> list[str]:
        return [has["id"] for _, has in self.tags if "id" in has]


def read(html: str) -> Page:
    """The page, every element of which must be closed."""
    page = Page()
    page.feed(html)
    page.close()
    assert not page._open
    return page

"""Saved reports: their list, each as a page and as JSON, and what saves one."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from weighbridge.errors import BadSpec, WeighbridgeError, printable
from weighbridge.units import decimal_bytes
from weighbridge.web.asked import asked, one_error
from weighbridge.web.bodies import REPORT, Form, form_of, in_json, status_of
from weighbridge.web.fields import FIELDS
from weighbridge.web.jobs import Saved, report_json, saved_json, saved_page
from weighbridge.web.pages import around, rendered
from weighbridge.web.recent import Recent
from weighbridge.web.references import REPORT as SAVED
from weighbridge.web.shelf import Kept, Shelf, name_like
from weighbridge.web.work import Work

__all__ = ["routes"]

_TWIN: Final = ".json"


def routes(shelf: Shelf, work: Work) -> list[BaseRoute]:
    """The addresses of these pages."""
    reports = _Reports(shelf, work)
    return [
        Route("/reports", reports.listed),
        Route("/reports", reports.sent, methods=["POST"]),
        Route("/reports.json", reports.listed_as_json),
        Route("/reports/{name:path}", reports.shown),
    ]


class _Reports:
    """Answers to requests: every name is looked up on the shelf, and a report is read in a process of its own."""

    def __init__(self, shelf: Shelf, work: Work) -> None:
        self._shelf = shelf
        self._work = work
        self._recent = Recent()

    async def listed(self, request: Request) -> Response:
        return await self._list(200)

    async def listed_as_json(self, request: Request) -> Response:
        trouble = await run_in_threadpool(lambda: self._shelf.trouble)
        if trouble:
            return JSONResponse({"error": trouble}, 503)
        return JSONResponse(
            {"reports": await run_in_threadpool(lambda: [_listed(self._shelf, one) for one in self._shelf.reports()])}
        )

    async def shown(self, request: Request) -> Response:
        name = str(request.path_params["name"])
        if not name:
            return RedirectResponse("/reports", 303)
        stem = name.removesuffix(_TWIN)
        try:
            content = await run_in_threadpool(self._shelf.report, stem)
        except WeighbridgeError as error:
            return await self._refused(name, error, 404)
        saved = Saved(stem, content)
        try:
            if stem != name:
                return Response(await self._work.done(saved_json, saved), media_type="application/json")
            return HTMLResponse(await self._page(saved))
        except WeighbridgeError as error:
            return await self._refused(name, error, status_of(error))

    async def sent(self, request: Request) -> Response:
        """Save the report of what a query asks for, or one that the command line has written, and lead to it."""
        query = name = ""
        try:
            async with form_of(request, REPORT) as form:
                query, name = form.one("query"), form.one("name").strip().removesuffix(_TWIN)
                saved = await self._saved(form, name)
            kept = await run_in_threadpool(self._shelf.save_report, saved.name, saved.content)
        except WeighbridgeError as error:
            return await self._list(status_of(error), error, query, name)
        return RedirectResponse(f"/reports/{quote(kept)}", 303)

    async def _saved(self, form: Form, name: str) -> Saved:
        """The report that is to be saved, which is one."""
        files = form.files.get("file", ())
        if files:
            content = await run_in_threadpool(files[0].content.read)
            shown = printable(PurePath(files[0].name).name, 60)
            await self._work.done(saved_json, Saved(shown, content))
            return Saved(name or name_like(PurePath(files[0].name).name.removesuffix(_TWIN)), content)
        if not form.one("query"):
            raise BadSpec(
                "there is no report", where="file", hint="choose a file that `weighbridge weigh --json` wrote"
            )
        pairs = parse_qsl(form.one("query"), keep_blank_values=True)
        found = await run_in_threadpool(asked, pairs, self._shelf)
        if found.faults or found.order is None:
            raise one_error(found.faults.items())
        return Saved(name, await self._work.done(report_json, found.order))

    async def _page(self, saved: Saved) -> bytes:
        key = f"{saved.name}/{sha256(saved.content).hexdigest()}"
        page = self._recent.get(key)
        if page is None:
            above = around(
                "reported.html.jinja",
                form="/weigh",
                fields=("on", *(field.name for field in FIELDS)),
                name=saved.name,
                path=quote(saved.name),
                reference=quote(f"{SAVED}{saved.name}"),
            )
            page = await self._work.done(saved_page, saved, above)
            self._recent.put(key, page)
        return page

    async def _refused(self, name: str, error: WeighbridgeError, status: int) -> Response:
        if not name.endswith(_TWIN):
            return await self._list(status, error)
        return JSONResponse({"error": str(error)}, status) if status == 404 else in_json(error)

    async def _list(
        self, status: int, error: WeighbridgeError | None = None, query: str = "", name: str = ""
    ) -> Response:
        """The list, and above it what went wrong; the report of a ``query`` that could not be saved can be saved again."""
        reports = await run_in_threadpool(lambda: [_listed(self._shelf, one) for one in self._shelf.reports()])
        page = rendered(
            "reports.html.jinja",
            reports=reports,
            trouble=await run_in_threadpool(lambda: self._shelf.trouble),
            error="" if error is None else str(error),
            query=query,
            name=name,
            lasts=self._shelf.lasts,
        )
        return HTMLResponse(page, status)


def _listed(shelf: Shelf, one: Kept) -> Mapping[str, Any]:
    """What the list says of a report without reading all of it."""
    return {
        "name": one.name,
        "address": f"/reports/{quote(one.name)}",
        "network": _network(shelf.report_begin(one.name)),
        "size_bytes": one.size_bytes,
        "size": decimal_bytes(one.size_bytes),
        "saved": time.strftime("%Y-%m-%d %H:%M", time.localtime(one.modified_s)),
        "reference": f"{SAVED}{one.name}",
    }


def _network(begin: bytes) -> str | None:
    """The network that a report is of, as it says in its first lines; None where it does not."""
    text = begin.decode(errors="replace")
    place = text.find('"network": {')
    try:
        found, _ = json.JSONDecoder().raw_decode(text, text.index("{", place)) if place >= 0 else (None, 0)
    except (ValueError, RecursionError):
        return None
    named = (found.get("source") or found.get("name")) if isinstance(found, dict) else None
    return printable(named, 60) if isinstance(named, str) and named else None

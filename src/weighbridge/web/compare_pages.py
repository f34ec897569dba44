"""Several models side by side: saved reports, textbook networks, uploads, published rows; as a page and as JSON."""

from __future__ import annotations

from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from weighbridge.errors import WeighbridgeError
from weighbridge.web.asked import check_length, one_error
from weighbridge.web.bodies import in_json, status_of
from weighbridge.web.compare_asked import Asked, asked, with_error
from weighbridge.web.compare_form import above_comparison, compare_form
from weighbridge.web.jobs import Compare, compared_json, compared_page
from weighbridge.web.shelf import Shelf
from weighbridge.web.work import Work

__all__ = ["routes"]

_MORE: Final = "more"
"""What the button for more rows sends; it is no part of what is asked for."""


def routes(shelf: Shelf, work: Work) -> list[BaseRoute]:
    """The addresses of these pages."""
    pages = _Compare(shelf, work)
    return [
        Route("/compare", pages.form),
        Route("/compared", pages.page),
        Route("/compared.json", pages.twin),
    ]


class _Compare:
    """Answers to requests: what is asked for is looked up on the shelf, and compared in a process of its own."""

    def __init__(self, shelf: Shelf, work: Work) -> None:
        self._shelf = shelf
        self._work = work

    async def form(self, request: Request) -> Response:
        """The form, filled with what the address says; that there are not two models yet is no fault here."""
        return await self._form(await self._asked(request), 200, more=_MORE in request.query_params)

    async def page(self, request: Request) -> Response:
        """The comparison, at an address that says what is compared and no more: a form sends every field that it has."""
        found = await self._asked(request)
        if found.is_good and any(not value for _, value in request.query_params.multi_items()):
            return RedirectResponse(f"/compared?{found.query}", 303)
        try:
            page = await self._work.done(compared_page, _whole(found), above_comparison(found))
        except WeighbridgeError as error:
            return await self._form(with_error(found, error) if found.is_good else found, status_of(error))
        return HTMLResponse(page)

    async def twin(self, request: Request) -> Response:
        found = await self._asked(request)
        try:
            content = await self._work.done(compared_json, _whole(found))
        except WeighbridgeError as error:
            return in_json(error)
        return Response(content, media_type="application/json")

    async def _asked(self, request: Request) -> Asked:
        pairs = [pair for pair in request.query_params.multi_items() if pair[0] != _MORE]
        return await run_in_threadpool(asked, pairs, self._shelf)

    async def _form(self, found: Asked, status: int, *, more: bool = False) -> Response:
        return HTMLResponse(await run_in_threadpool(compare_form, found, self._shelf, more=more), status)


def _whole(found: Asked) -> Compare:
    """What is to be compared.  Raises ``BadSpec`` with all that is wrong with it."""
    wrong = [*found.faults.items(), *((row.reference, row.fault) for row in found.rows if row.fault)]
    if wrong:
        raise one_error(wrong)
    check_length(found.query)
    assert found.compare is not None
    return found.compare

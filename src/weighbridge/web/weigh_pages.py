"""Weighing: a model that somebody uploads, or a textbook network; its report as a page and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import PurePath
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from weighbridge.errors import BadSpec, MissingExtra, NeedsShape, UnsupportedFormat, WeighbridgeError
from weighbridge.web.asked import Asked, asked, check_length, one_error, pairs_of
from weighbridge.web.bodies import UPLOAD, Form, Sent, form_of, in_json, status_of
from weighbridge.web.jobs import Order, report_json, report_page
from weighbridge.web.pages import resource
from weighbridge.web.recent import Recent
from weighbridge.web.references import UPLOAD as UPLOADED
from weighbridge.web.shelf import Model, Shelf
from weighbridge.web.weigh_form import above, form_page, is_missing
from weighbridge.web.work import Busy, Work

__all__ = ["routes"]

_MODELS: Final = (".onnx", ".ort", ".tflite", ".lite", ".pt2", ".toml")
"""How files of models end, where one came with the files of its weights."""


def routes(shelf: Shelf, work: Work) -> list[BaseRoute]:
    """The addresses of these pages."""
    weigh = _Weigh(shelf, work)
    return [
        Route("/weigh", weigh.form),
        Route("/weigh", weigh.sent, methods=["POST"]),
        Route("/weigh.json", weigh.sent_by_program, methods=["POST"]),
        Route("/weighed", weigh.report),
        Route("/weighed.json", weigh.twin),
        Route("/static/weigh.js", _script),
    ]


class _Weigh:
    """Answers to requests: what is asked for is looked up on the shelf, and weighed in a process of its own."""

    def __init__(self, shelf: Shelf, work: Work) -> None:
        self._shelf = shelf
        self._work = work
        self._recent = Recent()

    async def form(self, request: Request) -> Response:
        return await self._form(_begun(await self._asked(request)), 200)

    async def report(self, request: Request) -> Response:
        found = await self._asked(request)
        if found.faults or found.order is None:
            return await self._form(found, 404 if is_missing(found, None) else 422)
        try:
            return HTMLResponse(await self._made(found, found.order))
        except WeighbridgeError as error:
            return await self._form(found, 404 if is_missing(found, error) else status_of(error), error)

    async def twin(self, request: Request) -> Response:
        found = await self._asked(request)
        error: WeighbridgeError | None = None
        try:
            if found.faults or found.order is None:
                raise one_error(found.faults.items())
            return _json(await self._work.done(report_json, found.order))
        except WeighbridgeError as raised:
            error = raised
        return JSONResponse({"error": str(error)}, 404) if is_missing(found, error) else in_json(error)

    async def sent(self, request: Request) -> Response:
        """An upload is kept once it is known to be a model, and the browser led to the address of its report."""
        try:
            async with form_of(request, UPLOAD) as form:
                if form.files.get("file"):
                    return await self._uploaded(form)
                found = await run_in_threadpool(asked, pairs_of(form.fields), self._shelf)
        except WeighbridgeError as error:
            return await self._form(_begun(asked((), self._shelf)), status_of(error), error)
        if found.faults or found.order is None:
            return await self._form(found, 422)
        return await self._led_to(found)

    async def sent_by_program(self, request: Request) -> Response:
        """The report of an upload, which is not kept, or of a textbook network."""
        try:
            async with form_of(request, UPLOAD) as form:
                with ExitStack() as stack:
                    model = await self._staged(form, stack) if form.files.get("file") else None
                    upload = Order(model.name, str(model.folder)) if model else None
                    found = await run_in_threadpool(asked, pairs_of(form.fields), self._shelf, upload)
                    if found.faults or found.order is None:
                        raise one_error(found.faults.items())
                    return _json(await self._work.done(report_json, found.order))
        except WeighbridgeError as error:
            return in_json(error)

    async def _uploaded(self, form: Form) -> Response:
        error: WeighbridgeError | None = None
        page: bytes | None = None
        with ExitStack() as stack:
            model = await self._staged(form, stack)
            upload = Order(model.name, str(model.folder))
            found = await run_in_threadpool(asked, pairs_of(form.fields), self._shelf, upload)
            found = found.of(f"{UPLOADED}{model.id}")
            try:
                if not found.faults and found.order is not None:
                    page = await self._work.done(report_page, found.order, above(found))
            except WeighbridgeError as raised:
                error = raised
            wrong = None if page is not None else await self._wrong_with(upload, found, error)
            if wrong is not None:
                return await self._form(found.of(""), status_of(wrong), wrong)
            kept = self._shelf.keep(model)
        if page is None or found.order is None:
            return await self._form(found, 422, error)
        self._recent.put(_key(found, found.order._replace(folder=str(kept.folder))), page)
        return await self._led_to(found)

    async def _wrong_with(self, upload: Order, found: Asked, error: WeighbridgeError | None) -> WeighbridgeError | None:
        """What is wrong with a file itself, whatever was asked of it; None where it is a model, which then is kept."""
        if isinstance(error, NeedsShape):
            return None
        if isinstance(error, (Busy, MissingExtra, UnsupportedFormat)) or (error is not None and found.order == upload):
            return error
        try:
            await self._work.done(report_json, upload)
        except NeedsShape:
            return None
        except WeighbridgeError as wrong:
            return wrong
        return None

    async def _staged(self, form: Form, stack: ExitStack) -> Model:
        model, *others = _model_first(form.files["file"])
        beside = {PurePath(one.name).name: one.content for one in others}
        return await run_in_threadpool(stack.enter_context, self._shelf.staged(model.name, model.content, beside))

    async def _asked(self, request: Request) -> Asked:
        return await run_in_threadpool(asked, request.query_params.multi_items(), self._shelf)

    async def _made(self, found: Asked, order: Order) -> bytes:
        key = _key(found, order)
        page = self._recent.get(key)
        if page is None:
            page = await self._work.done(report_page, order, above(found))
            self._recent.put(key, page)
        return page

    async def _form(self, found: Asked, status: int, error: WeighbridgeError | None = None) -> Response:
        return HTMLResponse(await run_in_threadpool(form_page, found, self._shelf, error), status)

    async def _led_to(self, found: Asked) -> Response:
        try:
            check_length(found.query)
        except BadSpec as error:
            return await self._form(found, 422, error)
        return RedirectResponse(f"/weighed?{found.query}", 303)


def _model_first(files: Sequence[Sent]) -> Sequence[Sent]:
    """The files with that of the model first.  Raises ``BadSpec`` where several could be it."""
    if len(files) == 1:
        return files
    models = [one for one in files if PurePath(one.name).suffix.lower() in _MODELS]
    if len(models) != 1:
        what = f"{len(models)} of these {len(files)} files are called like a model"
        raise BadSpec(what, where="model", hint="send one, and with it only the files that its weights are in")
    return [models[0], *(one for one in files if one is not models[0])]


def _begun(found: Asked) -> Asked:
    """What a form says that is still to be filled in: that a network is missing is no fault yet."""
    if "model" in found.values:
        return found
    return found._replace(faults={name: said for name, said in found.faults.items() if name != "model"})


def _key(found: Asked, order: Order) -> str:
    """All that the page follows from."""
    return repr((found.query, order))


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _script(request: Request) -> Response:
    return Response(resource("weigh.js"), media_type="text/javascript", headers={"cache-control": "no-cache"})

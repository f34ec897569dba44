"""Devices: the catalogue and the folder's own, each one's figures, and a form that adds one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from weighbridge.errors import BadSpec, WeighbridgeError
from weighbridge.handwritten import MAX_FILE_BYTES
from weighbridge.report.device_facts import device_facts, device_notes, device_subtitle
from weighbridge.report.device_grid import device_grid, device_grids
from weighbridge.web.bodies import Form, Most, form_of, status_of
from weighbridge.web.device_draft import Draft, draft_of, filled_with
from weighbridge.web.device_form import device_form
from weighbridge.web.known_devices import (
    catalogued,
    device_named,
    file_named,
    kept_device,
    listed,
    own_devices,
    told,
)
from weighbridge.web.pages import rendered
from weighbridge.web.references import OWN
from weighbridge.web.shelf import Shelf
from weighbridge.web.work import Work

__all__ = ["routes"]

_MOST: Final = Most(fields=3000, field_bytes=MAX_FILE_BYTES)
"""A device can have 64 rates and 64 memories, and a whole file can be pasted."""
_EMPTY: Final = Draft({}, b"")


def routes(shelf: Shelf, work: Work) -> list[BaseRoute]:
    """The addresses of these pages."""
    return [
        Route("/devices", partial(_list, shelf)),
        Route("/devices.json", partial(_list_twin, shelf)),
        Route("/devices/new", partial(_begun, shelf)),
        Route("/devices/new", partial(_add, shelf), methods=["POST"]),
        Route("/devices/{name}", partial(_one, shelf)),
    ]


def _list(shelf: Shelf, request: Request) -> Response:
    own = own_devices(shelf)
    good = [(one.on, one.device) for one in own if one.device is not None]
    tables = [(grid, [device.name for device in devices]) for grid, devices in device_grids(catalogued())]
    if good:
        tables.insert(0, (device_grid("Your own", [device for _, device in good]), [on for on, _ in good]))
    faulty = [(one.on, f"{one.on.removeprefix(OWN)}.toml", one.error) for one in own if one.error is not None]
    return HTMLResponse(rendered("devices.html.jinja", tables=tables, faulty=faulty, trouble=shelf.trouble))


def _list_twin(shelf: Shelf, request: Request) -> Response:
    if shelf.trouble:
        return JSONResponse({"error": shelf.trouble}, 503)
    own = own_devices(shelf)
    good = [listed(one.on, one.device) for one in own if one.device is not None]
    faulty = [{"on": one.on, "error": str(one.error)} for one in own if one.error is not None]
    return JSONResponse({"devices": [*good, *(listed(one.name, one) for one in catalogued())], "faulty": faulty})


def _one(shelf: Shelf, request: Request) -> Response:
    """The page of a device; with a suffix behind its name its twin or its file, unless that is the name of another one."""
    name = request.path_params["name"]
    kinds: tuple[tuple[str, Callable[[Shelf, str], Response]], ...] = (("", _page), (".json", _twin), (".toml", _file))
    for suffix, made in kinds:
        on = name.removesuffix(suffix)
        if name.endswith(suffix) and _missed(on, shelf) is None:
            return made(shelf, on)
    is_twin = name.endswith(".json")
    error = _missed(name.removesuffix(".json" if is_twin else ".toml"), shelf)
    if is_twin:
        return JSONResponse({"error": str(error)}, 404)
    return HTMLResponse(rendered("device_faulty.html.jinja", on="", error=error), 404)


def _missed(on: str, shelf: Shelf) -> WeighbridgeError | None:
    """What is said of a name that no device has."""
    try:
        file_named(on, shelf)
    except BadSpec as error:
        return error
    return None


def _page(shelf: Shelf, on: str) -> Response:
    try:
        device = device_named(on, shelf)
    except WeighbridgeError as error:
        return HTMLResponse(rendered("device_faulty.html.jinja", on=on, error=error), 422)
    page = rendered(
        "device.html.jinja",
        on=on,
        device=device,
        subtitle=device_subtitle(device),
        tables=list(device_facts(device)),
        notes=list(device_notes(device)),
    )
    return HTMLResponse(page)


def _twin(shelf: Shelf, on: str) -> Response:
    try:
        return JSONResponse(told(on, device_named(on, shelf)))
    except WeighbridgeError as error:
        return JSONResponse({"error": str(error)}, 422)


def _file(shelf: Shelf, on: str) -> Response:
    """The file itself, to be kept and not shown: one of the folder can be anything."""
    headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(on.removeprefix(OWN), safe='')}.toml"}
    return Response(file_named(on, shelf), media_type="application/toml", headers=headers)


def _begun(shelf: Shelf, request: Request) -> Response:
    """The form, filled with the figures of another device where the address says so."""
    like = request.query_params.get("like", "")
    if not like:
        return HTMLResponse(device_form(_EMPTY))
    try:
        draft = Draft(filled_with(device_named(like, shelf)), file_named(like, shelf))
    except WeighbridgeError as error:
        return HTMLResponse(device_form(_EMPTY, (str(error),)), 422)
    return HTMLResponse(device_form(draft, like=like))


async def _add(shelf: Shelf, request: Request) -> Response:
    """Keep the device of the form, or of the file that it brings; else the form as it was, with all that is wrong."""
    try:
        async with form_of(request, _MOST) as form:
            sent = next(iter(form.files.get("file", ())), None)
            if sent is not None:
                whole: bytes | None = sent.content.read(MAX_FILE_BYTES + 1)
            else:
                whole = form.one("toml").encode() if "toml" in form.fields else None
            return await run_in_threadpool(_added, shelf, form, whole)
    except WeighbridgeError as error:
        return HTMLResponse(device_form(_EMPTY, (str(error),)), status_of(error))


def _added(shelf: Shelf, form: Form, whole: bytes | None) -> Response:
    draft = draft_of(form.fields) if whole is None else Draft({}, whole)
    try:
        on = kept_device(draft.content, shelf, draft.faults)
    except BadSpec as error:
        faults = error.details or (str(error),)
        return HTMLResponse(device_form(draft, faults, is_whole=whole is not None), 422)
    return RedirectResponse(f"/devices/{quote(on, safe=':')}", 303)

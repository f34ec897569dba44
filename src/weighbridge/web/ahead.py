"""What the app does before anybody asks for it: the first page does not wait for it, and what comes after finds it done."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Receive, Scope, Send

from weighbridge.errors import WeighbridgeError
from weighbridge.web.jobs import chart_library
from weighbridge.web.work import Fault, Work

__all__ = ["Ahead", "charts"]


class Ahead:
    """Around an app: once its first answer has gone out, the process that others are forked from starts, and one that makes the
    library of charts.
    """

    def __init__(self, app: ASGIApp, work: Work) -> None:
        self._app = app
        self._work = work
        self._begun: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        if scope["type"] == "http" and self._begun is None:
            self._begun = asyncio.create_task(self._begin())

    async def _begin(self) -> None:
        with suppress(WeighbridgeError, Fault, OSError):  # whoever needs it then finds out
            self._work.prepare()
            await self._work.kept(chart_library)


async def charts(work: Work) -> bytes:
    """The library of charts, made in a process of its own; where the limits of one are too tight for it, in a thread of this one."""
    try:
        return await work.kept(chart_library)
    except (WeighbridgeError, Fault):
        return await asyncio.get_running_loop().run_in_executor(None, chart_library)
